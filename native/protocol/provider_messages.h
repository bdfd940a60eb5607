// The messages a provider sends: one struct and one row each (Core Profile, "Messages").
//
// To add one: a struct, a place in ProviderMessage, a row in kProviderMessageTable, a decoder in
// provider_codec.cc, and an overload in gateway/provider_inputs.cc; the compiler asks for each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "base/slice.h"
#include "base/time.h"
#include "protocol/errors.h"

namespace tap::protocol {

inline constexpr int64_t kProtocolVersion = 2;

// One declared tool, checked against what the CLI accepts (decisions: names, schemas).
struct ToolDefinition {
  std::string name;
  std::optional<Millis> timeout;
  std::string json;  // {"name":…,"description":…,"parameters":…[,"timeout":…]}, ready to be sent on
};

struct Auth {
  std::string token;
};
struct Hello {
  std::string name;
  int64_t protocolVersion = 0;
  std::optional<std::string> session;
  std::vector<ToolDefinition> tools;
};
struct ToolResult {
  std::string id;
  // Success: the JSON text of `data` (empty: there was none). Failure: code and text.
  Slice data;
  bool failed = false;
  ErrorCode errorCode = ErrorCode::Internal;
  std::string error;
};
enum class PushLevel : uint8_t { Keep, Surface, Inject };
struct Push {
  PushLevel level = PushLevel::Keep;
  std::string event;
  std::string stream;  // empty: the provider's name
  std::optional<std::string> sessionId;
  Slice metadata;  // JSON text of an object; empty: none
};
struct ToolsUpdate {
  std::vector<ToolDefinition> tools;
  std::optional<std::string> sessionId;
};
struct Goodbye {
  std::string reason;
};

using ProviderMessage = std::variant<Auth, Hello, ToolResult, Push, ToolsUpdate, Goodbye>;

// Where a provider's connection stands (Core Profile, "Connection state machine").
enum class ProviderState : uint8_t { AwaitAuth, AwaitHello, Bound, Unbound };

constexpr uint8_t in(ProviderState state) {
  return static_cast<uint8_t>(1U << static_cast<unsigned>(state));
}

struct ProviderMessageRow {
  std::string_view type;
  uint8_t legalIn;  // set of ProviderState
  Limit maxBytes;   // of the whole message
};

// In the order of the variant's alternatives.
inline constexpr std::array<ProviderMessageRow, std::variant_size_v<ProviderMessage>>
    kProviderMessageTable{{
        {"auth", in(ProviderState::AwaitAuth), Limit::MessageBytes},
        {"hello", in(ProviderState::AwaitHello) | in(ProviderState::Unbound), Limit::MessageBytes},
        // Unbound too: the reply to a tool.cancel may cross the end of the session.
        {"tool.result", in(ProviderState::Bound) | in(ProviderState::Unbound), Limit::ResultBytes},
        {"push", in(ProviderState::Bound), Limit::MessageBytes},
        {"tools.update", in(ProviderState::Bound), Limit::MessageBytes},
        {"goodbye",
         in(ProviderState::AwaitHello) | in(ProviderState::Bound) | in(ProviderState::Unbound),
         Limit::MessageBytes},
    }};

// An index into kProviderMessageTable and ProviderMessage.
enum class ProviderMessageType : uint8_t { Auth, Hello, ToolResult, Push, ToolsUpdate, Goodbye };

[[nodiscard]] constexpr const ProviderMessageRow& row(ProviderMessageType type) {
  return kProviderMessageTable[static_cast<size_t>(type)];
}

}  // namespace tap::protocol
