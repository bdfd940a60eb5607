#include "gateway/core/gateway.h"

#include <utility>

#include "gateway/calls/call_slots.h"
#include "gateway/calls/calls.h"
#include "gateway/calls/file_results.h"
#include "gateway/registry/announcement.h"
#include "gateway/registry/lines.h"
#include "gateway/registry/provider_watch.h"
#include "gateway/registry/session_end.h"
#include "gateway/registry/session_list.h"
#include "gateway/registry/unbinding.h"
#include "gateway/streams/injects.h"
#include "gateway/sync/sync_schedule.h"

namespace tap::gateway {

namespace {

// Handles timers that are due: one overload for each.
struct Due {
  const Turn& turn;

  void operator()(const UnauthenticatedDue& due) const {
    const Provider* provider = turn.state.providers.find(due.peer);
    if (provider == nullptr) return;
    if (provider->upgraded) {
      turn.send(due.peer,
                protocol::encodeError(
                    {protocol::ErrorCode::AuthFailed, "no valid auth came in time", ""}, "", ""));
    }
    turn.state.authenticator.cancelPairing(due.peer);
    turn.state.providers.erase(due.peer);
    turn.closeProvider(due.peer, kPolicyViolation, "no valid auth in time");
  }
  void operator()(const ThrottleDue& due) const {
    Provider* provider = turn.state.providers.find(due.peer);
    if (provider == nullptr) return;
    provider->paused = false;
    if (provider->throttledSince &&
        turn.now.steady - *provider->throttledSince > turn.limits().time(Limit::ThrottleMs)) {
      unbindAll(turn, *provider, Departure::Lost, "it flooded the gateway");
      turn.cancel(provider->deadline);
      turn.state.authenticator.cancelPairing(due.peer);
      turn.state.providers.erase(due.peer);
      turn.closeProvider(due.peer, kPolicyViolation, "too many messages; slow down");
      return;
    }
    turn.effect(ResumeReading{due.peer});
  }
  void operator()(const CallDue& due) const { timeOutCall(turn, due.id); }
  void operator()(const ProgressDue& due) const {
    CallInFlight* call = turn.state.calls.find(due.id);
    if (call == nullptr) return;
    call->progressTimer = TimerId::None;
    Session* session = turn.state.sessions.find(call->sessionId);
    if (session != nullptr) showProgress(turn, *session, *call);
  }
  void operator()(const LinesDue& due) const {
    Session* session = turn.state.sessions.find(due.sessionId);
    if (session != nullptr) reportLeftOut(turn, *session, due.party);
  }
  void operator()(const GateDue& due) const {
    if (const Question* gate = turn.state.checks.gates.find(due.callId)) {
      failGate(turn, gate->provider, due.callId, "it did not respond in time");
    }
  }
  void operator()(const TransformDue& due) const {
    if (const Question* transform = turn.state.sections.transforms.find(due.callId)) {
      failTransform(turn, transform->provider, due.callId, "no transform.result in time");
    }
  }
  void operator()(const HooksDue& due) const {
    if (Session* session = turn.state.sessions.find(due.sessionId)) {
      session->hooksTimer = TimerId::None;
      resendHooks(turn, *session);
    }
  }
  void operator()(const QueueDue& due) const { callNext(turn, due.key); }
  void operator()(const SlotDue& due) const { heldSlotDue(turn, due.callId); }
  void operator()(const SyncDue& due) const {
    if (Session* session = turn.state.sessions.find(due.sessionId)) runSync(turn, *session);
  }
  void operator()(const LingerDue& due) const {
    Session* session = turn.state.sessions.find(due.sessionId);
    if (session == nullptr) return;
    session->lingerTimer = TimerId::None;
    endSession(turn, *session, "its process did not come back");
  }
  void operator()(const ShutdownDue& due) const { finishSession(turn, due.sessionId); }
  void operator()(const DepartureDue& due) const {
    if (Session* session = turn.state.sessions.find(due.sessionId)) {
      forgetDeparted(turn, *session, due.identity);
    }
  }
  void operator()(const WatchDue&) const { checkProviders(turn); }
  void operator()(const OtherSessionDue& due) const {
    if (Session* session = turn.state.sessions.find(due.sessionId))
      announceBoundToOtherSession(turn, *session);
  }
  void operator()(const OfferDue& due) const {
    if (Session* session = turn.state.sessions.find(due.sessionId)) {
      offerDue(turn, *session, due.provider);
    }
  }
  void operator()(const CommitDue& due) const { commitDue(turn, due.sessionId, due.number); }
  void operator()(const AnswerDue& due) const { answerDue(turn, due.answer); }
  void operator()(const ToolsDue& due) const {
    if (Session* session = turn.state.sessions.find(due.sessionId)) {
      toolsWaiterDue(turn, *session, due.waiter);
    }
  }
  void operator()(const CommandDue& due) const { commandDue(turn, due.number); }
  void operator()(const RefusedDue& due) const { refusedDue(turn, due.provider); }
  void operator()(const SessionRequestDue& due) const { sessionRequestDue(turn, due.number); }
  void operator()(const GraceDue&) const {
    turn.state.graceTimer = TimerId::None;
    turn.effect(NotifyHost{HostAction::Exit, "", "", "no session is left"});
  }
  void operator()(const DrainDue&) const {
    turn.state.drainTimer = TimerId::None;
    for (auto& [id, session] : turn.state.sessions.all()) {
      if (session.peer) {
        turn.effect(SendEvent{*session.peer, protocol::Draining{"a newer version takes over"}});
      }
    }
    turn.effect(NotifyHost{HostAction::Exit, "", "", "a newer version takes over"});
  }
};

}  // namespace

Gateway::Gateway(Config config) : state_(std::move(config)), decoder_(state_.config.limits) {}

void Gateway::start(Now now, Effects& effects) {
  state_.startedUnixMillis = now.unixMillis;
  watchGrace(Turn{state_, now, effects});
}

void Gateway::fileRead(const CallId& callId, FileOutcome outcome, Now now, Effects& effects) {
  completeFileResult(Turn{state_, now, effects}, callId, std::move(outcome));
}

void Gateway::recordCommitted(uint64_t number, bool durable, Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  commitSettled(turn, number, durable);
  answerSettled(turn, number, durable);
}

void Gateway::timersDue(Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  while (std::optional<Timer> timer = state_.timers.popDue(now.steady)) {
    std::visit(Due{turn}, *timer);
  }
}

}  // namespace tap::gateway
