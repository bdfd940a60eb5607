#include "gateway/control/operators.h"

#include <utility>

#include "base/encoding.h"
#include "gateway/calls/call_slots.h"
#include "gateway/calls/calls.h"
#include "gateway/calls/settle.h"
#include "gateway/control/inspection.h"
#include "gateway/registry/announcement.h"
#include "gateway/registry/session_output.h"

namespace tap::gateway {

using protocol::ErrorCode;

namespace {

struct OperatorReceiver {
  const Turn& turn;
  PeerId link;
  const std::string& sessionId;

  void operator()(const protocol::Inspect&) const {
    turn.effect(SendEvent{link, protocol::Inspection{describeEverything(turn)}});
  }
  void operator()(const protocol::Trace&) const {
    turn.state.operators.trace(link);
    turn.log(protocol::LogLevel::Info, "trace started");
  }
  void operator()(const protocol::ListCalls& list) const {
    turn.effect(SendEvent{link, protocol::CallsLogged{turn.state.log.json(list.after)}});
  }
  void operator()(const protocol::UseProvider& use) const {
    Session* session = turn.state.sessions.find(use.sessionId);
    if (session == nullptr || session->ending) {
      turn.effect(SendEvent{link, protocol::Used{"unknown", "there is no session of that id"}});
    } else {
      turn.effect(SendEvent{link, useProvider(turn, *session, use.provider)});
    }
  }
  void operator()(const protocol::Call& call) const {
    Session* session = sessionFor(call.tool);
    if (session == nullptr) {
      return sessionId.empty()
                 ? refuse(call, ErrorCode::NotFound, "no session has a tool of that name")
                 : refuse(call, ErrorCode::InvalidSession, "there is no session of that id");
    }
    startCall(turn, *session, call, link);
  }
  void operator()(const protocol::CancelCall& cancel) const {
    const CallPtr call = turn.state.calls.take(link, cancel.callId);
    if (!call) return;
    const std::string_view reason =
        cancel.reason.empty() ? "aborted" : std::string_view(cancel.reason);
    cancelAtProvider(turn, *call, reason);
    recordCancelled(turn, *call, reason);
    drainIfDone(turn);
  }
  void operator()(const protocol::Ping&) const { turn.effect(SendEvent{link, protocol::Pong{}}); }
  // The rest is a session's to say.
  template <class Other>
  void operator()(const Other&) const {
    turn.effect(SendEvent{link, protocol::Refused{"NOT_REGISTERED", "an operator is no session"}});
    operatorGone(turn, link);
    closeLink(turn, link, "an operator is no session");
  }

 private:
  // The one last in use that has the tool.
  [[nodiscard]] Session* sessionFor(const std::string& tool) const {
    Sessions& sessions = turn.state.sessions;
    if (!sessionId.empty()) return sessions.find(sessionId);
    for (const Session* session : sessions.active()) {
      if (!turn.state.providers.ownerOf(session->id, tool).empty()) {
        return sessions.find(session->id);
      }
    }
    return nullptr;
  }
  void refuse(const protocol::Call& call, ErrorCode code, std::string_view why) const {
    refuseCall(turn, {nullptr, link}, call, code, why);
  }
};

}  // namespace

void traceProvider(const Turn& turn, PeerId provider, protocol::TraceKind kind, const Slice& text) {
  const Provider* known = turn.state.providers.find(provider);
  for (const PeerId tracer : turn.state.operators.tracers()) {
    turn.effect(
        SendEvent{tracer, protocol::TraceFrame{turn.now.unixMillis, static_cast<int64_t>(provider),
                                               known == nullptr ? "" : known->name, kind, text}});
  }
}

void operatorMessage(const Turn& turn, PeerId link, const protocol::SessionMessage& message) {
  const std::string sessionId = *turn.state.operators.sessionOf(link);
  std::visit(OperatorReceiver{turn, link, sessionId}, message);
}

void operatorGone(const Turn& turn, PeerId link) {
  turn.state.operators.erase(link);
  for (const CallPtr& call : turn.state.calls.takeOfOperator(link)) {
    cancelAtProvider(turn, *call, "the operator has left");
    recordCancelled(turn, *call, "the operator has left");
  }
  drainIfDone(turn);
}

void cancelOperatorCalls(const Turn& turn, std::string_view sessionId, std::string_view reason) {
  for (const CallPtr& call : turn.state.calls.takeOfOperators(sessionId)) {
    cancelAtProvider(turn, *call, reason);
    settleFailed(turn, *call, "The call", ErrorCode::Cancelled, reason);
  }
}

}  // namespace tap::gateway
