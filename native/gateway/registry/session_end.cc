#include "gateway/registry/session_end.h"

#include "base/encoding.h"
#include "gateway/calls/calls.h"
#include "gateway/hooks/hooks.h"
#include "gateway/records/rows.h"
#include "gateway/registry/retained_data.h"
#include "gateway/registry/session_list.h"
#include "gateway/streams/injects.h"
#include "gateway/sync/tools_in_force.h"

namespace tap::gateway {

using protocol::LogLevel;
using protocol::ProviderState;

namespace {

// The session has no process that could be sent an answer.
void dropQuestions(const Turn& turn, Session& session) {
  dropChecks(turn, session.id);
  dropAnswers(turn, session.id);
  dropBuilds(turn, session.id);
  turn.cancel(session.hooksTimer);
}

}  // namespace

void sessionProcessGone(const Turn& turn, Session& session) {
  turn.state.sessions.detach(session);
  recordTurn(turn, session);
  cancelCallsOfSession(turn, session, "the session's process is gone");
  dropQuestions(turn, session);
  session.budgets.interrupted();
  session.sync.linkLost();
  forgetRevisions(session);
  turn.cancel(session.syncTimer);
  if (session.ending) return;
  turn.cancel(session.lingerTimer);
  session.lingerTimer = turn.schedule(Limit::LingerMs, LingerDue{session.id});
  turn.log(LogLevel::Info, "session " + session.id + " lingers");
  if (isRecording(turn)) recordSession(turn, session, "lost", "");
}

void endSession(const Turn& turn, Session& session, std::string_view reason) {
  if (session.ending) return;
  session.ending = true;
  turn.cancel(session.lingerTimer);
  turn.cancel(session.syncTimer);
  turn.cancel(session.otherSessionTimer);
  dropToolsWaiters(turn, session);
  if (session.peer) dropSessionRequests(turn, *session.peer, "the session has ended");
  cancelCallsOfSession(turn, session, "the session has ended");
  cancelControlCalls(turn, session.id, "the session has ended");
  failChecksOfFeatures(turn, session.id, "the session has ended");
  turn.log(LogLevel::Info, "session " + session.id + " ends: " + visible(reason, false, 256));
  recordTurn(turn, session);
  if (isRecording(turn)) recordSession(turn, session, "ended", reason);
  turn.effect(NotifyHost{HostAction::SessionEnded, session.id, "", ""});
  for (const Provider* provider : turn.state.providers.inSession(session.id)) {
    turn.send(provider->peer,
              protocol::encodeShutdownPending(session.id, turn.limits().time(Limit::ShutdownMs)));
  }
  if (turn.state.providers.anyToWaitFor(session.id)) {
    session.shutdownTimer = turn.schedule(Limit::ShutdownMs, ShutdownDue{session.id});
  } else {
    finishSession(turn, std::string(session.id));
  }
  announceSessions(turn);
  watchGrace(turn);
}

void finishSession(const Turn& turn, const std::string& sessionId) {
  Session* session = turn.state.sessions.find(sessionId);
  if (session == nullptr) return;
  for (Provider* provider : turn.state.providers.inSession(sessionId)) {
    failGatesOfBinding(turn, *provider, sessionId, "the session has ended");
    failTransformsOfBinding(turn, *provider, sessionId);
    refusePendingHooks(turn, *provider, *provider->in(sessionId), "the session has ended");
    turn.state.providers.unbind(*provider, sessionId);
    updateRetained(turn.state, *provider);
    if (provider->bindings.empty() && !provider->all) provider->state = ProviderState::Unbound;
  }
  giveAnswers(turn, *session);
  dropQuestions(turn, *session);
  dropHeldInjects(turn, *session);
  for (auto& [identity, known] : session->known) turn.cancel(known.departure);
  for (auto& [party, budget] : session->lines) turn.cancel(budget.notice);
  for (auto& [name, offer] : session->offers) turn.cancel(offer);
  turn.state.authenticator.forgetSession(sessionId);
  turn.state.providers.forgetGroups(sessionId);
  turn.cancel(session->shutdownTimer);
  turn.cancel(session->lingerTimer);
  turn.cancel(session->syncTimer);
  turn.cancel(session->otherSessionTimer);
  if (session->peer) turn.state.endedLinks.insert(*session->peer);
  turn.state.sessions.erase(sessionId);
}

}  // namespace tap::gateway
