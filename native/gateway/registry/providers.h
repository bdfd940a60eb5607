// The provider registry: the connected providers, their trust and state, and what each has bound to
// which session.
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
#include "base/text_map.h"
#include "base/timer_queue.h"
#include "gateway/core/effects.h"
#include "gateway/registry/allowance.h"
#include "gateway/registry/retained_data_sums.h"
#include "gateway/sync/tool_sync.h"
#include "protocol/provider/provider_messages.h"

namespace tap::gateway {

// A change of hooks that is answered when the session has them in force.
struct PendingHooks {
  std::string_view type;  // of the message, as in the table
  std::string requestId;  // empty: only a refusal is told
  int64_t hooks = 0;      // revision of the session's hooks
};

// What one provider has in one session.
struct Binding {
  std::string sessionId;
  uint64_t order = 0;    // of registration: decides whose text comes first
  int64_t revision = 0;  // of everything below; never falls
  std::vector<protocol::ToolDefinition> tools;
  std::vector<protocol::HookRule> rules;
  protocol::Transforms transforms;
  std::string context;                     // for every prompt
  std::string startupContext;              // for the first one; then empty
  std::vector<PendingHooks> pendingHooks;  // one for each message type
};

struct Provider;
struct BoundProvider {
  Provider* provider;
  Binding* binding;
};

// The identity that a connection has proved (docs/decisions.md D-1).
struct Credentials {
  protocol::Trust trust = protocol::Trust::None;
  std::string onlySession;  // empty: any
  std::string token;        // by which it is known: paired and spawn tokens; else empty

  bool operator==(const Credentials&) const = default;
};

struct Provider {
  Provider(PeerId peerId, const Limits& limits)
      : peer(peerId),
        allowance(limits.get(Limit::MessageBurst), limits.get(Limit::MessagesPerSecond)) {}

  // --- The connection
  PeerId peer;
  protocol::ProviderState state = protocol::ProviderState::AwaitAuth;
  bool upgraded = false;  // the handshake is done
  bool paused = false;
  bool hangReported = false;  // its sessions know that it does not answer
  Credentials credentials;
  bool trusted = false;  // a feature of tap's own: what it puts before the model is recorded first
  Time since{};          // when it was accepted
  std::optional<std::string> origin;  // a web page's, from its handshake
  TimerId deadline = TimerId::None;   // handshake, auth, pairing
  Allowance allowance;
  std::optional<Time> throttledSince;  // start of a flood that has not stopped since
  Time lastThrottled{};
  std::optional<Time> pingedAt;  // nothing has come since this ping (provider_watch.h)
  size_t cancelsToAnswer = 0;    // tool.cancel messages whose reply is due
  std::vector<Time> hellos;      // of the last minute

  // --- The identity, from hello on
  std::string name;
  std::string instance;  // empty: it has none
  std::string party;     // gateway/registry/party.h
  std::string providerId;
  std::string reconnectToken;
  std::string metadata;  // JSON text of an object, or empty
  bool all = false;      // bound to every session that it says it is ready for
  uint8_t subscribe = 0;
  protocol::Concurrency concurrency;
  uint64_t lastActive = 0;                               // larger is later
  std::map<std::string, Binding, std::less<>> bindings;  // by session
  // Filters for all its sessions, by stream.
  std::map<std::string, std::vector<protocol::FilterRule>, std::less<>> filters;
  Binding declared;  // what it said for all of them: a session that it gets ready for starts here
  RetainedDataShare retainedShare;  // of what it has declared

  // Something has come from it.
  void noteReceived() {
    pingedAt.reset();
    hangReported = false;
  }
  // Runs in the gateway's own process.
  [[nodiscard]] bool isInProcess() const { return credentials.trust == protocol::Trust::InProcess; }
  // A part of tap, wherever it runs: no session lists or announces it.
  [[nodiscard]] bool isOwn() const { return credentials.trust >= protocol::Trust::Feature; }
  [[nodiscard]] bool isWebPage() const { return origin.has_value(); }
  [[nodiscard]] Binding* in(std::string_view sessionId);
  // The session of a provider that is bound to just one; null otherwise.
  [[nodiscard]] Binding* onlyBinding();
};

class Providers {
 public:
  [[nodiscard]] Provider* find(PeerId peer);
  Provider& add(PeerId peer, const Limits& limits);
  void erase(PeerId peer);  // unbinds first
  // Those with a WebSocket connection.
  [[nodiscard]] size_t connections() const;
  [[nodiscard]] std::vector<Provider*> all();

  // --- Identity: (session, name, instance)
  [[nodiscard]] Provider* byIdentity(std::string_view sessionId, std::string_view name,
                                     std::string_view instance);
  [[nodiscard]] Provider* byReconnectToken(std::string_view token);
  // All instances of a name in a session, the most recently active first.
  [[nodiscard]] std::vector<Provider*> instances(std::string_view sessionId, std::string_view name);
  void touch(Provider& provider) { provider.lastActive = ++clock_; }

  // --- Bindings
  void bind(Provider& provider, Binding binding);
  void unbind(Provider& provider, std::string_view sessionId);
  // Replaces the tools of one binding; the caller has checked them.
  void setTools(Provider& provider, Binding& binding, std::vector<protocol::ToolDefinition> tools);
  // --- Groups of tools: a session has the tools of a group only while that is on. The others are
  // known here, so that nobody else takes their names.
  // Turns these on. Returns: the names whose tools have changed thereby.
  [[nodiscard]] std::set<std::string> addGroups(std::string_view sessionId,
                                                const std::set<std::string>& groups);
  [[nodiscard]] const std::set<std::string, std::less<>>& groupsOn(
      std::string_view sessionId) const;
  // The session is over.
  void forgetGroups(std::string_view sessionId);
  // The session's tools of that group, on or not: each once, by name.
  [[nodiscard]] std::map<std::string_view, const protocol::ToolDefinition*> toolsOfGroup(
      std::string_view sessionId, std::string_view group);

  // The session's CLI does not take this tool.
  void refuse(std::string_view sessionId, const std::string& tool);

  // --- What a session sees. A name's tools are one group, however many instances there are.
  struct ToolServer {
    Provider* provider;
    const protocol::ToolDefinition* tool;
  };
  // A tool of the session. Holds until the registry changes.
  struct Tool {
    std::string_view owner;          // the name that has it
    bool targeted = false;           // that name has instances: its tools take a target
    std::vector<ToolServer> served;  // who declares it, in the order in which they were bound
  };
  // Null if nobody has it.
  [[nodiscard]] const Tool* tool(std::string_view sessionId, std::string_view name) const;
  // Whose tool it is; empty if nobody's. Holds as long.
  [[nodiscard]] std::string_view toolOwner(std::string_view sessionId, std::string_view tool) const;
  // The session's tools of that name, however it is written. Holds as long.
  [[nodiscard]] std::vector<std::string_view> spellings(std::string_view sessionId,
                                                        std::string_view tool) const;
  // Whether the session's CLI has refused this tool of that name.
  [[nodiscard]] bool isRefused(std::string_view sessionId, std::string_view name,
                               std::string_view tool);
  // Whether that name has instances: its tools then take a target.
  [[nodiscard]] bool isTargeted(std::string_view sessionId, std::string_view name);
  // Of that name, whoever declares the tool, the most recently active first.
  [[nodiscard]] std::vector<ToolServer> serving(std::string_view sessionId, std::string_view name,
                                                std::string_view tool) const;
  // The most recently active of those who declare it, or the instance `target` if one is named.
  [[nodiscard]] static std::optional<ToolServer> server(const Tool& tool, std::string_view target);
  [[nodiscard]] std::vector<Provider*> inSession(std::string_view sessionId);  // by name, instance
  // In the order in which they were bound.
  [[nodiscard]] std::vector<BoundProvider> inOrder(std::string_view sessionId);
  // Whether any is bound that the session's end waits for.
  [[nodiscard]] bool anyToWaitFor(std::string_view sessionId);
  [[nodiscard]] const std::vector<std::string>& definitions(std::string_view sessionId,
                                                            std::string_view name);
  // Of what the session sees of that name; nothing where that is nothing.
  [[nodiscard]] std::optional<std::string> digest(std::string_view sessionId,
                                                  std::string_view name);
  [[nodiscard]] ToolSnapshot snapshot(std::string_view sessionId);
  [[nodiscard]] size_t toolCount(std::string_view sessionId);

 private:
  // All instances of one name in one session.
  struct Group {
    std::vector<PeerId> peers;  // in the order in which they were bound
    std::set<std::string, std::less<>> refused;
    bool targeted = false;
    std::vector<std::string> definitions;     // JSON text, as the session shall have them
    std::vector<std::string_view> toolNames;  // of these and hidden ones: keys of Bound::tools
    size_t hidden = 0;                        // tools of groups that are not on
    std::string digest;
  };
  struct Bound {
    std::map<std::string, Group, std::less<>> groups;
    TextMap<Tool> tools;
    TextMap<std::vector<std::string_view>> spellings;  // keys of tools, by their small letters
    size_t hidden = 0;                                 // of all groups
  };
  struct ObtainedTool {
    std::string_view name;
    Tool* tool = nullptr;  // null where another owner has a tool of that name, however written
    bool isNew = false;
  };
  [[nodiscard]] static ObtainedTool obtain(Bound& bound, const std::string& name, Tool tool);
  // Recomputes what the session sees of that name.
  void regroup(std::string_view sessionId, std::string_view name);
  [[nodiscard]] Group* group(std::string_view sessionId, std::string_view name);

  std::unordered_map<PeerId, Provider> providers_;
  std::map<std::string, Bound, std::less<>> bound_;
  // The groups of tools that are on, by session.
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> groupsOn_;
  uint64_t clock_ = 0;
  uint64_t order_ = 0;
};

}  // namespace tap::gateway
