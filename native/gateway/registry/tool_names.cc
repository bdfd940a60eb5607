#include "gateway/registry/tool_names.h"

#include <algorithm>
#include <array>

#include "base/encoding.h"
#include "base/text_map.h"
#include "gateway/core/turn.h"
#include "protocol/target.h"

namespace tap::gateway {

namespace {

// Served by tap itself; nobody else may have a tool of such a name.
constexpr std::array<std::string_view, 2> kOwnTools{"tap_status", "tap_tools"};

// The one of tap's own tools that this name stands for, however it is written; empty if none.
std::string_view ownTool(std::string_view name) {
  const auto* const at =
      std::ranges::find_if(kOwnTools, [&](auto own) { return equalIgnoringCase(name, own); });
  return at == kOwnTools.end() ? std::string_view() : *at;
}

// "x" is, or "X" differs only in case from "x",: what follows says whose that is.
std::string clash(std::string_view name, std::string_view other) {
  if (name == other) return inQuotes(name) + " is";
  return inQuotes(name) + " differs only in case from " + inQuotes(other) + ",";
}

// The other provider whose instances a tool of this name would list.
const Provider* reservedFor(const Turn& turn, const Session& session, const Provider& provider,
                            const protocol::ToolDefinition& tool) {
  if (!protocol::isList(tool.name)) return nullptr;
  for (const Provider* other : turn.state.providers.inSession(session.id)) {
    if (other->name != provider.name && protocol::isReservedList(other->name, tool.name))
      return other;
  }
  return nullptr;
}

}  // namespace

std::optional<std::string> toolConflict(const Turn& turn, const Session& session,
                                        const Provider& provider,
                                        const std::vector<protocol::ToolDefinition>& tools) {
  Providers& providers = turn.state.providers;
  const bool targeted =
      !provider.instance.empty() || providers.isTargeted(session.id, provider.name);
  for (const protocol::ToolDefinition& tool : tools) {
    if (const auto own = ownTool(tool.name); !own.empty() && !provider.isOwn()) {
      return clash(tool.name, own) + " tap's own tool";
    }
    if (const auto at = session.builtins.find(tool.name); at != session.builtins.end()) {
      return clash(tool.name, *at) + " a tool of the CLI itself";
    }
    for (const std::string_view other : providers.spellings(session.id, tool.name)) {
      const std::string_view owner = providers.toolOwner(session.id, other);
      if (owner == provider.name) continue;
      return clash(tool.name, other) + " a tool of provider " + inQuotes(owner);
    }
    if (const Provider* other = reservedFor(turn, session, provider, tool)) {
      return inQuotes(tool.name) + " is reserved for the instances of " + inQuotes(other->name);
    }
    if (targeted && equalIgnoringCase(tool.name, protocol::metaToolName(provider.name))) {
      return inQuotes(tool.name) + " is the gateway's own list of your instances";
    }
    if (targeted && protocol::declaresTarget(tool)) {
      return inQuotes(tool.name) +
             " has a parameter \"target\", which is the gateway's for "
             "providers with instances";
    }
  }
  if (provider.instance.empty() || providers.isTargeted(session.id, provider.name)) return {};
  // The first instance gives all tools of the name a target.
  for (const Provider* other : providers.instances(session.id, provider.name)) {
    for (const protocol::ToolDefinition& tool : other->bindings.find(session.id)->second.tools) {
      if (!protocol::declaresTarget(tool)) continue;
      return inQuotes(tool.name) + " of another " + inQuotes(provider.name) +
             " has a parameter \"target\", so that there can be no instances of it";
    }
  }
  return std::nullopt;
}

}  // namespace tap::gateway
