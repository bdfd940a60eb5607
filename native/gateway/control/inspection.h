// Everything that people want to know of a gateway, as one JSON object (docs/session-link.md,
// "inspection").
#pragma once

#include <string>

#include "gateway/core/turn.h"

namespace tap::gateway {

[[nodiscard]] std::string describeEverything(const Turn& turn);

}  // namespace tap::gateway
