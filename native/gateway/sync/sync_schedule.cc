#include "gateway/sync/sync_schedule.h"

#include <utility>

#include "gateway/registry/session_output.h"

namespace tap::gateway {

using protocol::LogLevel;

namespace {

constexpr size_t kManyTools = 120;  // some model APIs stop at 128

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

bool isQuiet(const Turn& turn, const Session& session) {
  return session.activity == protocol::Activity::Idle &&
         turn.state.calls.countOfSession(session.id) == 0;
}

// Gives ToolSync the conditions that it waits for.
void refreshSyncInputs(const Turn& turn, Session& session) {
  session.sync.setQuiet(isQuiet(turn, session));
  session.sync.setGated(turn.state.checks.anyOfSession(session.id));
}

}  // namespace

protocol::Tools firstTools(const Turn& turn, Session& session, bool joined) {
  return toEvent(turn, session, session.sync.firstPlan(joined, turn.now.steady));
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
  refreshSyncInputs(turn, session);
  if (const auto due = session.sync.due()) {
    session.syncTimer = turn.state.timers.schedule(*due, SyncDue{session.id});
  }
}

void runSync(const Turn& turn, Session& session) {
  session.syncTimer = TimerId::None;
  if (!session.peer || session.ending) return;
  refreshSyncInputs(turn, session);
  if (auto plan = session.sync.takePlan(turn.now.steady)) {
    sendToSession(turn, session, toEvent(turn, session, std::move(*plan)));
  }
  rescheduleSync(turn, session);
}

}  // namespace tap::gateway
