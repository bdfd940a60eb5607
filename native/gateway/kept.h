// What the gateway keeps of providers beyond a message: events in streams, injects that wait, and
// what they have declared, of those that may come back, too. It is bounded for each party
// (gateway/party.h) and for all together. Who needs room gives up its own oldest events for it, and
// never those of another party.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/turn.h"

namespace tap::gateway {

struct Kept {
  size_t ofParty = 0;
  size_t inAll = 0;
};
[[nodiscard]] Kept kept(State& state, std::string_view party);

// About what a declaration takes: in a binding, and what more it takes where it is remembered.
inline constexpr size_t kKnownBytes = sizeof(KnownProvider);
[[nodiscard]] size_t weigh(const Binding& binding);
[[nodiscard]] size_t weigh(const protocol::HooksChange& change);
[[nodiscard]] size_t weigh(const std::vector<protocol::ToolDefinition>& tools);

// Makes room for so many bytes more, or says why there is none, with the type of the message.
[[nodiscard]] std::optional<protocol::Refusal> makeRoom(const Turn& turn, std::string_view party,
                                                        size_t bytes, std::string_view type,
                                                        const std::string& requestId);

}  // namespace tap::gateway
