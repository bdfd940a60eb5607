#include "plan/problems.h"

#include <algorithm>
#include <array>

#include "base/json_writer.h"

namespace tap::plan {

std::string Problems::json() const {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().key("problems").beginArray();
  for (const Problem& problem : list_) {
    writer.beginObject().field("path", problem.path).field("message", problem.message).endObject();
  }
  writer.endArray();
  if (more_ > 0) writer.field("more", more_);
  writer.endObject();
  return out;
}

size_t distance(std::string_view a, std::string_view b, size_t most) {
  constexpr size_t kLongest = 64;
  const size_t apart = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (apart > most || a.size() > kLongest || b.size() > kLongest) return most + 1;
  std::array<std::array<size_t, kLongest + 1>, 3> rows{};
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i - 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], rows[(i + 1) % 3][j - 2] + 1);
      }
    }
  }
  return std::min(rows[a.size() % 3][b.size()], most + 1);
}

std::string didYouMean(std::string_view name) {
  return name.empty() ? std::string() : " Did you mean \"" + std::string(name) + "\"?";
}

}  // namespace tap::plan
