// Reads the fields of a plan, of a node and of an agent that say what their programs may reach.
#pragma once

#include "plan/fields.h"
#include "plan/spec.h"

namespace tap::plan {

inline constexpr size_t kMaxHosts = 1'000;

// A list of at most `most` hosts.
void checkHosts(const Fields& fields, size_t field, size_t most, Problems& problems);

// A folder below the one where it begins, such as "packages/web"; empty: none is given.
[[nodiscard]] std::string readInnerFolder(const Fields& fields, size_t field);

// Of an object whose fields from `first` on are those of kSandboxFields.
[[nodiscard]] SandboxSpec readSandbox(const Fields& fields, size_t first, Problems& problems);

}  // namespace tap::plan
