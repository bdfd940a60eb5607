#include "gateway/sync/sync_schedule.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "gateway/records/rows.h"
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

// What the record of this synchronisation will say.
void noteSync(const Turn& turn, Session& session, const protocol::Tools& event) {
  SyncNotes& notes = session.syncNotes;
  notes = {event.revision, event.reload, turn.now.steady, 0, 0, {}, std::move(notes.inForce)};
  for (const protocol::ProviderTools& tools : event.set) {
    std::set<std::string>& names = notes.next[tools.provider];
    for (const std::string& definition : tools.definitions) {
      const auto name = json::find({json::Kind::Object, definition}, "name");
      if (name) names.insert(json::decodeString(*name));
    }
  }
  for (const std::string& provider : event.drop) notes.next[provider] = {};
  for (const auto& [provider, names] : notes.next) {
    const std::set<std::string>& had = notes.inForce[provider];
    const auto in = [](const std::set<std::string>& set) {
      return [&set](const std::string& name) { return set.contains(name); };
    };
    const auto kept = static_cast<size_t>(std::count_if(names.begin(), names.end(), in(had)));
    notes.added += names.size() - kept;
    notes.removed += had.size() - kept;
  }
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
  protocol::Tools event = toEvent(turn, session, session.sync.firstPlan(joined, turn.now.steady));
  if (isRecording(turn)) noteSync(turn, session, event);
  return event;
}

void syncSettled(const Turn& turn, Session& session, int64_t revision, std::string_view failure) {
  SyncNotes& notes = session.syncNotes;
  if (!isRecording(turn) || notes.revision != revision || notes.next.empty()) return;
  recordSync(turn, session, failure);
  if (failure.empty()) {
    for (auto& [provider, names] : notes.next) {
      notes.inForce[provider] = std::move(names);
      if (notes.inForce[provider].empty()) notes.inForce.erase(provider);
    }
  }
  notes.next.clear();
}

void toolsChanged(const Turn& turn, Session& session, const std::set<std::string>& names) {
  ToolChanges changes;
  for (const std::string& name : names) {
    changes[name] = turn.state.providers.digest(session.id, name);
  }
  session.sync.wantedChanged(changes, turn.now.steady);
  toolsInForce(turn, session, 0);  // a change that is undone leaves nothing to wait for
  rescheduleSync(turn, session);
  if (turn.state.providers.toolCount(session.id) >= kManyTools &&
      !std::exchange(session.warnedManyTools, true)) {
    writeTimeline(turn, session, LogLevel::Warning,
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
    protocol::Tools event = toEvent(turn, session, std::move(*plan));
    if (isRecording(turn)) noteSync(turn, session, event);
    sendToSession(turn, session, std::move(event));
  }
  rescheduleSync(turn, session);
}

}  // namespace tap::gateway
