#include "base/limits.h"

#include <charconv>

namespace tap {

namespace {

std::optional<int64_t> wholeNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string complaint(const LimitRow& row, std::string_view text) {
  return std::string(row.env) + " is \"" + std::string(text.substr(0, 64)) +
         "\", which is not a whole number of at least " + std::to_string(row.least) + "; using " +
         std::to_string(row.value) + " " + std::string(row.unit);
}

}  // namespace

Limits::Limits() {
  for (size_t i = 0; i < kLimitTable.size(); ++i) values_[i] = kLimitTable[i].value;
}

Limits Limits::withOverrides(const Lookup& lookup, std::vector<std::string>& complaints) {
  // An upper bound keeps sums of times and sizes far from overflow.
  constexpr int64_t kMost = int64_t{1} << 40;
  Limits limits;
  for (size_t i = 0; i < kLimitTable.size(); ++i) {
    const std::optional<std::string> text = lookup(kLimitTable[i].env);
    if (!text || text->empty()) continue;
    const std::optional<int64_t> number = wholeNumber(*text);
    if (number && *number >= kLimitTable[i].least && *number <= kMost) {
      limits.values_[i] = *number;
    } else {
      complaints.push_back(complaint(kLimitTable[i], *text));
    }
  }
  return limits;
}

}  // namespace tap
