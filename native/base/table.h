// Tables with a row for each value of an enumeration.
#pragma once

#include <array>
#include <cstddef>

namespace tap {

// Whether the `id` of each row is the row's index. Assert this next to the table: then a missing or
// misplaced row does not compile.
template <class Row, size_t kRows>
[[nodiscard]] consteval bool idsAreIndices(const std::array<Row, kRows>& table) {
  for (size_t i = 0; i < kRows; ++i) {
    if (static_cast<size_t>(table[i].id) != i) return false;
  }
  return true;
}

}  // namespace tap
