// A provider's binding to sessions: hello, its repetition, and readiness for new sessions
// (unbinding.h: how a binding ends).
#pragma once

#include <optional>
#include <string>

#include "gateway/core/turn.h"

namespace tap::gateway {

// Binds the provider as hello says, or says why not. A provider that was bound is first unbound
// (docs/protocol.md, "States"), and stays so if the new hello is refused.
[[nodiscard]] std::optional<protocol::Refusal> bindProvider(const Turn& turn, Provider& provider,
                                                            protocol::Hello hello);
// The connection that it takes over with this hello, by its token; null if there is no such
// connection.
[[nodiscard]] Provider* takenOver(const Turn& turn, const Provider& provider,
                                  const protocol::Hello& hello);
// A provider bound to "all" is ready for a session that came later.
[[nodiscard]] std::optional<protocol::Refusal> sessionReady(const Turn& turn, Provider& provider,
                                                            const std::string& sessionId);
// Binds the in-process providers that are bound to "all" to a new session.
void bindOwnProviders(const Turn& turn, const Session& session);

}  // namespace tap::gateway
