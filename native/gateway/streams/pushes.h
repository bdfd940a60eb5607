// Pushes of providers: into their streams, the timeline, the session (docs/protocol.md, "push").
#pragma once

#include <optional>

#include "gateway/core/turn.h"

namespace tap::gateway {

[[nodiscard]] std::optional<protocol::Refusal> acceptPush(const Turn& turn, Provider& provider,
                                                          const protocol::Push& push);
[[nodiscard]] std::optional<protocol::Refusal> withdrawInject(const Turn& turn, Provider& provider,
                                                              const protocol::Withdraw& withdraw);

[[nodiscard]] std::optional<protocol::Refusal> setFilter(const Turn& turn, Provider& provider,
                                                         const protocol::FilterSet& filter);
// The provider is ready for another session: its filters for all sessions hold there, too.
void copyFiltersToSession(const Turn& turn, const Provider& provider, Session& session);
[[nodiscard]] std::optional<protocol::Refusal> queryStreams(const Turn& turn, Provider& provider,
                                                            const protocol::StreamQuery& query);
// The user has spoken: injects that were paused may go on.
void userHasSpoken(const Turn& turn, Session& session);

}  // namespace tap::gateway
