#include "gateway/registry/tool_names.h"

#include "base/encoding.h"
#include "base/text_map.h"
#include "gateway/core/turn.h"
#include "protocol/target.h"

namespace tap::gateway {

namespace {

// Served by tap itself (js/host/tap-status.mjs); nobody else may have a tool of that name.
constexpr std::string_view kStatusTool = "tap_status";

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
    if (other->name != provider.name && protocol::isListOf(other->name, tool.name)) return other;
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
    if (equalIgnoringCase(tool.name, kStatusTool) && !provider.isInProcess()) {
      return clash(tool.name, kStatusTool) + " tap's own tool";
    }
    if (const auto at = session.builtins.find(tool.name); at != session.builtins.end()) {
      return clash(tool.name, *at) + " a tool of the CLI itself";
    }
    for (const std::string_view other : providers.spellings(session.id, tool.name)) {
      const std::string_view owner = providers.ownerOf(session.id, other);
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
