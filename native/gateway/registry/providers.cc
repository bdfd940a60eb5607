#include "gateway/registry/providers.h"

#include <algorithm>

namespace tap::gateway {

Binding* Provider::in(std::string_view sessionId) {
  const auto at = bindings.find(sessionId);
  return at == bindings.end() ? nullptr : &at->second;
}

Binding* Provider::onlyBinding() {
  return !all && bindings.size() == 1 ? &bindings.begin()->second : nullptr;
}

Provider* Providers::find(PeerId peer) {
  const auto at = providers_.find(peer);
  return at == providers_.end() ? nullptr : &at->second;
}

Providers::Group* Providers::group(std::string_view sessionId, std::string_view name) {
  const auto session = bound_.find(sessionId);
  if (session == bound_.end()) return nullptr;
  const auto at = session->second.groups.find(name);
  return at == session->second.groups.end() ? nullptr : &at->second;
}

Provider* Providers::byIdentity(std::string_view sessionId, std::string_view name,
                                std::string_view instance) {
  const Group* named = group(sessionId, name);
  if (named == nullptr) return nullptr;
  for (const PeerId peer : named->peers) {
    Provider* provider = find(peer);
    if (provider->instance == instance) return provider;
  }
  return nullptr;
}

const Providers::Tool* Providers::tool(std::string_view sessionId, std::string_view name) const {
  const auto session = bound_.find(sessionId);
  if (session == bound_.end()) return nullptr;
  const auto at = session->second.tools.find(name);
  return at == session->second.tools.end() ? nullptr : &at->second;
}

std::string_view Providers::toolOwner(std::string_view sessionId, std::string_view name) const {
  const Tool* owned = tool(sessionId, name);
  return owned == nullptr ? std::string_view() : owned->owner;
}

bool Providers::isRefused(std::string_view sessionId, std::string_view name,
                          std::string_view tool) {
  const Group* named = group(sessionId, name);
  return named != nullptr && named->refused.contains(tool);
}

bool Providers::isTargeted(std::string_view sessionId, std::string_view name) {
  const Group* named = group(sessionId, name);
  return named != nullptr && named->targeted;
}

std::vector<Providers::ToolServer> Providers::serving(std::string_view sessionId,
                                                      std::string_view name,
                                                      std::string_view toolName) const {
  const Tool* owned = tool(sessionId, toolName);
  if (owned == nullptr || owned->owner != name) return {};
  std::vector<ToolServer> serving = owned->served;
  std::sort(serving.begin(), serving.end(), [](const ToolServer& a, const ToolServer& b) {
    return a.provider->lastActive > b.provider->lastActive;
  });
  return serving;
}

std::optional<Providers::ToolServer> Providers::server(const Tool& tool, std::string_view target) {
  std::optional<ToolServer> best;
  for (const ToolServer& one : tool.served) {
    if (!target.empty() && one.provider->instance != target) continue;
    if (!best || best->provider->lastActive < one.provider->lastActive) best = one;
  }
  return best;
}

std::vector<Provider*> Providers::inSession(std::string_view sessionId) {
  std::vector<Provider*> providers;
  const auto session = bound_.find(sessionId);
  if (session == bound_.end()) return providers;
  for (const auto& [name, group] : session->second.groups) {
    for (const PeerId peer : group.peers) providers.push_back(find(peer));
  }
  return providers;
}

}  // namespace tap::gateway
