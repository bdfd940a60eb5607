// A provider's binding to a session: hello, tools.update, pushes, and the ways it ends.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/turn.h"

namespace tap::gateway {

// Binds the provider, or says why not; nothing has changed then.
[[nodiscard]] std::optional<protocol::Refusal> bindProvider(const Turn& turn, Provider& provider,
                                                            protocol::Hello hello);
[[nodiscard]] std::optional<protocol::Refusal> updateTools(const Turn& turn, Provider& provider,
                                                           protocol::ToolsUpdate update);
[[nodiscard]] std::optional<protocol::Refusal> acceptPush(const Turn& turn, Provider& provider,
                                                          const protocol::Push& push);

// Why a provider's connection is over: a goodbye is told at once, a loss only when it lasts.
enum class Departure : uint8_t { Goodbye, Lost };
// Its calls fail, its tools leave, its place is free. It stays known for the reconnect window.
void unbindProvider(const Turn& turn, Provider& provider, Departure departure,
                    std::string_view detail);
// The reconnect window of a lost provider has passed.
void forgetDeparted(const Turn& turn, Session& session, const std::string& name);

// Tools that the session's CLI does not take: they leave the session, the provider is told why.
void refuseTools(const Turn& turn, Session& session, const std::vector<std::string>& names,
                 std::string_view reason);

}  // namespace tap::gateway
