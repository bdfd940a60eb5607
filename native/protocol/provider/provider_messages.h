// The messages of a provider: a struct and a row each (docs/protocol.md, "Messages from provider to
// gateway").
//
// To add a message: a struct, a place in ProviderMessage, a type in ProviderMessageType, a row in
// kProviderMessageTable, a decoder in provider_bodies.cc, and an overload in
// gateway/core/provider_inputs.cc. The build fails if any of these is missing or out of order.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "base/pattern.h"
#include "base/slice.h"
#include "base/table.h"
#include "base/time.h"
#include "protocol/errors.h"
#include "protocol/filter.h"
#include "protocol/hook_rules.h"
#include "protocol/trace_context.h"

namespace tap::protocol {

inline constexpr int64_t kProtocolVersion = 2;

// The party of a connection (docs/decisions.md D-1), in ascending order of trust. Feature: a part
// of tap in a different process, over the local link.
enum class Trust : uint8_t { None, External, Project, Feature, InProcess };

// A declared tool, checked against the rules of the CLI (docs/decisions.md D-12).
struct ToolDefinition {
  std::string name;
  std::optional<Millis> timeout;
  std::string json;  // {"name":…,"description":…,"parameters":…[,"timeout":…]}, ready to send
  // The session has the tool only while this group is on; empty: always. For tap's own features.
  std::string group = {};
};

// Session events that hello.subscribe can name; a set of bits.
enum class SubscribedEvent : uint8_t {
  UserMessage = 1,
  AssistantMessage = 2,
  ToolExecutionComplete = 4,
  AssistantIntent = 8,
};

// How many calls of a provider may run at once, and which calls count together: those of the
// connection, of all connections of its name, or of each tool.
struct Concurrency {
  enum class Scope : uint8_t { Instance, Provider, Tool };
  size_t max = 0;  // 0: no limit
  Scope scope = Scope::Instance;
};

struct Auth {
  bool pair = false;  // mode "pair": no token yet
  std::string token;
  std::string name;                    // with pair: shown to the user
  std::optional<std::string> session;  // with pair: whose timeline shows the code
};
struct AuthConfirm {
  std::string code;
};
struct Hello {
  std::string name;
  int64_t protocolVersion = 0;
  std::optional<std::string> session;
  std::string instance;  // or empty
  std::string reconnectToken;
  std::string metadata;  // JSON text of an object, or empty
  std::vector<ToolDefinition> tools;
  bool declaresTools = false;  // whether the field is present, even if empty
  uint8_t subscribe = 0;       // SubscribedEvent bits
  HooksChange hooks;
  bool declaresHooks = false;  // as with tools
  std::optional<std::string> context;
  std::string startupContext;
  Concurrency concurrency;
};
// A result in a file of the provider.
struct FileReference {
  std::string path;
  std::string mimeType;
  uint64_t size = 0;
  Millis ttl{};  // the result may be reused for this time
};
struct ToolResult {
  Slice id;  // of the call
  // Success: the JSON text of `data` (empty: absent). Failure: code and text.
  Slice data;
  std::optional<FileReference> file;  // instead of data
  bool failed = false;
  bool retryable = false;
  ErrorCode errorCode = ErrorCode::Internal;
  std::string error;
  TraceField trace;  // the span that led to it
};
struct ToolProgress {
  std::string id;
  std::string message;
};
enum class PushLevel : uint8_t { Keep, Surface, Inject };
// Whose change an inject of a watcher is about.
enum class Cause : uint8_t { None, User, Model };
struct Push {
  PushLevel level = PushLevel::Keep;
  std::string event;   // may be empty where there is a prompt
  std::string prompt;  // sent instead of the fenced event, on inject
  std::string stream;  // empty: the provider's name
  std::optional<std::string> sessionId;
  bool broadcast = false;
  Slice metadata;  // JSON text of an object, or empty
  std::string requestId;
  std::string key;   // replaces the waiting inject of this party with the same key, if any
  TraceField trace;  // the span that led to it
  // Of tap's own features:
  std::string display;     // the line that the user sees in place of the text
  bool immediate = false;  // into the turn that runs, if any
  Cause cause = Cause::None;
};
// Removes an inject that waits.
struct Withdraw {
  std::string key;
  std::optional<std::string> sessionId;
  std::string requestId;
};
struct ToolsUpdate {
  std::vector<ToolDefinition> tools;
  std::vector<std::string> remove;
  bool delta = false;    // with `remove`: tools are added or replaced, the others stay
  bool inForce = false;  // the ack follows once the session has them
  std::optional<std::string> sessionId;
  std::string requestId;
};
struct HooksUpdate {
  HooksChange change;
  std::optional<std::string> sessionId;
  std::string requestId;
};
struct ContextUpdate {
  std::string context;  // empty: removes the context
  std::optional<std::string> sessionId;
  std::string requestId;
};
enum class GateDecision : uint8_t { Allow, Deny, Context };
struct GateResult {
  std::string gateId;  // may be empty
  std::string callId;
  GateDecision decision = GateDecision::Deny;
  std::string reason;
};
struct TransformResult {
  std::string callId;
  std::string content;
};
struct FilterRule {
  std::shared_ptr<const Pattern> match;
  FilterOutcome outcome = FilterOutcome::Keep;
};
struct FilterSet {
  std::string stream;
  std::vector<FilterRule> rules;
  std::optional<std::string> sessionId;
  std::string requestId;
};
struct StreamQuery {
  std::string queryId;
  std::vector<std::string> streams;  // "stream" or "stream@provider"
  int64_t last = 0;                  // 0: as many as allowed
  std::optional<std::string> sessionId;
};
struct SessionReady {
  std::string sessionId;
};
struct ShutdownReady {
  std::string sessionId;
};
struct Goodbye {
  std::string reason;
};

using ProviderMessage =
    std::variant<Auth, AuthConfirm, Hello, ToolResult, ToolProgress, Push, Withdraw, ToolsUpdate,
                 HooksUpdate, ContextUpdate, GateResult, TransformResult, FilterSet, StreamQuery,
                 SessionReady, ShutdownReady, Goodbye>;

// The type of a message is its index in ProviderMessage.
template <class Message, class... All>
[[nodiscard]] consteval size_t indexAmong(const std::variant<All...>* /*messages*/) {
  size_t index = 0;
  (void)((std::is_same_v<Message, All> || (++index, false)) || ...);
  return index;
}
template <class Message>
inline constexpr auto kMessageIndex =
    static_cast<uint8_t>(indexAmong<Message>(static_cast<const ProviderMessage*>(nullptr)));

enum class ProviderMessageType : uint8_t {
  Auth = kMessageIndex<Auth>,
  AuthConfirm = kMessageIndex<AuthConfirm>,
  Hello = kMessageIndex<Hello>,
  ToolResult = kMessageIndex<ToolResult>,
  ToolProgress = kMessageIndex<ToolProgress>,
  Push = kMessageIndex<Push>,
  Withdraw = kMessageIndex<Withdraw>,
  ToolsUpdate = kMessageIndex<ToolsUpdate>,
  HooksUpdate = kMessageIndex<HooksUpdate>,
  ContextUpdate = kMessageIndex<ContextUpdate>,
  GateResult = kMessageIndex<GateResult>,
  TransformResult = kMessageIndex<TransformResult>,
  FilterSet = kMessageIndex<FilterSet>,
  StreamQuery = kMessageIndex<StreamQuery>,
  SessionReady = kMessageIndex<SessionReady>,
  ShutdownReady = kMessageIndex<ShutdownReady>,
  Goodbye = kMessageIndex<Goodbye>,
};

// The state of a provider's connection (docs/protocol.md, "States").
enum class ProviderState : uint8_t { AwaitAuth, AwaitPairing, AwaitHello, Bound, Unbound };

constexpr uint8_t in(ProviderState state) {
  return static_cast<uint8_t>(1U << static_cast<unsigned>(state));
}

struct ProviderMessageRow {
  ProviderMessageType id;
  std::string_view type;
  uint8_t legalStates;  // set of ProviderState
  Trust minTrust;       // required to send it at all (docs/decisions.md D-1)
  Limit maxBytes;       // of the whole message
};

inline constexpr std::array<ProviderMessageRow, std::variant_size_v<ProviderMessage>>
    kProviderMessageTable{{
        {ProviderMessageType::Auth, "auth", in(ProviderState::AwaitAuth), Trust::None,
         Limit::AuthBytes},
        {ProviderMessageType::AuthConfirm, "auth.confirm", in(ProviderState::AwaitPairing),
         Trust::None, Limit::MessageBytes},
        {ProviderMessageType::Hello, "hello",
         in(ProviderState::AwaitHello) | in(ProviderState::Bound) | in(ProviderState::Unbound),
         Trust::External, Limit::MessageBytes},
        // Unbound too: the reply to a tool.cancel may cross the end of the session.
        {ProviderMessageType::ToolResult, "tool.result",
         in(ProviderState::Bound) | in(ProviderState::Unbound), Trust::External,
         Limit::ResultBytes},
        {ProviderMessageType::ToolProgress, "tool.progress",
         in(ProviderState::Bound) | in(ProviderState::Unbound), Trust::External,
         Limit::MessageBytes},
        {ProviderMessageType::Push, "push", in(ProviderState::Bound), Trust::External,
         Limit::MessageBytes},
        {ProviderMessageType::Withdraw, "withdraw", in(ProviderState::Bound), Trust::External,
         Limit::MessageBytes},
        {ProviderMessageType::ToolsUpdate, "tools.update", in(ProviderState::Bound),
         Trust::External, Limit::MessageBytes},
        {ProviderMessageType::HooksUpdate, "hooks.update", in(ProviderState::Bound),
         Trust::External, Limit::MessageBytes},
        {ProviderMessageType::ContextUpdate, "context.update", in(ProviderState::Bound),
         Trust::Project, Limit::MessageBytes},
        // Unbound too: an answer may cross the end of the session.
        {ProviderMessageType::GateResult, "gate.result",
         in(ProviderState::Bound) | in(ProviderState::Unbound), Trust::Project,
         Limit::MessageBytes},
        {ProviderMessageType::TransformResult, "transform.result",
         in(ProviderState::Bound) | in(ProviderState::Unbound), Trust::Project,
         Limit::MessageBytes},
        {ProviderMessageType::FilterSet, "filter.set", in(ProviderState::Bound), Trust::External,
         Limit::MessageBytes},
        {ProviderMessageType::StreamQuery, "stream.query", in(ProviderState::Bound),
         Trust::External, Limit::MessageBytes},
        {ProviderMessageType::SessionReady, "session.ready", in(ProviderState::Bound),
         Trust::Project, Limit::MessageBytes},
        {ProviderMessageType::ShutdownReady, "shutdown.ready",
         in(ProviderState::Bound) | in(ProviderState::Unbound), Trust::External,
         Limit::MessageBytes},
        {ProviderMessageType::Goodbye, "goodbye",
         in(ProviderState::AwaitHello) | in(ProviderState::Bound) | in(ProviderState::Unbound),
         Trust::None, Limit::MessageBytes},
    }};
static_assert(idsAreIndices(kProviderMessageTable));

[[nodiscard]] constexpr const ProviderMessageRow& row(ProviderMessageType type) {
  return kProviderMessageTable[static_cast<size_t>(type)];
}

}  // namespace tap::protocol
