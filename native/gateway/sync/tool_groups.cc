#include "gateway/sync/tool_groups.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gateway/registry/session_output.h"
#include "gateway/sync/sync_schedule.h"
#include "gateway/sync/tools_in_force.h"
#include "protocol/tool_definition.h"

namespace tap::gateway {

namespace {

constexpr size_t kMaxGroups = 64;

}  // namespace

void sendGroups(const Turn& turn, Session& session) {
  const auto& on = turn.state.providers.groupsOn(session.id);
  sendToSession(turn, session, protocol::Groups{{on.begin(), on.end()}});
}

void addGroups(const Turn& turn, Session& session, const std::vector<std::string>& names) {
  Providers& providers = turn.state.providers;
  std::set<std::string> added;
  for (const std::string& name : names) {
    const auto& on = providers.groupsOn(session.id);
    if (on.size() + added.size() >= kMaxGroups) break;
    if (protocol::isToolName(name) && !on.contains(name)) added.insert(name);
  }
  if (added.empty()) return;
  const std::set<std::string> changed = providers.addGroups(session.id, added);
  if (!changed.empty()) toolsChanged(turn, session, changed);
  if (session.welcomed) sendGroups(turn, session);
}

void openGroups(const Turn& turn, Session& session, OpeningNumber number,
                const std::vector<std::string>& names) {
  addGroups(turn, session, names);
  session.sync.hurry(turn.now.steady);
  answerWithTools(turn, session, OpeningDue{number, names});
  runSync(turn, session);
}

}  // namespace tap::gateway
