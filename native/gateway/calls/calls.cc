#include "gateway/calls/calls.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/encoding.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "gateway/calls/call_outcome.h"
#include "gateway/calls/call_slots.h"
#include "gateway/calls/file_results.h"
#include "gateway/records/rows.h"
#include "gateway/registry/lines.h"
#include "gateway/registry/provider_watch.h"
#include "protocol/image_result.h"
#include "protocol/target.h"

namespace tap::gateway {

using protocol::CallResult;
using protocol::ErrorCode;

namespace {

constexpr size_t kProgressBytes = 16384;  // the most that a timeline line may have

std::string instanceNames(const Turn& turn, const Session& session, std::string_view owner) {
  std::string names;
  for (const Provider* provider : turn.state.providers.instances(session.id, owner)) {
    names += (names.empty() ? "" : ", ") + inQuotes(provider->instance);
  }
  return names;
}

// list_<name>_instances: ids and what each says of itself, as JSON.
CallResult listInstances(const Turn& turn, const Session& session, const protocol::Call& call,
                         std::string_view owner) {
  std::string json;
  json::Writer writer(json);
  writer.beginArray();
  for (const Provider* provider : turn.state.providers.instances(session.id, owner)) {
    writer.beginObject().field("target", provider->instance);
    writer.rawField("metadata", provider->metadata.empty() ? "{}" : provider->metadata).endObject();
  }
  writer.endArray();
  return {call.callId, false, Slice(std::move(json)), {}, {}};
}

Millis callTimeout(const Turn& turn, const protocol::ToolDefinition& tool) {
  return tool.timeout.value_or(turn.limits().time(Limit::CallTimeoutMs));
}

// From now on it has so long; in all, never more than the cap (docs/decisions.md D-14).
void startTimeout(const Turn& turn, CallInFlight& call) {
  const Time cap = call.started + turn.limits().time(Limit::CallTimeoutMaxMs);
  turn.cancel(call.deadline);
  call.deadline =
      turn.state.timers.schedule(std::min(turn.now.steady + call.timeout, cap), CallDue{call.id});
}

// Makes the caller's own deadline for the call start again.
void extendDeadline(const Turn& turn, const CallInFlight& call) {
  sendToCaller(turn, call, turn.state.sessions.find(call.sessionId),
               protocol::CallProgress{call.sessionCallId});
}

// A tool call that is to be given to one of a provider's instances.
struct PendingDispatch {
  const std::string& callId;
  const std::string& tool;
  Slice args;
  Time started;
  std::optional<PeerId> controlLink;  // of the control client that called, if one did
  bool anyInstance = false;           // the call named none, and none has been tried
  CallTrace trace = {};
  std::string_view toolCallId = {};  // JSON text
};

struct DispatchError {
  ErrorCode code;
  std::string_view detail;
};

// Sends the call to the instance, or queues it. Returns: why neither can be done.
std::optional<DispatchError> dispatch(const Turn& turn, const Session& session,
                                      const PendingDispatch& pending,
                                      const Providers::ToolServer& served) {
  State& state = turn.state;
  Provider& provider = *served.provider;
  const size_t slots = provider.concurrency.max;
  const std::string slot = slotKey(provider, pending.tool);
  const bool free = slot.empty() || state.queue.isFree(slot, slots);
  if (!free && state.queue.waiting(slot) >= turn.limits().count(Limit::QueuedCalls)) {
    return DispatchError{ErrorCode::RateLimited,
                         "its provider is busy, and as many calls as may wait for it do"};
  }
  auto flight = std::make_unique_for_overwrite<CallInFlight>();  // its argsHead is large
  flight->id = state.ids.uuid();
  flight->sessionId = session.id;
  flight->sessionCallId = pending.callId;
  flight->controlLink = pending.controlLink;
  flight->tool = pending.tool;
  flight->provider = provider.peer;
  flight->timeout = callTimeout(turn, *served.tool);
  flight->started = pending.started;
  flight->slot = slot;
  flight->argsHead.assign(pending.args.view());
  if (pending.anyInstance) flight->args = pending.args.keep();
  flight->trace = pending.trace.own;
  CallInFlight* call = state.calls.open(std::move(flight));
  if (call == nullptr) {
    return DispatchError{ErrorCode::Internal, "the session used one call id twice"};
  }
  startTimeout(turn, *call);
  const CallId::Text id = call->id.chars();
  protocol::TraceContext trace = call->trace;
  if (isRecording(turn)) [[unlikely]] {
    trace.span = noteDispatch(turn, *call, pending.trace.parent, pending.toolCallId);
  }
  Slice message = protocol::encodeToolCall({id.data(), id.size()}, session.id, call->tool, trace,
                                           pending.args.view());
  if (call->details) [[unlikely]]
    noteMessage(turn, *call, message, pending.args.size(), free);
  if (free) {
    if (!slot.empty()) state.queue.acquire(slot);
    state.providers.touch(provider);
    watchProviders(turn);
    turn.send(provider.peer, std::move(message));
    return std::nullopt;
  }
  call->stage = CallStage::Waiting;
  call->message = std::move(message);
  state.queue.enqueue(slot, call->id, slots);
  return std::nullopt;
}

CallInFlight* findAwaited(const Turn& turn, const Provider& provider,
                          const std::optional<CallId>& id) {
  CallInFlight* call = id ? turn.state.calls.find(*id) : nullptr;
  const bool its = call != nullptr && call->provider == provider.peer;
  return its && call->stage == CallStage::Called ? call : nullptr;
}

// The provider has answered: the call leaves the router.
CallPtr takeAnswered(const Turn& turn, const CallId& id) {
  CallPtr call = turn.state.calls.take(id);
  releaseCall(turn, *call);
  return call;
}

// Once, and where nobody asked for this instance (docs/protocol.md, "tool.result").
bool tryAnother(const Turn& turn, const Provider& failed, const CallInFlight& call) {
  const Session* session = turn.state.sessions.find(call.sessionId);
  if (session == nullptr || call.args.empty()) return false;
  const CallDetails* details = call.details.get();
  const PendingDispatch pending{call.sessionCallId,
                                call.tool,
                                call.args,
                                call.started,
                                call.controlLink,
                                false,
                                {call.trace, details == nullptr ? 0 : details->parent},
                                details == nullptr ? std::string_view() : details->toolCallId};
  for (const Providers::ToolServer& served :
       turn.state.providers.serving(session->id, failed.name, call.tool)) {
    if (served.provider->peer == failed.peer || dispatch(turn, *session, pending, served)) continue;
    extendDeadline(turn, call);
    return true;
  }
  return false;
}

void completeFailed(const Turn& turn, const Provider& provider, const CallInFlight& call,
                    const protocol::ToolResult& result) {
  if (result.retryable && tryAnother(turn, provider, call)) return;
  const std::string_view detail =
      result.error.empty() ? std::string_view("it gave no reason") : result.error;
  // A tool that has run and failed knows better than the gateway what to do next.
  std::string text = result.errorCode == ErrorCode::ToolError
                         ? call.tool + " failed: " + visible(detail, true)
                         : failureText(providerLabel(provider), result.errorCode, detail);
  if (result.retryable) text += " The provider says that the call may be tried again.";
  settle(turn, call, failure({}, result.errorCode, std::move(text)));
}

bool hasTooMany(const Turn& turn, const Session& session, std::optional<PeerId> controlLink) {
  const ToolRouter& calls = turn.state.calls;
  const size_t most = turn.limits().count(Limit::CallsPerSession);
  if (calls.count() < most) return false;  // of all: as a rule nobody needs to look further
  return (controlLink ? calls.countOfControl(*controlLink) : calls.countOfSession(session.id)) >=
         most;
}

CallResult successWith(const Slice& data) {
  CallResult result;
  if (auto image = protocol::takeImage(data)) {
    result.data = std::move(image->rest);
    result.binary = std::move(image->image);
  } else {
    result.data = data;
  }
  return result;
}

}  // namespace

void startCall(const Turn& turn, Session& session, const protocol::Call& call,
               std::optional<PeerId> controlLink) {
  State& state = turn.state;
  const Caller caller{&session, controlLink};
  if (!controlLink) state.sessions.touch(session);
  const Providers::Tool* tool = state.providers.tool(session.id, call.tool);
  if (tool == nullptr) {
    if (refuseDisabled(turn, caller, call)) return;
    return refuseCall(turn, caller, call, ErrorCode::Disconnected,
                      "the provider of this tool is not connected now");
  }
  if (session.ending) {
    return refuseCall(turn, caller, call, ErrorCode::Disconnected, kSessionOver);
  }
  if (state.draining) {
    return refuseCall(turn, caller, call, ErrorCode::Disconnected,
                      "the gateway is being replaced by a newer one");
  }
  if (hasTooMany(turn, session, controlLink)) {
    return refuseCall(turn, caller, call, ErrorCode::RateLimited,
                      "this session has too many calls in flight");
  }
  if (tool->targeted && call.tool == protocol::metaToolName(tool->owner)) {
    return answerHere(turn, caller, call, listInstances(turn, session, call, tool->owner));
  }
  protocol::TargetedArgs args;
  if (tool->targeted) args = protocol::takeTarget(call.args.view());
  const auto served = Providers::server(*tool, args.target);
  if (!served) {
    return refuseCall(turn, caller, call, ErrorCode::NotFound,
                      "there is no instance " + inQuotes(visible(args.target, false, 128)) +
                          " of " + inQuotes(tool->owner) + "; there are " +
                          instanceNames(turn, session, tool->owner));
  }
  const PendingDispatch pending{call.callId,
                                call.tool,
                                args.args.empty() ? call.args : Slice(std::move(args.args)),
                                turn.now.steady,
                                controlLink,
                                tool->targeted && args.target.empty(),
                                startTrace(turn, &session, call.trace, controlLink.has_value()),
                                call.toolCallId.view()};
  if (const auto error = dispatch(turn, session, pending, *served)) {
    refuseCall(turn, caller, call, error->code, error->detail);
  }
}

bool refuseDisabled(const Turn& turn, const Caller& caller, const protocol::Call& call) {
  auto text = disabledText(turn, call.tool);
  if (!text) return false;
  answerHere(turn, caller, call, failure(call.callId, ErrorCode::Disconnected, std::move(*text)));
  return true;
}

void refuseCall(const Turn& turn, const Caller& caller, const protocol::Call& call, ErrorCode code,
                std::string_view why) {
  const std::string who = "Tool " + inQuotes(visible(call.tool, false, 80));
  answerHere(turn, caller, call, failure(call.callId, code, failureText(who, code, why)));
}

void completeCall(const Turn& turn, Provider& provider, const protocol::ToolResult& result) {
  const std::optional<CallId> id = turn.state.calls.parseId(result.id.view());
  CallInFlight* answered = findAwaited(turn, provider, id);
  if (answered == nullptr) {
    if (id) releaseHeldSlot(turn, provider, *id);
    return;
  }
  turn.state.providers.touch(provider);
  if (result.trace.malformed) [[unlikely]]
    ++turn.state.recorder.malformedTraces;
  if (answered->details) [[unlikely]]
    answered->details->answeredWith = result.trace.context;
  if (result.file && !result.failed) {
    return readResultFile(turn, provider, *answered, *result.file);
  }
  const CallPtr call = takeAnswered(turn, *id);
  if (result.failed) return completeFailed(turn, provider, *call, result);
  settle(turn, *call, successWith(result.data));
}

void progressCall(const Turn& turn, Provider& provider, const protocol::ToolProgress& progress) {
  CallInFlight* call = findAwaited(turn, provider, turn.state.calls.parseId(progress.id));
  if (call == nullptr) return;
  turn.state.providers.touch(provider);
  startTimeout(turn, *call);
  Session* session = turn.state.sessions.find(call->sessionId);
  if (session == nullptr) return;
  call->progress = utf8::truncate(progress.message, kProgressBytes);
  showProgress(turn, *session, *call);
  extendDeadline(turn, *call);
}

bool isAwaited(const Turn& turn, const Provider& provider, std::string_view id) {
  return findAwaited(turn, provider, turn.state.calls.parseId(id)) != nullptr;
}

void callNext(const Turn& turn, const std::string& key) {
  while (const auto id = turn.state.queue.next(key)) {
    CallInFlight* call = turn.state.calls.find(*id);
    if (call == nullptr) continue;
    call->stage = CallStage::Called;
    if (call->details) [[unlikely]]
      call->details->sent = turn.now.steady;
    if (Provider* provider = turn.state.providers.find(call->provider)) {
      turn.state.providers.touch(*provider);
    }
    startTimeout(turn, *call);
    extendDeadline(turn, *call);
    watchProviders(turn);
    turn.send(call->provider, std::exchange(call->message, {}));
  }
}

void cancelCall(const Turn& turn, Session& session, const protocol::CancelCall& cancel) {
  const CallPtr call = turn.state.calls.take(session.id, cancel.callId);
  if (!call) return;
  const std::string_view reason =
      cancel.reason.empty() ? "aborted" : std::string_view(cancel.reason);
  cancelAtProvider(turn, *call, reason);
  recordCancelled(turn, *call, reason);
  onCallSettled(turn, session);
}

void timeOutCall(const Turn& turn, const CallId& id) {
  CallInFlight* late = turn.state.calls.find(id);
  if (late == nullptr) return;
  late->deadline = TimerId::None;
  const bool isQueued = late->stage == CallStage::Waiting;
  if (isQueued && turn.now.steady < late->started + turn.limits().time(Limit::CallTimeoutMaxMs)) {
    startTimeout(turn, *late);
    return extendDeadline(turn, *late);
  }
  const CallPtr call = turn.state.calls.take(id);
  cancelAtProvider(turn, *call, "timeout");
  const Provider* provider = turn.state.providers.find(call->provider);
  settleFailed(turn, *call, provider != nullptr ? providerLabel(*provider) : "The provider",
               ErrorCode::Timeout,
               inQuotes(call->tool) + (isQueued ? " stood in line for too long behind other calls"
                                                : " did not answer in time"));
}

void failCall(const Turn& turn, const Provider& provider, std::string_view text, ErrorCode code,
              std::string_view detail) {
  const std::optional<CallId> id = turn.state.calls.parseId(text);
  if (!id) return;
  if (findAwaited(turn, provider, id) == nullptr) return releaseHeldSlot(turn, provider, *id);
  settleFailed(turn, *takeAnswered(turn, *id), providerLabel(provider), code, detail);
}

void failCallsOfProvider(const Turn& turn, const Provider& provider, std::string_view sessionId,
                         std::string_view detail) {
  for (const CallPtr& call : turn.state.calls.takeOfBinding(provider.peer, sessionId)) {
    releaseCall(turn, *call);
    settleFailed(turn, *call, providerLabel(provider), ErrorCode::Disconnected, detail);
  }
}

void cancelCallsOfProvider(const Turn& turn, const Provider& provider, std::string_view reason) {
  for (const CallPtr& call : turn.state.calls.takeOfProvider(provider.peer)) {
    cancelAtProvider(turn, *call, reason);
    settleFailed(turn, *call, providerLabel(provider), ErrorCode::Disconnected, reason);
  }
}

void cancelCallsOfSession(const Turn& turn, Session& session, std::string_view reason) {
  for (const CallPtr& call : turn.state.calls.takeOfSession(session.id)) {
    cancelAtProvider(turn, *call, reason);
    // If the session still listens (it has ended, but its process is draining), the call still gets
    // its one outcome.
    if (session.peer) {
      settleFailed(turn, *call, "The call", ErrorCode::Cancelled, reason);
    } else {
      recordCancelled(turn, *call, reason);
    }
  }
  drainIfDone(turn);
}

bool failFast(const Turn& turn, const Provider& provider, const protocol::Refusal& refusal) {
  const std::vector<CallId> pending = turn.state.calls.unansweredCalls(provider.peer);
  if (pending.size() > 1) return true;
  for (const CallId& id : pending) {
    settleFailed(turn, *takeAnswered(turn, id), providerLabel(provider), refusal.code,
                 "its answer could not be read: " + refusal.message);
  }
  return false;
}

}  // namespace tap::gateway
