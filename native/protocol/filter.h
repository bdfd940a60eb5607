// The outcomes of a filter rule. Each includes the outcomes before it: an injected event is
// surfaced and kept, too.
#pragma once

#include <cstdint>

namespace tap::protocol {

enum class FilterOutcome : uint8_t { Drop, Keep, Surface, Inject };

}  // namespace tap::protocol
