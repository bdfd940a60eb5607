// The checks of a hello: the sessions that it asks for, what its provider may declare, and names
// that other providers have.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/turn.h"

namespace tap::gateway {

// The value of hello.session that means every session.
inline constexpr std::string_view kAll = "all";

// The sessions that hello asks for, or the only one there is (docs/decisions.md D-5).
[[nodiscard]] Result<std::vector<Session*>, protocol::Refusal> chooseSessions(
    const Turn& turn, const Provider& provider, const protocol::Hello& hello);
// Why a provider of its trust may not declare this.
[[nodiscard]] std::optional<protocol::Refusal> unauthorized(const Provider& provider,
                                                            const protocol::Hello& hello);
// Why the provider cannot have this name and instance in the session.
[[nodiscard]] std::optional<protocol::Refusal> identityTaken(const Turn& turn,
                                                             const Session& session,
                                                             const Provider& provider,
                                                             const std::string& name,
                                                             const std::string& instance);
// Why the provider, as hello has named it, cannot have this binding in the session.
[[nodiscard]] std::optional<protocol::Refusal> cannotBind(const Turn& turn, Session& session,
                                                          const Provider& provider,
                                                          const Binding& binding);

}  // namespace tap::gateway
