// Which names a provider's tools may have in a session.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocol/provider/provider_messages.h"

namespace tap::gateway {

struct Turn;
struct Session;
struct Provider;

// A name that another part of this session already uses (docs/decisions.md D-12); in words.
[[nodiscard]] std::optional<std::string> toolConflict(
    const Turn& turn, const Session& session, const Provider& provider,
    const std::vector<protocol::ToolDefinition>& tools);

}  // namespace tap::gateway
