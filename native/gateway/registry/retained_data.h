// The data of providers that the gateway keeps beyond a message: events in streams, waiting
// injects, and declarations, also of providers that may come back. It is bounded for each party
// (gateway/registry/party.h), for all together, and for all paired ones, which leave the rest to
// the user's programs. A party that needs room loses its own oldest events, never those of another
// party. If it is refused, it loses nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/turn.h"

namespace tap::gateway {

// All paired parties have one part in so many of kept-bytes.
inline constexpr size_t kPairedShare = 2;

// About what a declaration takes, and what more it takes where it is remembered.
inline constexpr size_t kKnownBytes = sizeof(KnownProvider);
[[nodiscard]] size_t estimateBytes(const Binding& binding);
// Of its rules, those that are held when its connection is lost: they are kept once more then.
[[nodiscard]] size_t estimateDetachedBytes(const Binding& binding);
[[nodiscard]] size_t estimateBytes(const std::vector<protocol::ToolDefinition>& tools);
// Rules, sections and contexts.
[[nodiscard]] size_t estimateHookBytes(const Binding& binding);
// Of a provider that is connected; of one that a session remembers.
[[nodiscard]] size_t estimateBytes(const Provider& provider);
[[nodiscard]] size_t estimateBytes(const Session& session, const Identity& identity);

// Call this when the weighed data has changed.
void updateRetained(State& state, Provider& provider);
void updateRetained(State& state, Session& session, const Identity& identity);

// Bytes that a message adds, and those that go with what it replaces.
struct SizeChange {
  size_t taken = 0;
  size_t freed = 0;
};
// Makes room for it, or returns a refusal with the type of the message.
[[nodiscard]] std::optional<protocol::Refusal> evict(const Turn& turn, std::string_view party,
                                                     SizeChange room, std::string_view type,
                                                     const std::string& requestId);

}  // namespace tap::gateway
