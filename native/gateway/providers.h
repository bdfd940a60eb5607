// The provider registry: who is connected, in which state, bound to which session with which tools.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/limits.h"
#include "base/timer_queue.h"
#include "gateway/allowance.h"
#include "gateway/effects.h"
#include "gateway/tool_sync.h"
#include "protocol/provider_messages.h"

namespace tap::gateway {

struct Provider {
  Provider(PeerId peerId, const Limits& limits)
      : peer(peerId),
        allowance(limits.get(Limit::MessageBurst), limits.get(Limit::MessagesPerSecond)) {}

  PeerId peer;
  protocol::ProviderState state = protocol::ProviderState::AwaitAuth;
  bool upgraded = false;             // the handshake is done
  bool fromWebPage = false;          // its handshake had an Origin header
  TimerId deadline = TimerId::None;  // handshake, then auth
  Allowance allowance;
  std::optional<Time> throttledSince;  // start of a flood that has not stopped since
  Time lastThrottled{};
  bool paused = false;
  size_t cancelsToAnswer = 0;  // tool.cancel sent, its tool.result still to come

  // From hello on:
  std::string name;
  std::string providerId;
  std::string sessionId;  // empty while not bound
  std::vector<protocol::ToolDefinition> tools;
  std::set<std::string, std::less<>> refused;  // tools that the session's CLI does not take
  std::string digest;                          // of the tools that the session shall have
};

class Providers {
 public:
  [[nodiscard]] Provider* find(PeerId peer);
  Provider& add(PeerId peer, const Limits& limits);
  void erase(PeerId peer);  // unbinds first
  [[nodiscard]] size_t size() const { return providers_.size(); }

  [[nodiscard]] Provider* byName(std::string_view sessionId, std::string_view name);
  // The provider that serves this tool in this session, and its definition.
  struct Served {
    Provider* provider;
    const protocol::ToolDefinition* tool;
  };
  [[nodiscard]] std::optional<Served> byTool(std::string_view sessionId, std::string_view tool);

  void bind(Provider& provider, std::string_view sessionId);
  void unbind(Provider& provider);
  // Replaces the tools; the caller has checked them.
  void setTools(Provider& provider, std::vector<protocol::ToolDefinition> tools);
  void refuse(Provider& provider, const std::string& tool);

  // Bound to this session, sorted by name.
  [[nodiscard]] std::vector<Provider*> inSession(std::string_view sessionId);
  [[nodiscard]] ToolSnapshot snapshot(std::string_view sessionId);
  [[nodiscard]] size_t toolCount(std::string_view sessionId);
  [[nodiscard]] std::vector<Provider*> all();

 private:
  struct Bound {
    std::map<std::string, PeerId, std::less<>> byName;
    std::unordered_map<std::string, PeerId> byTool;
  };
  void index(const Provider& provider);
  void unindex(const Provider& provider);

  std::unordered_map<PeerId, Provider> providers_;
  std::map<std::string, Bound, std::less<>> bound_;
};

}  // namespace tap::gateway
