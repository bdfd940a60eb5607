// Reads the work of a node: a command line, or an object with a type.
#pragma once

#include "plan/fields.h"
#include "plan/spec.h"

namespace tap::plan {

inline constexpr size_t kMaxWorkBytes = size_t{256} << 10;
inline constexpr size_t kMaxDependencies = 1000;  // of a node

// Empty if the field is absent or wrong.
[[nodiscard]] Work readWork(const Fields& fields, size_t field, Problems& problems);

}  // namespace tap::plan
