// tap_status: what the model is told about providers and tools.
#pragma once

#include <string>
#include <string_view>

#include "gateway/core/turn.h"

namespace tap::gateway {

// Served by tap itself (js/host/tap-status.mjs); nobody else may have a tool of that name.
inline constexpr std::string_view kStatusTool = "tap_status";

// A few readable lines about this session's providers.
[[nodiscard]] std::string describeStatus(const Turn& turn, const Session& session);

}  // namespace tap::gateway
