// What the rules of a session's providers say of one use of a tool, before any provider is asked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/registry/providers.h"
#include "protocol/hook_rules.h"
#include "protocol/link/session_messages.h"

namespace tap::gateway {

struct Turn;
struct Session;

// A rule that is about this use, and who declared it.
struct MatchedRule {
  BoundProvider bound;
  const protocol::HookRule* rule;
};

// Why a use is denied, and by which provider.
struct Denial {
  std::string reason;
  std::string by;           // empty: by the gateway
  bool isFeatures = false;  // words of one of tap's own, which are recorded first
};

// The verdict of all rules on this use.
struct Review {
  std::optional<Denial> deny;
  std::vector<MatchedRule> matched;  // contexts and gates, in registration order
};

// What the model reads of a denial. `reason`: empty for none.
[[nodiscard]] std::string denial(const std::string& provider, std::string_view reason);

[[nodiscard]] Review reviewUse(const Turn& turn, const Session& session,
                               const protocol::HookCheck& check);

}  // namespace tap::gateway
