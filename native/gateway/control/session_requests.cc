#include "gateway/control/session_requests.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/json_writer.h"
#include "gateway/core/turn.h"

namespace tap::gateway {

namespace {

void fail(const Turn& turn, SessionRequestNumber number, std::string_view code,
          std::string_view message) {
  std::string json;
  json::Writer writer(json);
  writer.beginObject().key("error").beginObject();
  writer.field("code", code).field("message", message);
  writer.endObject().endObject();
  turn.effect(SessionAnswered{number, std::move(json)});
}

std::string formatId(SessionRequestNumber number) {
  return std::to_string(static_cast<uint64_t>(number));
}

SessionRequestNumber parseNumber(std::string_view id) {
  uint64_t number = 0;
  const char* const end = id.data() + id.size();
  const auto [at, error] = std::from_chars(id.data(), end, number);
  return SessionRequestNumber{error == std::errc{} && at == end ? number : 0};
}

}  // namespace

void requestFromSession(const Turn& turn, SessionRequestNumber number, const std::string& sessionId,
                        const std::string& request, const std::string& params) {
  const Session* session = turn.state.sessions.find(sessionId);
  if (session == nullptr || session->ending) {
    return fail(turn, number, "NO_SESSION", "there is no session of that id, or it has ended");
  }
  if (!session->peer) {
    return fail(turn, number, "DISCONNECTED",
                "the session's process is gone for the moment; try again in a few seconds");
  }
  SessionRequests& requests = turn.state.sessionRequests;
  const PeerId link = *session->peer;
  const auto waiting = std::count_if(requests.begin(), requests.end(),
                                     [&](const auto& one) { return one.second.link == link; });
  if (static_cast<size_t>(waiting) >= turn.limits().count(Limit::SessionRequestsPerSession)) {
    return fail(turn, number, "RATE_LIMITED",
                "the session has not answered " + std::to_string(waiting) +
                    " requests yet; send the next after an answer");
  }
  const TimerId deadline = turn.schedule(Limit::SessionRequestMs, SessionRequestDue{number});
  requests.emplace(number, SessionRequestInFlight{link, deadline});
  turn.effect(SendEvent{link, protocol::SessionRequest{formatId(number), request, params}});
}

void sessionAnswered(const Turn& turn, PeerId link, const protocol::SessionResult& result) {
  SessionRequests& requests = turn.state.sessionRequests;
  const auto at = requests.find(parseNumber(result.requestId));
  if (at == requests.end() || at->second.link != link) return;
  const SessionRequestNumber number = at->first;
  turn.cancel(at->second.deadline);
  requests.erase(at);
  const size_t most = turn.limits().bytes(Limit::SessionAnswerBytes);
  if (result.value.size() > most) {
    return fail(turn, number, "PAYLOAD_TOO_LARGE",
                "the session's answer has " + std::to_string(result.value.size()) +
                    " bytes, more than " + std::to_string(most));
  }
  std::string json = result.failed ? R"({"error":)" : R"({"result":)";
  json += result.value.empty() ? "null" : result.value.view();
  turn.effect(SessionAnswered{number, json + "}"});
}

void sessionRequestDue(const Turn& turn, SessionRequestNumber number) {
  if (turn.state.sessionRequests.erase(number) == 0) return;
  const auto seconds = turn.limits().time(Limit::SessionRequestMs).count() / 1000;
  fail(turn, number, "TIMEOUT",
       "the session did not answer within " + std::to_string(seconds) +
           " s; its tap may be older than this gateway");
}

void dropSessionRequests(const Turn& turn, PeerId link, std::string_view reason) {
  SessionRequests& requests = turn.state.sessionRequests;
  for (auto at = requests.begin(); at != requests.end();) {
    if (at->second.link == link) {
      turn.cancel(at->second.deadline);
      fail(turn, at->first, "DISCONNECTED", reason);
      at = requests.erase(at);
    } else {
      ++at;
    }
  }
}

}  // namespace tap::gateway
