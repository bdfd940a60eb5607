// Files of providers, by blocking calls: a short one, and one for a thread of its own.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "protocol/errors.h"

namespace tap::uv {

// Makes the folder and those above it, for this user only. One that is there stays as it is.
// Returns 0 or a libuv error.
[[nodiscard]] int makeFolder(const std::string& path);

// A file that lies in the folder once all links are followed, is a regular one, and has exactly
// this size. Refused with the reason, for the one who named it.
[[nodiscard]] Result<std::string, protocol::Refusal> readInside(const std::string& folder,
                                                                const std::string& path,
                                                                uint64_t size);

}  // namespace tap::uv
