// The ways in which a provider's binding to a session ends.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/core/turn.h"
#include "gateway/registry/identity.h"

namespace tap::gateway {

// The provider has cleaned up after shutdown.pending.
[[nodiscard]] std::optional<protocol::Refusal> shutdownReady(const Turn& turn, Provider& provider,
                                                             const std::string& sessionId);

// Ends one binding: its calls of that session fail, its tools leave.
void unbind(const Turn& turn, Provider& provider, const std::string& sessionId, Departure departure,
            std::string_view detail);
// Ends all of them: the connection is over, or a new hello has come.
void unbindAll(const Turn& turn, Provider& provider, Departure departure, std::string_view detail);
// Drops what the provider has declared for all sessions.
void declareNothing(Provider& provider);

}  // namespace tap::gateway
