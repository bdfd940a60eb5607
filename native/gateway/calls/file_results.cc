#include "gateway/calls/file_results.h"

#include <optional>
#include <utility>

#include "base/encoding.h"
#include "gateway/calls/call_outcome.h"
#include "gateway/calls/call_slots.h"
#include "gateway/registry/party.h"

namespace tap::gateway {

using protocol::ErrorCode;
using protocol::Refusal;

namespace {

Refusal refusedFile(ErrorCode code, std::string message) {
  return {code, std::move(message), "tool.result"};
}

Refusal tooLarge(std::string_view what, size_t size, size_t most) {
  return refusedFile(ErrorCode::PayloadTooLarge, std::string(what) + " has " +
                                                     std::to_string(size) + " bytes, at most " +
                                                     std::to_string(most) + " are possible");
}

// The call fails, and the provider's author can see why.
void fail(const Turn& turn, const CallId& callId, const Refusal& why) {
  const CallPtr call = turn.state.calls.take(callId);
  releaseCall(turn, *call);
  const Provider* provider = turn.state.providers.find(call->provider);
  if (provider != nullptr) {
    turn.send(provider->peer, protocol::encodeError(why, provider->providerId, call->sessionId));
  }
  settleFailed(turn, *call, provider != nullptr ? providerLabel(*provider) : "The provider",
               why.code, why.message);
}

std::optional<Refusal> checkFile(const Turn& turn, const Provider& provider,
                                 const protocol::FileReference& file) {
  if (!toParty(provider).isTrusted()) {
    return refusedFile(ErrorCode::Unauthorized, "an external provider cannot answer with a file");
  }
  if (persistDir(turn, provider).empty()) {
    return refusedFile(ErrorCode::Unauthorized,
                       "this gateway has no folder for files of providers");
  }
  const size_t most = turn.limits().bytes(Limit::FileBytes);
  if (file.size > most) return tooLarge("its file", file.size, most);
  return std::nullopt;
}

}  // namespace

std::string persistDir(const Turn& turn, const Provider& provider) {
  const std::string& root = turn.state.config.persistRoot;
  // A web page has no files here.
  if (root.empty() || !toParty(provider).isTrusted()) return {};
  return root + "/" + fileName(provider.name) + "/";
}

std::string preparePersistDir(const Turn& turn, const Provider& provider) {
  std::string folder = persistDir(turn, provider);
  if (!folder.empty()) turn.effect(MakeFolder{folder});
  return folder;
}

void readResultFile(const Turn& turn, const Provider& provider, CallInFlight& call,
                    const protocol::FileReference& file) {
  if (const auto refusal = checkFile(turn, provider, file)) return fail(turn, call.id, *refusal);
  const Session* session = turn.state.sessions.find(call.sessionId);
  const std::optional<PeerId> link =
      call.controlLink || session == nullptr ? call.controlLink : session->peer;
  if (!link) return;
  call.stage = CallStage::Reading;
  call.readBy = turn.now.steady + file.ttl;
  releaseCallSlot(turn, call);
  turn.effect(
      ReadFile{call.id, *link, persistDir(turn, provider), file.path, file.mimeType, file.size});
}

void completeFileResult(const Turn& turn, const CallId& callId, FileOutcome outcome) {
  const CallInFlight* found = turn.state.calls.find(callId);
  if (found == nullptr || found->stage != CallStage::Reading) return;
  if (!outcome) return fail(turn, callId, outcome.error());
  if (turn.now.steady >= found->readBy) {
    return fail(turn, callId, refusedFile(ErrorCode::NotFound, "the ttl of its file has passed"));
  }
  FileContent& content = outcome.value();
  const CallPtr call = turn.state.calls.take(callId);
  releaseCall(turn, *call);
  protocol::CallResult result;
  result.data = std::move(content.data);
  result.binary = std::move(content.binary);
  settle(turn, *call, std::move(result));
}

}  // namespace tap::gateway
