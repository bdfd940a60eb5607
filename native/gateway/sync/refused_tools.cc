#include "gateway/sync/refused_tools.h"

#include <set>

#include "base/encoding.h"
#include "base/names.h"
#include "gateway/registry/lines.h"
#include "gateway/sync/sync_schedule.h"

namespace tap::gateway {

using protocol::ErrorCode;
using protocol::LogLevel;
using protocol::Refusal;

void refuseTools(const Turn& turn, Session& session, const std::vector<std::string>& names,
                 std::string_view reason) {
  Providers& providers = turn.state.providers;
  std::set<std::string> owners;
  for (const std::string& name : names) {
    const std::string owner(providers.toolOwner(session.id, name));
    if (owner.empty()) continue;
    providers.refuse(session.id, name);
    owners.insert(owner);
    const Refusal why{ErrorCode::ToolConflict,
                      "the CLI does not take " + inQuotes(name) + ": " +
                          visible(reason, false, 512) + "; rename it in tools.update",
                      "hello"};
    const std::vector<Provider*> instances = providers.instances(session.id, owner);
    for (const Provider* provider : instances) {
      turn.send(provider->peer, protocol::encodeError(why, provider->providerId, session.id));
    }
    if (instances.empty()) continue;
    (void)writeProviderLine(turn, session, *instances.front(), LogLevel::Warning,
                            "tap: " + inLine(owner) + "'s tool " + inQuotes(name) +
                                " is left out: the CLI does not take it",
                            NoRoom::LeaveOut);
  }
  toolsChanged(turn, session, owners);
}

}  // namespace tap::gateway
