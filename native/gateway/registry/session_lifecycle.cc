#include "gateway/registry/session_lifecycle.h"

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "gateway/calls/calls.h"
#include "gateway/registry/announcement.h"
#include "gateway/registry/binding.h"
#include "gateway/registry/identity.h"
#include "gateway/registry/kept.h"
#include "gateway/streams/events.h"

namespace tap::gateway {

using protocol::LogLevel;
using protocol::ProviderState;

namespace {

constexpr size_t kMaxOutbox = 100;  // events that wait for a reload to come back
constexpr size_t kManyTools = 120;  // some model APIs stop at 128

ToolSnapshot toSnapshot(const std::vector<protocol::ProviderDigest>& have) {
  ToolSnapshot snapshot;
  for (const protocol::ProviderDigest& one : have) snapshot[one.provider] = one.digest;
  return snapshot;
}

protocol::Tools toEvent(const Turn& turn, const Session& session, SyncPlan plan) {
  protocol::Tools event;
  event.revision = plan.revision;
  event.reload = plan.reload;
  event.drop = std::move(plan.drop);
  Providers& providers = turn.state.providers;
  for (const std::string& name : plan.set) {
    const auto digest = providers.digest(session.id, name);
    if (digest) event.set.push_back({name, *digest, providers.definitions(session.id, name)});
  }
  return event;
}

// A `/clear` starts a new session in the same CLI: the old one will not come back.
void endReplacedSessions(const Turn& turn, const Session& by) {
  std::vector<std::string> replaced;
  for (const auto& [id, session] : turn.state.sessions.all()) {
    if (id != by.id && by.cliPid != 0 && session.cliPid == by.cliPid && !session.peer &&
        !session.ending) {
      replaced.push_back(id);
    }
  }
  for (const std::string& id : replaced) {
    if (Session* session = turn.state.sessions.find(id)) endSession(turn, *session, "replaced");
  }
}

void takeOver(const Turn& turn, Session& session) {
  if (!session.peer) return;
  const PeerId old = *session.peer;
  turn.effect(SendEvent{
      old, protocol::Refused{"REPLACED", "another process of this session has registered"}});
  closeLink(turn, old, "replaced");
  sessionProcessGone(turn, session);
}

// A link that registers again speaks for its former session no more.
void releaseLink(const Turn& turn, PeerId peer) {
  turn.state.endedLinks.erase(peer);
  Session* former = turn.state.sessions.byPeer(peer);
  if (former == nullptr) return;
  cancelCallsOfSession(turn, *former, "the session's process has registered again");
  sessionProcessGone(turn, *former);
}

// The session was served by another gateway before: its providers are no news to it.
void keepKnownProviders(const Turn& turn, Session& session, const ToolSnapshot& have) {
  for (const auto& [name, digest] : have) expectReturn(turn, session, name);
}

bool isQuiet(const Turn& turn, const Session& session) {
  return session.activity == protocol::Activity::Idle &&
         turn.state.calls.countOfSession(session.id) == 0;
}

// What is scheduled must know of what it waits for.
void lookAround(const Turn& turn, Session& session) {
  session.sync.setQuiet(isQuiet(turn, session));
  session.sync.setGated(turn.state.checks.anyOfSession(session.id));
}

// Nobody is left in the session who could be answered.
void dropQuestions(const Turn& turn, Session& session) {
  dropChecks(turn, session.id);
  dropBuilds(turn, session.id);
  turn.cancel(session.hooksTimer);
}

void welcome(const Turn& turn, Session& session, bool isNew, bool joined) {
  const Config& config = turn.state.config;
  sendToSession(turn, session,
                protocol::Welcome{protocol::kLinkVersion, config.version, config.pid, config.port,
                                  !isNew || joined});
  sendToSession(turn, session,
                toEvent(turn, session, session.sync.firstPlan(joined, turn.now.steady)));
  introduceSubscriptions(turn, session);
  introduceHooks(turn, session, isNew, joined);
  session.activity = protocol::Activity::Idle;  // it says so where it is not
  while (!session.outbox.empty()) {
    protocol::SessionEvent event = std::move(session.outbox.front());
    session.outbox.pop_front();
    sendToSession(turn, session, std::move(event));
  }
}

// Later lines of a text are indented: none can pass for a line of its own.
std::string hangingLines(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out;
}

}  // namespace

void sendToSession(const Turn& turn, Session& session, protocol::SessionEvent&& event) {
  if (session.peer) {
    turn.effect(SendEvent{*session.peer, std::move(event)});
    return;
  }
  if (session.outbox.size() >= kMaxOutbox) session.outbox.pop_front();
  session.outbox.push_back(std::move(event));
}

void tellTimeline(const Turn& turn, Session& session, LogLevel level, std::string_view text) {
  std::string shown = hangingLines(visible(text, true));
  turn.log(level, "session " + session.id + ": " + shown);
  sendToSession(turn, session, protocol::Timeline{level, std::move(shown)});
}

void closeLink(const Turn& turn, PeerId peer, std::string reason) {
  turn.state.endedLinks.erase(peer);
  turn.state.closedLinks.insert(peer);
  turn.effect(ClosePeer{peer, 0, std::move(reason)});
}

void registerSession(const Turn& turn, PeerId peer, const protocol::Register& message) {
  State& state = turn.state;
  releaseLink(turn, peer);
  if (const Session* known = state.sessions.find(message.sessionId); known && known->ending) {
    finishSession(turn, message.sessionId);
  }
  const bool isNew = state.sessions.find(message.sessionId) == nullptr;
  Session* session = state.sessions.obtain(message.sessionId, turn.limits());
  if (session == nullptr) {
    turn.effect(SendEvent{peer, protocol::Refused{"TOO_MANY_SESSIONS",
                                                  "this gateway serves as many sessions as it can "
                                                  "(TAP_MAX_SESSIONS); close one and try again"}});
    closeLink(turn, peer, "too many sessions");
    return;
  }
  ToolSnapshot have = toSnapshot(message.have);
  if (isNew) {
    keepKnownProviders(turn, *session, have);
    bindInternalProviders(turn, *session);
  }
  takeOver(turn, *session);
  turn.cancel(session->lingerTimer);
  state.sessions.attach(*session, peer);
  state.sessions.touch(*session);
  session->label = visible(message.label, false, 256);
  session->cwd = message.cwd;
  session->cliPid = message.cliPid;
  session->sync.sessionRegistered(std::move(have), message.mode, turn.now.steady);
  welcome(turn, *session, isNew, message.joined);
  rescheduleSync(turn, *session);
  if (isNew) endReplacedSessions(turn, *session);
  if (isNew) noticeSession(turn, *session, message.joined);
  turn.log(LogLevel::Info, "session " + session->id + " registered: " + session->label);
  watchGrace(turn);
  announceSessions(turn);
  if (isNew) turn.effect(TellHost{HostAction::SessionOpened, session->id, session->cwd, ""});
}

void sessionProcessGone(const Turn& turn, Session& session) {
  turn.state.sessions.detach(session);
  cancelCallsOfSession(turn, session, "the session's process is gone");
  dropQuestions(turn, session);
  session.budgets.interrupted();
  session.sync.linkLost();
  turn.cancel(session.syncTimer);
  if (session.ending) return;
  turn.cancel(session.lingerTimer);
  session.lingerTimer = turn.schedule(Limit::LingerMs, LingerDue{session.id});
  turn.log(LogLevel::Info, "session " + session.id + " lingers");
}

void endSession(const Turn& turn, Session& session, std::string_view reason) {
  if (session.ending) return;
  session.ending = true;
  turn.cancel(session.lingerTimer);
  turn.cancel(session.syncTimer);
  turn.cancel(session.elsewhereTimer);
  cancelCallsOfSession(turn, session, "the session has ended");
  cancelOperatorCalls(turn, session.id, "the session has ended");
  turn.log(LogLevel::Info, "session " + session.id + " ends: " + visible(reason, false, 256));
  turn.effect(TellHost{HostAction::SessionEnded, session.id, "", ""});
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
    reckon(turn.state, *provider);
    if (provider->bindings.empty() && !provider->all) provider->state = ProviderState::Unbound;
  }
  dropQuestions(turn, *session);
  for (auto& [identity, known] : session->known) turn.cancel(known.departure);
  for (auto& [party, budget] : session->lines) turn.cancel(budget.notice);
  for (auto& [name, offer] : session->offers) turn.cancel(offer);
  turn.state.authenticator.forgetSession(sessionId);
  turn.cancel(session->shutdownTimer);
  turn.cancel(session->lingerTimer);
  turn.cancel(session->syncTimer);
  turn.cancel(session->elsewhereTimer);
  if (session->peer) turn.state.endedLinks.insert(*session->peer);
  turn.state.sessions.erase(sessionId);
}

void announceSessions(const Turn& turn) {
  Sessions& sessions = turn.state.sessions;
  std::vector<protocol::SessionSummary> byId = sessions.summaries({});
  std::sort(byId.begin(), byId.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  if (byId == turn.state.announced) return;
  turn.state.announced = std::move(byId);
  for (const Provider* provider : turn.state.providers.all()) {
    if (provider->credentials.trust == protocol::Trust::None) continue;
    turn.send(provider->peer, protocol::encodeSessions("sessions.updated",
                                                       sessions.summaries(provider->credentials)));
  }
}

void watchGrace(const Turn& turn) {
  State& state = turn.state;
  if (!state.sessions.allEnded()) {
    turn.cancel(state.graceTimer);
  } else if (state.graceTimer == TimerId::None) {
    state.graceTimer = turn.schedule(Limit::GraceMs, GraceDue{});
  }
}

void toolsChanged(const Turn& turn, Session& session, const std::set<std::string>& names) {
  ToolChanges changes;
  for (const std::string& name : names) {
    changes[name] = turn.state.providers.digest(session.id, name);
  }
  session.sync.wantedChanged(changes, turn.now.steady);
  rescheduleSync(turn, session);
  if (turn.state.providers.toolCount(session.id) >= kManyTools &&
      !std::exchange(session.warnedManyTools, true)) {
    tellTimeline(turn, session, LogLevel::Warning,
                 "tap: this session has " +
                     std::to_string(turn.state.providers.toolCount(session.id)) +
                     " provider tools; some models accept no more than 128 in all");
  }
}

void rescheduleSync(const Turn& turn, Session& session) {
  turn.cancel(session.syncTimer);
  if (!session.peer || session.ending || session.sync.atRest()) return;
  lookAround(turn, session);
  if (const auto due = session.sync.due()) {
    session.syncTimer = turn.state.timers.schedule(*due, SyncDue{session.id});
  }
}

void runSync(const Turn& turn, Session& session) {
  session.syncTimer = TimerId::None;
  if (!session.peer || session.ending) return;
  lookAround(turn, session);
  if (auto plan = session.sync.takePlan(turn.now.steady)) {
    sendToSession(turn, session, toEvent(turn, session, std::move(*plan)));
  }
  rescheduleSync(turn, session);
}

}  // namespace tap::gateway
