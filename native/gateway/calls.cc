#include "gateway/calls.h"

#include <utility>

#include "base/encoding.h"
#include "base/json_writer.h"
#include "gateway/session_lifecycle.h"
#include "gateway/status.h"

namespace tap::gateway {

using protocol::CallResult;
using protocol::ErrorCode;

namespace {

// What the model reads: who failed, with which code, why, and what to do next.
std::string failureText(std::string_view who, ErrorCode code, std::string_view detail) {
  std::string text(who);
  text += " failed with ";
  text += protocol::wireName(code);
  text += ": ";
  text += visible(detail, true);
  if (!detail.empty() && detail.back() != '.' && detail.back() != '!' && detail.back() != '?') {
    text += '.';
  }
  text += ' ';
  text += protocol::row(code).advice;
  return text;
}

CallResult failure(std::string callId, ErrorCode code, std::string text) {
  return {std::move(callId), true, {}, code, std::move(text)};
}

// There is one call less: a reload or a drain may have waited for that.
void oneCallLess(const Turn& turn, Session& session) {
  rescheduleSync(turn, session);
  drainIfDone(turn);
}

// Calls settle only here and by a good result.
void settleFailed(const Turn& turn, const CallInFlight& call, std::string_view who, ErrorCode code,
                  std::string_view detail) {
  Session* session = turn.state.sessions.find(call.sessionId);
  if (session == nullptr) return;
  sendToSession(turn, *session, failure(call.sessionCallId, code, failureText(who, code, detail)));
  oneCallLess(turn, *session);
}

std::string quoted(std::string_view name) {
  return "\"" + std::string(name) + "\"";
}

std::string providerLabel(const Provider& provider) {
  return "Provider " + quoted(provider.name);
}

CallResult refused(const protocol::Call& call, ErrorCode code, std::string_view detail) {
  const std::string who = "Tool " + quoted(visible(call.tool, false, 80));
  return failure(call.callId, code, failureText(who, code, detail));
}

void refuseCall(const Turn& turn, Session& session, const protocol::Call& call, ErrorCode code,
                std::string_view detail) {
  sendToSession(turn, session, refused(call, code, detail));
}

void answerStatus(const Turn& turn, Session& session, const protocol::Call& call) {
  std::string json;
  json::appendQuoted(json, describeStatus(turn, session));
  sendToSession(turn, session, CallResult{call.callId, false, Slice(std::move(json)), {}, {}});
}

void tellProviderToCancel(const Turn& turn, const CallInFlight& call, std::string_view reason) {
  if (Provider* provider = turn.state.providers.find(call.provider)) ++provider->cancelsToAnswer;
  turn.send(call.provider, protocol::encodeToolCancel(call.id, call.sessionId, reason));
}

Millis timeoutOf(const Turn& turn, const protocol::ToolDefinition& tool) {
  return tool.timeout.value_or(turn.limits().time(Limit::CallTimeoutMs));
}

}  // namespace

void startCall(const Turn& turn, Session& session, const protocol::Call& call) {
  State& state = turn.state;
  state.sessions.touch(session);
  if (call.tool == kStatusTool) return answerStatus(turn, session, call);
  const auto served = state.providers.byTool(session.id, call.tool);
  if (!served) {
    return refuseCall(turn, session, call, ErrorCode::Disconnected,
                      "the provider of this tool is not connected now");
  }
  if (session.ending) return sendToSession(turn, session, sessionOver(call));
  if (state.draining) {
    return refuseCall(turn, session, call, ErrorCode::Disconnected,
                      "the gateway is being replaced by a newer one");
  }
  if (state.calls.countOfSession(session.id) >= turn.limits().count(Limit::CallsPerSession)) {
    return refuseCall(turn, session, call, ErrorCode::RateLimited,
                      "this session has too many calls in flight");
  }
  CallInFlight flight;
  flight.id = state.ids.uuid();
  flight.sessionId = session.id;
  flight.sessionCallId = call.callId;
  flight.tool = call.tool;
  flight.provider = served->provider->peer;
  flight.deadline =
      state.timers.schedule(turn.now.steady + timeoutOf(turn, *served->tool), CallDue{flight.id});
  Slice text = protocol::encodeToolCall(flight.id, session.id, call.tool, call.args.view());
  const PeerId provider = flight.provider;
  TimerId deadline = flight.deadline;
  if (!state.calls.open(std::move(flight))) {
    turn.cancel(deadline);
    return refuseCall(turn, session, call, ErrorCode::Internal,
                      "the session used one call id twice");
  }
  turn.send(provider, std::move(text));
}

CallResult sessionOver(const protocol::Call& call) {
  return refused(call, ErrorCode::Disconnected, "the session has ended");
}

void completeCall(const Turn& turn, Provider& provider, const protocol::ToolResult& result) {
  const CallInFlight* found = turn.state.calls.find(result.id);
  if (found == nullptr || found->provider != provider.peer) return;
  CallInFlight call = *turn.state.calls.take(result.id);
  turn.cancel(call.deadline);
  if (result.failed) {
    const std::string_view detail =
        result.error.empty() ? std::string_view("it gave no reason") : result.error;
    return settleFailed(turn, call, providerLabel(provider), result.errorCode, detail);
  }
  Session* session = turn.state.sessions.find(call.sessionId);
  if (session == nullptr) return;
  sendToSession(turn, *session,
                CallResult{std::move(call.sessionCallId), false, result.data, {}, {}});
  oneCallLess(turn, *session);
}

void cancelCall(const Turn& turn, Session& session, const protocol::CancelCall& cancel) {
  std::optional<CallInFlight> call = turn.state.calls.take(session.id, cancel.callId);
  if (!call) return;
  turn.cancel(call->deadline);
  tellProviderToCancel(turn, *call,
                       cancel.reason.empty() ? "aborted" : std::string_view(cancel.reason));
  oneCallLess(turn, session);
}

void timeOutCall(const Turn& turn, const std::string& id) {
  std::optional<CallInFlight> call = turn.state.calls.take(id);
  if (!call) return;
  tellProviderToCancel(turn, *call, "timeout");
  const Provider* provider = turn.state.providers.find(call->provider);
  settleFailed(turn, *call, provider != nullptr ? providerLabel(*provider) : "The provider",
               ErrorCode::Timeout, quoted(call->tool) + " did not answer in time");
}

void failCall(const Turn& turn, const Provider& provider, std::string_view id, ErrorCode code,
              std::string_view detail) {
  const CallInFlight* found = turn.state.calls.find(id);
  if (found == nullptr || found->provider != provider.peer) return;
  CallInFlight call = *turn.state.calls.take(id);
  turn.cancel(call.deadline);
  settleFailed(turn, call, providerLabel(provider), code, detail);
}

void failCallsOfProvider(const Turn& turn, const Provider& provider, std::string_view detail) {
  for (CallInFlight& call : turn.state.calls.takeOfProvider(provider.peer)) {
    turn.cancel(call.deadline);
    settleFailed(turn, call, providerLabel(provider), ErrorCode::Disconnected, detail);
  }
}

void cancelCallsOfSession(const Turn& turn, Session& session, std::string_view reason) {
  for (CallInFlight& call : turn.state.calls.takeOfSession(session.id)) {
    turn.cancel(call.deadline);
    tellProviderToCancel(turn, call, reason);
    // Where the session still listens (it has ended, but its process is draining) it gets its one
    // outcome all the same.
    if (session.peer) {
      settleFailed(turn, call, "The call", ErrorCode::Cancelled, reason);
    }
  }
  drainIfDone(turn);
}

void drainIfDone(const Turn& turn) {
  State& state = turn.state;
  if (state.drainTimer == TimerId::None || !state.calls.empty()) return;
  turn.cancel(state.drainTimer);
  state.drainTimer = state.timers.schedule(turn.now.steady, DrainDue{});
}

bool failFast(const Turn& turn, const Provider& provider, const protocol::Refusal& refusal) {
  const size_t pending = turn.state.calls.countOfProvider(provider.peer);
  if (pending > 1) return true;
  for (CallInFlight& call : turn.state.calls.takeOfProvider(provider.peer)) {
    turn.cancel(call.deadline);
    settleFailed(turn, call, providerLabel(provider), refusal.code,
                 "its answer could not be read: " + refusal.message);
  }
  return false;
}

}  // namespace tap::gateway
