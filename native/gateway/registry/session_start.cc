#include "gateway/registry/session_start.h"

#include <utility>
#include <vector>

#include "base/encoding.h"
#include "gateway/calls/calls.h"
#include "gateway/hooks/hooks.h"
#include "gateway/records/rows.h"
#include "gateway/registry/announcement.h"
#include "gateway/registry/binding.h"
#include "gateway/registry/identity.h"
#include "gateway/registry/session_end.h"
#include "gateway/registry/session_list.h"
#include "gateway/registry/session_output.h"
#include "gateway/streams/events.h"
#include "gateway/sync/sync_schedule.h"
#include "gateway/sync/tool_groups.h"

namespace tap::gateway {

using protocol::LogLevel;

namespace {

ToolSnapshot toSnapshot(const std::vector<protocol::ProviderDigest>& have) {
  ToolSnapshot snapshot;
  for (const protocol::ProviderDigest& one : have) snapshot[one.provider] = one.digest;
  return snapshot;
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

// A link that registers again no longer serves its former session.
void releaseLink(const Turn& turn, PeerId peer) {
  turn.state.endedLinks.erase(peer);
  Session* former = turn.state.sessions.byPeer(peer);
  if (former == nullptr) return;
  cancelCallsOfSession(turn, *former, "the session's process has registered again");
  sessionProcessGone(turn, *former);
}

// Another gateway has served the session before: its providers are not announced again.
void keepKnownProviders(const Turn& turn, Session& session, const ToolSnapshot& have) {
  for (const auto& [name, digest] : have) expectReturn(turn, session, name);
}

void welcome(const Turn& turn, Session& session, bool isNew, bool joined) {
  const Config& config = turn.state.config;
  sendToSession(turn, session,
                protocol::Welcome{protocol::kLinkVersion, config.version, config.pid, config.port,
                                  !isNew || joined});
  sendToSession(turn, session, firstTools(turn, session, joined));
  session.welcomed = true;
  if (!turn.state.providers.groupsOn(session.id).empty()) sendGroups(turn, session);
  introduceSubscriptions(turn, session);
  introduceHooks(turn, session, isNew, joined);
  while (!session.outbox.empty()) {
    protocol::SessionEvent event = std::move(session.outbox.front());
    session.outbox.pop_front();
    sendToSession(turn, session, std::move(event));
  }
}

}  // namespace

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
    session->trace = {turn.state.ids.spanId(), turn.state.ids.spanId(), turn.state.ids.spanId(), 1};
    session->openedUnixMillis = turn.now.unixMillis;
    keepKnownProviders(turn, *session, have);
    bindOwnProviders(turn, *session);
  }
  takeOver(turn, *session);
  turn.cancel(session->lingerTimer);
  state.sessions.attach(*session, peer);
  state.sessions.touch(*session);
  session->label = visible(message.label, false, 256);
  session->cwd = message.cwd;
  session->cliPid = message.cliPid;
  session->path = message.path;
  session->runtime = message.runtime;
  session->sync.sessionRegistered(std::move(have), message.mode, turn.now.steady);
  session->activity = protocol::Activity::Idle;  // until the session reports another one
  addGroups(turn, *session, message.groups);
  turn.log(LogLevel::Info, "session " + session->id + " registered: " + session->label);
  if (isRecording(turn)) recordSession(turn, *session, isNew ? "opened" : "linked", "");
  watchGrace(turn);
  if (isNew) {
    endReplacedSessions(turn, *session);
    turn.effect(NotifyHost{HostAction::SessionOpened, session->id, session->cwd, ""});
    turn.effect(WelcomeSession{session->id, peer, message.joined});
    return;
  }
  welcome(turn, *session, false, message.joined);
  rescheduleSync(turn, *session);
  announceSessions(turn);
}

void welcomeNew(const Turn& turn, const std::string& sessionId, PeerId peer, bool joined) {
  Session* session = turn.state.sessions.find(sessionId);
  if (session == nullptr || session->peer != peer) return;
  welcome(turn, *session, true, joined);
  rescheduleSync(turn, *session);
  noticeSession(turn, *session, joined);
  announceSessions(turn);
}

}  // namespace tap::gateway
