// Changes to what a provider has declared. Each takes effect as a whole or
// not at all, counts the binding's revision up, and is acknowledged where a requestId asks for it
// (specification v2, "Update acknowledgments").
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

// The bindings a message is about: that of sessionId, or all. Refused where it names a session that
// the provider is not bound to.
[[nodiscard]] Result<std::vector<Binding*>, protocol::Refusal> bindingsFor(
    Provider& provider, const std::optional<std::string>& sessionId, std::string_view type);

// Counts the revision up and, where a requestId was given, sends the ack.
void acknowledge(const Turn& turn, const Provider& provider, Binding& binding,
                 std::string_view requestId);

}  // namespace tap::gateway
