// Reads the fields that define which files and hosts programs may use: of a plan, a node, an agent.
#pragma once

#include "plan/fields.h"
#include "plan/spec.h"

namespace tap::plan {

inline constexpr size_t kMaxHosts = 1'000;

// A list of at most `most` hosts.
void checkHosts(const Fields& fields, size_t field, size_t most, Problems& problems);

// A folder below the root, such as "packages/web", or empty.
[[nodiscard]] std::string readInnerFolder(const Fields& fields, size_t field);

// Reads kSandboxFields; their fields begin at `first`.
[[nodiscard]] SandboxSpec readSandbox(const Fields& fields, size_t first, Problems& problems);

}  // namespace tap::plan
