#include "gateway/calls.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/encoding.h"
#include "base/json_writer.h"
#include "gateway/session_lifecycle.h"
#include "protocol/target.h"

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

std::string inQuotes(std::string_view name) {
  return "\"" + std::string(name) + "\"";
}

std::string providerLabel(const Provider& provider) {
  return "Provider " + inQuotes(provider.name);
}

CallResult refused(const protocol::Call& call, ErrorCode code, std::string_view detail) {
  const std::string who = "Tool " + inQuotes(visible(call.tool, false, 80));
  return failure(call.callId, code, failureText(who, code, detail));
}

void refuseCall(const Turn& turn, Session& session, const protocol::Call& call, ErrorCode code,
                std::string_view detail) {
  sendToSession(turn, session, refused(call, code, detail));
}

void tellProviderToCancel(const Turn& turn, const CallInFlight& call, std::string_view reason) {
  if (Provider* provider = turn.state.providers.find(call.provider)) ++provider->cancelsToAnswer;
  turn.send(call.provider, protocol::encodeToolCancel(call.id, call.sessionId, reason));
}

std::string instanceNames(const Turn& turn, const Session& session, const std::string& owner) {
  std::string names;
  for (const Provider* provider : turn.state.providers.instances(session.id, owner)) {
    names += (names.empty() ? "" : ", ") + inQuotes(provider->instance);
  }
  return names;
}

// list_<name>_instances: ids and what each says of itself, as JSON.
void answerInstances(const Turn& turn, Session& session, const protocol::Call& call,
                     const std::string& owner) {
  std::string json;
  json::Writer writer(json);
  writer.beginArray();
  for (const Provider* provider : turn.state.providers.instances(session.id, owner)) {
    writer.beginObject().field("target", provider->instance);
    writer.rawField("metadata", provider->metadata.empty() ? "{}" : provider->metadata).endObject();
  }
  writer.endArray();
  sendToSession(turn, session, CallResult{call.callId, false, Slice(std::move(json)), {}, {}});
}

// The instance that was asked for, or the most recently active one.
std::optional<Providers::Served> chooseInstance(const std::vector<Providers::Served>& serving,
                                                std::string_view target) {
  for (const Providers::Served& served : serving) {
    if (target.empty() || served.provider->instance == target) return served;
  }
  return std::nullopt;
}

Millis timeoutOf(const Turn& turn, const protocol::ToolDefinition& tool) {
  return tool.timeout.value_or(turn.limits().time(Limit::CallTimeoutMs));
}

void dispatch(const Turn& turn, Session& session, const protocol::Call& call,
              const Providers::Served& served, std::string_view args) {
  State& state = turn.state;
  CallInFlight flight;
  flight.id = state.ids.uuid();
  flight.sessionId = session.id;
  flight.sessionCallId = call.callId;
  flight.tool = call.tool;
  flight.provider = served.provider->peer;
  flight.timeout = timeoutOf(turn, *served.tool);
  flight.started = turn.now.steady;
  flight.deadline = state.timers.schedule(turn.now.steady + flight.timeout, CallDue{flight.id});
  state.providers.touch(*served.provider);
  Slice text = protocol::encodeToolCall(flight.id, session.id, call.tool, args);
  const PeerId provider = flight.provider;
  TimerId deadline = flight.deadline;
  if (!state.calls.open(std::move(flight))) {
    turn.cancel(deadline);
    return refuseCall(turn, session, call, ErrorCode::Internal,
                      "the session used one call id twice");
  }
  turn.send(provider, std::move(text));
}

}  // namespace

void startCall(const Turn& turn, Session& session, const protocol::Call& call) {
  State& state = turn.state;
  state.sessions.touch(session);
  const std::string owner = state.providers.ownerOf(session.id, call.tool);
  if (owner.empty()) {
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
  if (call.tool == protocol::metaToolName(owner) && state.providers.isTargeted(session.id, owner)) {
    return answerInstances(turn, session, call, owner);
  }
  protocol::TargetedArgs args;
  if (state.providers.isTargeted(session.id, owner)) args = protocol::takeTarget(call.args.view());
  const auto served =
      chooseInstance(state.providers.serving(session.id, owner, call.tool), args.target);
  if (!served) {
    return refuseCall(turn, session, call, ErrorCode::NotFound,
                      "there is no instance " + inQuotes(visible(args.target, false, 128)) +
                          " of " + owner + "; there are " + instanceNames(turn, session, owner));
  }
  dispatch(turn, session, call, *served,
           args.args.empty() ? call.args.view() : std::string_view(args.args));
}

CallResult sessionOver(const protocol::Call& call) {
  return refused(call, ErrorCode::Disconnected, "the session has ended");
}

void completeCall(const Turn& turn, Provider& provider, const protocol::ToolResult& result) {
  const CallInFlight* found = turn.state.calls.find(result.id);
  if (found == nullptr || found->provider != provider.peer) return;
  CallInFlight call = *turn.state.calls.take(result.id);
  turn.cancel(call.deadline);
  turn.state.providers.touch(provider);
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

void progressCall(const Turn& turn, Provider& provider, const protocol::ToolProgress& progress) {
  CallInFlight* call = turn.state.calls.find(progress.id);
  if (call == nullptr || call->provider != provider.peer) return;
  turn.state.providers.touch(provider);
  // Renewed, but never beyond the absolute cap (decisions: call ids).
  const Time cap = call->started + turn.limits().time(Limit::CallTimeoutMaxMs);
  turn.cancel(call->deadline);
  call->deadline =
      turn.state.timers.schedule(std::min(turn.now.steady + call->timeout, cap), CallDue{call->id});
  Session* session = turn.state.sessions.find(call->sessionId);
  if (session == nullptr) return;
  tellTimeline(turn, *session, protocol::LogLevel::Info,
               "tap: " + provider.name + " " + call->tool + ": " + progress.message);
  sendToSession(turn, *session, protocol::CallProgress{call->sessionCallId});
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
               ErrorCode::Timeout, inQuotes(call->tool) + " did not answer in time");
}

void failCall(const Turn& turn, const Provider& provider, std::string_view id, ErrorCode code,
              std::string_view detail) {
  const CallInFlight* found = turn.state.calls.find(id);
  if (found == nullptr || found->provider != provider.peer) return;
  CallInFlight call = *turn.state.calls.take(id);
  turn.cancel(call.deadline);
  settleFailed(turn, call, providerLabel(provider), code, detail);
}

void failCallsOfProvider(const Turn& turn, const Provider& provider, std::string_view sessionId,
                         std::string_view detail) {
  for (CallInFlight& call : turn.state.calls.takeOfBinding(provider.peer, sessionId)) {
    turn.cancel(call.deadline);
    settleFailed(turn, call, providerLabel(provider), ErrorCode::Disconnected, detail);
  }
}

void cancelCallsOfProvider(const Turn& turn, const Provider& provider, std::string_view reason) {
  for (CallInFlight& call : turn.state.calls.takeOfProvider(provider.peer)) {
    turn.cancel(call.deadline);
    tellProviderToCancel(turn, call, reason);
    settleFailed(turn, call, providerLabel(provider), ErrorCode::Disconnected, reason);
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
