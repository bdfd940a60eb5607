// Common to all messages that change a binding: the bindings that they mean, and the ack.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/turn.h"

namespace tap::gateway {

// The bindings that a message means: that of sessionId, or all. Refused where it names a session
// that the provider is not bound to.
[[nodiscard]] Result<std::vector<Binding*>, protocol::Refusal> bindingsFor(
    Provider& provider, const std::optional<std::string>& sessionId, std::string_view type);

// Counts the revision up and, where a requestId was given, sends the ack.
void acknowledge(const Turn& turn, const Provider& provider, Binding& binding,
                 std::string_view requestId);

}  // namespace tap::gateway
