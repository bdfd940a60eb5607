#include "gateway/providers.h"

#include <utility>

#include "base/encoding.h"

namespace tap::gateway {

namespace {

std::string digestOf(const Provider& provider) {
  std::string text = provider.name;
  for (const protocol::ToolDefinition& tool : provider.tools) {
    if (provider.refused.contains(tool.name)) continue;
    text += '\n';
    text += tool.json;
  }
  const auto digest = sha1(text);
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace

Provider* Providers::find(PeerId peer) {
  const auto at = providers_.find(peer);
  return at == providers_.end() ? nullptr : &at->second;
}

Provider& Providers::add(PeerId peer, const Limits& limits) {
  return providers_.emplace(peer, Provider(peer, limits)).first->second;
}

void Providers::erase(PeerId peer) {
  if (Provider* provider = find(peer)) unbind(*provider);
  providers_.erase(peer);
}

Provider* Providers::byName(std::string_view sessionId, std::string_view name) {
  const auto session = bound_.find(sessionId);
  if (session == bound_.end()) return nullptr;
  const auto at = session->second.byName.find(name);
  return at == session->second.byName.end() ? nullptr : find(at->second);
}

std::optional<Providers::Served> Providers::byTool(std::string_view sessionId,
                                                   std::string_view tool) {
  const auto session = bound_.find(sessionId);
  if (session == bound_.end()) return std::nullopt;
  const auto at = session->second.byTool.find(std::string(tool));
  if (at == session->second.byTool.end()) return std::nullopt;
  Provider* provider = find(at->second);
  for (const protocol::ToolDefinition& definition : provider->tools) {
    if (definition.name == tool) return Served{provider, &definition};
  }
  return std::nullopt;
}

void Providers::index(const Provider& provider) {
  Bound& bound = bound_[provider.sessionId];
  bound.byName[provider.name] = provider.peer;
  for (const protocol::ToolDefinition& tool : provider.tools) {
    if (!provider.refused.contains(tool.name)) bound.byTool[tool.name] = provider.peer;
  }
}

void Providers::unindex(const Provider& provider) {
  const auto session = bound_.find(provider.sessionId);
  if (session == bound_.end()) return;
  session->second.byName.erase(provider.name);
  for (const protocol::ToolDefinition& tool : provider.tools) {
    const auto at = session->second.byTool.find(tool.name);
    if (at != session->second.byTool.end() && at->second == provider.peer) {
      session->second.byTool.erase(at);
    }
  }
  if (session->second.byName.empty()) bound_.erase(session);
}

void Providers::bind(Provider& provider, std::string_view sessionId) {
  provider.sessionId = sessionId;
  provider.digest = digestOf(provider);
  index(provider);
}

void Providers::unbind(Provider& provider) {
  if (provider.sessionId.empty()) return;
  unindex(provider);
  provider.sessionId.clear();
  provider.tools.clear();
  provider.refused.clear();
}

void Providers::setTools(Provider& provider, std::vector<protocol::ToolDefinition> tools) {
  unindex(provider);
  provider.tools = std::move(tools);
  provider.refused.clear();
  provider.digest = digestOf(provider);
  index(provider);
}

void Providers::refuse(Provider& provider, const std::string& tool) {
  unindex(provider);
  provider.refused.insert(tool);
  provider.digest = digestOf(provider);
  index(provider);
}

std::vector<Provider*> Providers::inSession(std::string_view sessionId) {
  std::vector<Provider*> providers;
  const auto session = bound_.find(sessionId);
  if (session == bound_.end()) return providers;
  for (const auto& [name, peer] : session->second.byName) providers.push_back(find(peer));
  return providers;
}

ToolSnapshot Providers::snapshot(std::string_view sessionId) {
  ToolSnapshot snapshot;
  for (const Provider* provider : inSession(sessionId)) {
    if (provider->tools.size() > provider->refused.size()) {
      snapshot[provider->name] = provider->digest;
    }
  }
  return snapshot;
}

size_t Providers::toolCount(std::string_view sessionId) {
  const auto session = bound_.find(sessionId);
  return session == bound_.end() ? 0 : session->second.byTool.size();
}

std::vector<Provider*> Providers::all() {
  std::vector<Provider*> all;
  for (auto& [peer, provider] : providers_) all.push_back(&provider);
  return all;
}

}  // namespace tap::gateway
