#include "gateway/control/host_requests.h"

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "gateway/core/turn.h"

namespace tap::gateway {

namespace {

// The frame has the requestId and names beside the answer.
constexpr size_t kFrameRest = 2048;

// The host looks up only plain names in its table of methods.
bool isMethodName(std::string_view name) {
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
  });
}

// The host's answer, as the client gets it; a sentence where it is not one.
Result<protocol::HostResult, std::string> read(std::string_view json) {
  json::Scanner scanner;
  const auto root = scanner.scan(json, json::kMaxEnvelopeDepth - 1);
  if (!root || root.value().kind != json::Kind::Object) {
    return std::string("the answer of tap's host is not a JSON object");
  }
  const auto error = scanner.find("error");
  if (error && error->kind == json::Kind::Object) {
    return protocol::HostResult{"", true, std::string(error->raw)};
  }
  const auto result = scanner.find("result");
  return protocol::HostResult{"", false, std::string(result ? result->raw : "null")};
}

}  // namespace

void failRequest(const Turn& turn, PeerId link, std::string requestId, std::string_view code,
                 std::string_view message) {
  std::string error;
  json::Writer writer(error);
  writer.beginObject().field("code", code).field("message", message);
  writer.endObject();
  turn.effect(SendEvent{link, protocol::HostResult{std::move(requestId), true, std::move(error)}});
}

bool hasTooManyRequests(const Turn& turn, PeerId link, const std::string& requestId) {
  const auto ofLink = [&](const auto& entry) { return entry.second.link == link; };
  const auto& requests = turn.state.requests.waiting;
  const size_t waiting =
      static_cast<size_t>(std::count_if(requests.begin(), requests.end(), ofLink)) +
      turn.state.checks.countOfFeature(link);
  if (waiting < turn.limits().count(Limit::HostRequestsPerLink)) return false;
  failRequest(turn, link, requestId, "RATE_LIMITED",
              std::to_string(waiting) +
                  " requests of this link wait already; send the next after an answer");
  return true;
}

void startRequest(const Turn& turn, PeerId link, const protocol::HostRequest& request) {
  if (!isMethodName(request.method)) {
    return failRequest(turn, link, request.requestId, "UNKNOWN_METHOD",
                       "there is no method " + inQuotes(visible(request.method, false, 80)));
  }
  if (hasTooManyRequests(turn, link, request.requestId)) return;
  HostRequests& requests = turn.state.requests;
  const RequestNumber number{++requests.last};
  requests.waiting.emplace(number, RequestInFlight{link, request.requestId});
  turn.effect(RequestHost{number, turn.state.controlClients.isFeature(link), request.method,
                          request.params.empty() ? "{}" : std::string(request.params.view())});
}

void answerRequest(const Turn& turn, RequestNumber number, std::string_view json) {
  auto request = turn.state.requests.waiting.extract(number);
  if (request.empty()) return;
  const PeerId link = request.mapped().link;
  std::string id = std::move(request.mapped().requestId);
  if (json.size() + kFrameRest > turn.limits().bytes(Limit::LinkFrameBytes)) {
    return failRequest(turn, link, std::move(id), "PAYLOAD_TOO_LARGE",
                       "the answer has " + std::to_string(json.size()) +
                           " bytes, more than a frame of the link; ask for less");
  }
  Result<protocol::HostResult, std::string> answer = read(json);
  if (!answer) return failRequest(turn, link, std::move(id), "INTERNAL", answer.error());
  answer.value().requestId = std::move(id);
  turn.effect(SendEvent{link, std::move(answer.value())});
}

void dropRequests(const Turn& turn, PeerId link) {
  std::erase_if(turn.state.requests.waiting, [&](const auto& entry) {
    if (entry.second.link != link) return false;
    turn.effect(RequestDropped{entry.first});
    return true;
  });
}

}  // namespace tap::gateway
