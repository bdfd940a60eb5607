// A provider's binding to sessions: hello and its repetition, readiness for new sessions, and the
// ways in which a binding ends.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/turn.h"
#include "gateway/registry/identity.h"

namespace tap::gateway {

// Binds the provider as hello says, or says why not. A provider that was bound is first unbound
// (specification v2, "Rebinding"), and stays so if the new hello is refused.
[[nodiscard]] std::optional<protocol::Refusal> bindProvider(const Turn& turn, Provider& provider,
                                                            protocol::Hello hello);
// The connection that it takes over with this hello, by its token; null if there is none.
[[nodiscard]] Provider* takenOver(const Turn& turn, const Provider& provider,
                                  const protocol::Hello& hello);
// A provider bound to "all" is ready for a session that came later.
[[nodiscard]] std::optional<protocol::Refusal> sessionReady(const Turn& turn, Provider& provider,
                                                            const std::string& sessionId);
// Providers of this process that are bound to "all" are ready for a new session at once.
void bindInternalProviders(const Turn& turn, const Session& session);
// It has cleaned up after shutdown.pending.
[[nodiscard]] std::optional<protocol::Refusal> shutdownReady(const Turn& turn, Provider& provider,
                                                             const std::string& sessionId);

// Ends one binding: its calls of that session fail, its tools leave.
void unbind(const Turn& turn, Provider& provider, const std::string& sessionId, Departure departure,
            std::string_view detail);
// Ends all of them: the connection is over, or a new hello has come.
void unbindAll(const Turn& turn, Provider& provider, Departure departure, std::string_view detail);

// Tools that the session's CLI does not take: they leave the session, the provider is told why.
void refuseTools(const Turn& turn, Session& session, const std::vector<std::string>& names,
                 std::string_view reason);

}  // namespace tap::gateway
