// Changes to what a provider has declared. Each takes effect as a whole or
// not at all, counts the binding's revision up, and is acknowledged where a requestId asks for it
// (docs/decisions.md D-13).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/turn.h"

namespace tap::gateway {

[[nodiscard]] std::optional<protocol::Refusal> updateTools(const Turn& turn, Provider& provider,
                                                           const protocol::ToolsUpdate& update);

[[nodiscard]] std::optional<protocol::Refusal> updateHooks(const Turn& turn, Provider& provider,
                                                           const protocol::HooksUpdate& update);
[[nodiscard]] std::optional<protocol::Refusal> updateContext(const Turn& turn, Provider& provider,
                                                             const protocol::ContextUpdate& update);

}  // namespace tap::gateway
