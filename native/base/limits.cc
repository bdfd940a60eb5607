#include "base/limits.h"

#include <charconv>
#include <cstdint>

namespace tap {

namespace {

// What is out of reach counts as the largest there is.
std::optional<int64_t> wholeNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size()) return std::nullopt;
  if (failure == std::errc::result_out_of_range && text.front() != '-') return INT64_MAX;
  if (failure != std::errc{}) return std::nullopt;
  return number;
}

std::string complaint(const LimitRow& row, std::string_view text, bool tooMuch) {
  const std::string wrong = tooMuch ? "more than " + std::to_string(mostOf(row))
                                    : "no whole number of at least " + std::to_string(row.least);
  return std::string(row.env) + " is \"" + std::string(text.substr(0, 64)) + "\", which is " +
         wrong + "; using " + std::to_string(row.value) + " " + std::string(row.unit);
}

}  // namespace

Limits::Limits() {
  for (size_t i = 0; i < kLimitTable.size(); ++i) values_[i] = kLimitTable[i].value;
}

Limits Limits::withOverrides(const Lookup& lookup, std::vector<std::string>& complaints) {
  Limits limits;
  for (size_t i = 0; i < kLimitTable.size(); ++i) {
    const LimitRow& row = kLimitTable[i];
    const std::optional<std::string> text = lookup(row.env);
    if (!text || text->empty()) continue;
    const std::optional<int64_t> number = wholeNumber(*text);
    const bool tooMuch = number && *number > mostOf(row);
    if (number && *number >= row.least && !tooMuch) {
      limits.values_[i] = *number;
    } else {
      complaints.push_back(complaint(row, *text, tooMuch));
    }
  }
  return limits;
}

}  // namespace tap
