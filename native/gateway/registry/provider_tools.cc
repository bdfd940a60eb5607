// What providers offer sessions, by name: whose tools a session has, and what stays when one goes.
#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "gateway/registry/party.h"
#include "gateway/registry/providers.h"
#include "protocol/target.h"
#include "protocol/tool_definition.h"

namespace tap::gateway {

namespace {

std::string toolsDigest(std::string_view name, const std::vector<std::string>& definitions) {
  std::string text(name);
  for (const std::string& definition : definitions) text += "\n" + definition;
  const auto digest = sha1(text);
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

// A tool's definition as the session gets it.
std::string shownDefinition(const Provider& provider, protocol::ToolDefinition tool,
                            bool targeted) {
  if (!toParty(provider).isTrusted()) {
    tool.json = protocol::withAuthor(tool, provider.name);
  }
  return targeted ? protocol::withTarget(tool, provider.name) : std::move(tool.json);
}

}  // namespace

Provider& Providers::add(PeerId peer, const Limits& limits) {
  return providers_.emplace(peer, Provider(peer, limits)).first->second;
}

void Providers::erase(PeerId peer) {
  Provider* provider = find(peer);
  if (provider == nullptr) return;
  while (!provider->bindings.empty()) unbind(*provider, provider->bindings.begin()->first);
  providers_.erase(peer);
}

size_t Providers::connections() const {
  return static_cast<size_t>(std::count_if(providers_.begin(), providers_.end(),
                                           [](const auto& one) { return !one.second.isOwn(); }));
}

std::vector<Provider*> Providers::all() {
  std::vector<Provider*> all;
  for (auto& [peer, provider] : providers_) all.push_back(&provider);
  return all;
}

std::vector<Provider*> Providers::instances(std::string_view sessionId, std::string_view name) {
  std::vector<Provider*> instances;
  if (const Group* named = group(sessionId, name)) {
    for (const PeerId peer : named->peers) instances.push_back(find(peer));
  }
  std::sort(instances.begin(), instances.end(),
            [](const Provider* a, const Provider* b) { return a->lastActive > b->lastActive; });
  return instances;
}

void Providers::bind(Provider& provider, Binding binding) {
  binding.order = ++order_;
  const std::string sessionId = binding.sessionId;
  provider.bindings.insert_or_assign(sessionId, std::move(binding));
  bound_[sessionId].groups[provider.name].peers.push_back(provider.peer);
  touch(provider);
  regroup(sessionId, provider.name);
}

void Providers::unbind(Provider& provider, std::string_view sessionId) {
  const std::string id(sessionId);  // the argument may be the key that goes
  if (provider.bindings.erase(id) == 0) return;
  if (Group* named = group(id, provider.name)) std::erase(named->peers, provider.peer);
  regroup(id, provider.name);
}

void Providers::setTools(Provider& provider, Binding& binding,
                         std::vector<protocol::ToolDefinition> tools) {
  binding.tools = std::move(tools);
  if (Group* named = group(binding.sessionId, provider.name)) named->refused.clear();
  regroup(binding.sessionId, provider.name);
}

void Providers::refuse(std::string_view sessionId, const std::string& tool) {
  const std::string name(toolOwner(sessionId, tool));
  Group* named = group(sessionId, name);
  if (named == nullptr) return;
  named->refused.insert(tool);
  regroup(sessionId, name);
}

Providers::ObtainedTool Providers::obtain(Bound& bound, const std::string& name, Tool tool) {
  std::vector<std::string_view>& spelt = bound.spellings[lowerCase(name)];
  for (const std::string_view other : spelt) {
    if (bound.tools.find(other)->second.owner != tool.owner) return {};
  }
  const auto [at, isNew] = bound.tools.emplace(name, std::move(tool));
  if (isNew) spelt.push_back(at->first);
  return {at->first, &at->second, isNew};
}

void Providers::regroup(std::string_view sessionId, std::string_view name) {
  const auto session = bound_.find(sessionId);
  Group* named = group(sessionId, name);
  if (named == nullptr) return;
  for (const std::string_view tool : named->toolNames) {
    const auto spelt = session->second.spellings.find(lowerCase(tool));
    std::erase(spelt->second, tool);
    if (spelt->second.empty()) session->second.spellings.erase(spelt);
    session->second.tools.erase(session->second.tools.find(tool));
  }
  named->toolNames.clear();
  session->second.hidden -= std::exchange(named->hidden, 0);
  if (named->peers.empty()) {
    session->second.groups.erase(session->second.groups.find(name));
    if (session->second.groups.empty()) bound_.erase(session);
    return;
  }
  named->definitions.clear();
  const auto& on = groupsOn(sessionId);
  named->targeted = std::any_of(named->peers.begin(), named->peers.end(),
                                [&](PeerId peer) { return !find(peer)->instance.empty(); });
  const std::string_view owner = session->second.groups.find(name)->first;
  size_t declared = named->targeted ? 1 : 0;
  for (const PeerId peer : named->peers) declared += find(peer)->in(sessionId)->tools.size();
  named->toolNames.reserve(declared);
  named->definitions.reserve(declared);
  for (const PeerId peer : named->peers) {
    Provider* provider = find(peer);
    for (const protocol::ToolDefinition& tool : provider->in(sessionId)->tools) {
      if (named->refused.contains(tool.name)) continue;
      const ObtainedTool obtained =
          obtain(session->second, tool.name, Tool{owner, named->targeted, {}});
      // While the CLI refused the tool here, a provider of another name may have taken it.
      if (obtained.tool == nullptr) continue;
      obtained.tool->served.push_back({provider, &tool});
      if (!obtained.isNew) continue;  // another instance declares it, too
      named->toolNames.push_back(obtained.name);
      if (!tool.group.empty() && !on.contains(tool.group)) {
        ++named->hidden;
        continue;
      }
      named->definitions.push_back(shownDefinition(*provider, tool, named->targeted));
    }
  }
  const std::string meta = protocol::metaToolName(name);
  if (named->targeted && !named->refused.contains(meta)) {
    const ObtainedTool obtained = obtain(session->second, meta, Tool{owner, true, {}});
    if (obtained.isNew) {
      named->toolNames.push_back(obtained.name);
      named->definitions.push_back(protocol::metaToolJson(name));
    }
  }
  named->digest = toolsDigest(name, named->definitions);
  session->second.hidden += named->hidden;
}

const std::set<std::string, std::less<>>& Providers::groupsOn(std::string_view sessionId) const {
  static const std::set<std::string, std::less<>> kNone;
  const auto at = groupsOn_.find(sessionId);
  return at == groupsOn_.end() ? kNone : at->second;
}

std::set<std::string> Providers::addGroups(std::string_view sessionId,
                                           const std::set<std::string>& groups) {
  std::set<std::string> changed;
  for (const std::string& group : groups) {
    groupsOn_[std::string(sessionId)].insert(group);
    for (const Provider* provider : inSession(sessionId)) {
      const auto& tools = provider->bindings.find(sessionId)->second.tools;
      if (std::any_of(tools.begin(), tools.end(),
                      [&](const protocol::ToolDefinition& tool) { return tool.group == group; })) {
        changed.insert(provider->name);
      }
    }
  }
  for (const std::string& name : changed) regroup(sessionId, name);
  return changed;
}

void Providers::forgetGroups(std::string_view sessionId) {
  const auto at = groupsOn_.find(sessionId);
  if (at != groupsOn_.end()) groupsOn_.erase(at);
}

std::map<std::string_view, const protocol::ToolDefinition*> Providers::toolsOfGroup(
    std::string_view sessionId, std::string_view group) {
  std::map<std::string_view, const protocol::ToolDefinition*> tools;
  for (Provider* provider : inSession(sessionId)) {
    for (const protocol::ToolDefinition& tool : provider->in(sessionId)->tools) {
      if (tool.group != group || isRefused(sessionId, provider->name, tool.name)) continue;
      tools.emplace(tool.name, &tool);
    }
  }
  return tools;
}

std::vector<std::string_view> Providers::spellings(std::string_view sessionId,
                                                   std::string_view tool) const {
  const auto session = bound_.find(sessionId);
  if (session == bound_.end()) return {};
  const auto at = session->second.spellings.find(lowerCase(tool));
  return at == session->second.spellings.end() ? std::vector<std::string_view>() : at->second;
}

std::vector<BoundProvider> Providers::inOrder(std::string_view sessionId) {
  std::vector<BoundProvider> bound;
  for (Provider* provider : inSession(sessionId)) {
    bound.push_back({provider, provider->in(sessionId)});
  }
  std::sort(bound.begin(), bound.end(), [](const BoundProvider& a, const BoundProvider& b) {
    return a.binding->order < b.binding->order;
  });
  return bound;
}

bool Providers::anyToWaitFor(std::string_view sessionId) {
  const std::vector<Provider*> bound = inSession(sessionId);
  return std::any_of(bound.begin(), bound.end(),
                     [](const Provider* provider) { return !provider->isInProcess(); });
}

const std::vector<std::string>& Providers::definitions(std::string_view sessionId,
                                                       std::string_view name) {
  static const std::vector<std::string> kNone;
  const Group* named = group(sessionId, name);
  return named == nullptr ? kNone : named->definitions;
}

std::optional<std::string> Providers::digest(std::string_view sessionId, std::string_view name) {
  const Group* named = group(sessionId, name);
  if (named == nullptr || named->definitions.empty()) return std::nullopt;
  return named->digest;
}

ToolSnapshot Providers::snapshot(std::string_view sessionId) {
  ToolSnapshot snapshot;
  const auto session = bound_.find(sessionId);
  if (session == bound_.end()) return snapshot;
  for (const auto& [name, group] : session->second.groups) {
    if (!group.definitions.empty()) snapshot[name] = group.digest;
  }
  return snapshot;
}

size_t Providers::toolCount(std::string_view sessionId) {
  const auto session = bound_.find(sessionId);
  return session == bound_.end() ? 0 : session->second.tools.size() - session->second.hidden;
}

Provider* Providers::byReconnectToken(std::string_view token) {
  for (auto& [peer, provider] : providers_) {
    if (!provider.reconnectToken.empty() && equalConstantTime(provider.reconnectToken, token)) {
      return &provider;
    }
  }
  return nullptr;
}

}  // namespace tap::gateway
