// Identifies a connection before it may send `hello`: by a token, or by a code that the user types
// (docs/decisions.md D-2).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/core/turn.h"

namespace tap::gateway {

// Before a valid auth nothing else is explained to a stranger (docs/decisions.md D-10).
[[nodiscard]] protocol::Refusal notAuthenticated(std::string message, std::string replyTo);
// The provider has shown who it is; `token` is one just issued to it.
void admit(const Turn& turn, Provider& provider, const Credentials& credentials,
           std::string_view token);

// Shows a code to the user, or returns a refusal.
[[nodiscard]] std::optional<protocol::Refusal> startPairing(const Turn& turn, Provider& provider,
                                                            const protocol::Auth& auth);
[[nodiscard]] std::optional<protocol::Refusal> confirmPairing(const Turn& turn, Provider& provider,
                                                              const protocol::AuthConfirm& confirm);
// Shows the session's user the codes that wait to be typed, and the paired providers.
void showPairings(const Turn& turn, Session& session);

}  // namespace tap::gateway
