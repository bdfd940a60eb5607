#include "gateway/control/control_clients.h"

#include "gateway/calls/call_outcome.h"
#include "gateway/calls/call_slots.h"
#include "gateway/calls/calls.h"
#include "gateway/registry/announcement.h"
#include "gateway/registry/session_output.h"

namespace tap::gateway {

using protocol::ErrorCode;

namespace {

// The session in whose name the client calls this tool: the one that it has chosen, else the one
// last in use that has the tool.
Session* sessionFor(const Turn& turn, const std::string& chosen, const std::string& tool) {
  Sessions& sessions = turn.state.sessions;
  if (!chosen.empty()) return sessions.find(chosen);
  for (const Session* session : sessions.active()) {
    if (!turn.state.providers.toolOwner(session->id, tool).empty()) {
      return sessions.find(session->id);
    }
  }
  return nullptr;
}

}  // namespace

void traceProvider(const Turn& turn, PeerId provider, protocol::TraceKind kind, const Slice& text) {
  const Provider* known = turn.state.providers.find(provider);
  for (const PeerId tracer : turn.state.controlClients.tracers()) {
    turn.effect(
        SendEvent{tracer, protocol::TraceFrame{turn.now.unixMillis, static_cast<int64_t>(provider),
                                               known == nullptr ? "" : known->name, kind, text}});
  }
}

void callFromControl(const Turn& turn, PeerId link, const protocol::Call& call) {
  const std::string chosen = *turn.state.controlClients.findSessionId(link);
  if (Session* session = sessionFor(turn, chosen, call.tool)) {
    startCall(turn, *session, call, link);
  } else if (chosen.empty()) {
    if (refuseDisabled(turn, {nullptr, link}, call)) return;
    refuseCall(turn, {nullptr, link}, call, ErrorCode::NotFound,
               "no session has a tool of that name");
  } else {
    refuseCall(turn, {nullptr, link}, call, ErrorCode::InvalidSession,
               "there is no session of that id");
  }
}

void cancelFromControl(const Turn& turn, PeerId link, const protocol::CancelCall& cancel) {
  const CallPtr call = turn.state.calls.take(link, cancel.callId);
  if (!call) return;
  const std::string_view reason =
      cancel.reason.empty() ? "aborted" : std::string_view(cancel.reason);
  cancelAtProvider(turn, *call, reason);
  recordCancelled(turn, *call, reason);
  drainIfDone(turn);
}

void useFromControl(const Turn& turn, PeerId link, const protocol::UseProvider& use) {
  Session* session = turn.state.sessions.find(use.sessionId);
  if (session == nullptr || session->ending) {
    turn.effect(SendEvent{link, protocol::Used{"unknown", "there is no session of that id"}});
  } else {
    turn.effect(SendEvent{link, useProvider(turn, *session, use.provider)});
  }
}

void controlClientGone(const Turn& turn, PeerId link) {
  turn.state.controlClients.erase(link);
  dropChecksOfFeature(turn, link);
  for (const CallPtr& call : turn.state.calls.takeOfControl(link)) {
    cancelAtProvider(turn, *call, "the control client has left");
    recordCancelled(turn, *call, "the control client has left");
  }
  drainIfDone(turn);
}

void cancelControlCalls(const Turn& turn, std::string_view sessionId, std::string_view reason) {
  for (const CallPtr& call : turn.state.calls.takeOfControlClients(sessionId)) {
    cancelAtProvider(turn, *call, reason);
    settleFailed(turn, *call, "The call", ErrorCode::Cancelled, reason);
  }
}

}  // namespace tap::gateway
