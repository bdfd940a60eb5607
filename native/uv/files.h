// Files of providers, by blocking calls: makeFolder() is short, readInside() belongs on its own
// thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "protocol/errors.h"

namespace tap::uv {

// Makes the folder and its parents, for this user only. An existing folder is unchanged. Returns 0
// or a libuv error.
[[nodiscard]] int makeFolder(const std::string& path);

// Reads a regular file of exactly this size that lies in the folder once all links are resolved. A
// refusal has a reason for the provider.
[[nodiscard]] Result<std::string, protocol::Refusal> readInside(const std::string& folder,
                                                                const std::string& path,
                                                                uint64_t size);

}  // namespace tap::uv
