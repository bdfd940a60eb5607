// How a provider is turned down: an error for one message, or the end of its connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/core/turn.h"
#include "gateway/registry/identity.h"

namespace tap::gateway {

// Sends the error; a fatal one costs the connection, and the reference is dead afterwards.
void refuse(const Turn& turn, Provider& provider, const protocol::Refusal& refusal,
            Departure departure = Departure::Lost);
// Forgets the provider and closes its connection. The reference is dead afterwards.
void dropProvider(const Turn& turn, Provider& provider, uint16_t code, std::string reason,
                  Departure departure);
// The token is no longer valid: closes the connections that use it. `departure`: Goodbye if the
// user has revoked it.
void endToken(const Turn& turn, std::string_view token, std::string_view why, Departure departure);

}  // namespace tap::gateway
