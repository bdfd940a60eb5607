// What the bytes of a result's file are for the session.
#pragma once

#include <string>

#include "gateway/core/effects.h"

namespace tap::gateway {

// Text and JSON become text, other types stay bytes. Knows no gateway: the uv layer calls it on a
// thread of its own.
[[nodiscard]] FileOutcome toFileContent(const std::string& bytes, const std::string& mimeType);

}  // namespace tap::gateway
