#include "base/limits.h"

#include <charconv>
#include <cstdint>
#include <utility>

#include "base/encoding.h"

namespace tap {

namespace {

// A number out of range counts as the largest number.
std::optional<int64_t> wholeNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size()) return std::nullopt;
  if (failure == std::errc::result_out_of_range && text.front() != '-') return INT64_MAX;
  if (failure != std::errc{}) return std::nullopt;
  return number;
}

}  // namespace

LimitReading readLimit(const LimitRow& row, std::optional<std::string_view> text) {
  if (!text || text->empty()) return {row.value, ""};
  const std::optional<int64_t> number = wholeNumber(*text);
  const bool tooMuch = number && *number > maxOverride(row);
  if (number && *number >= row.least && !tooMuch) return {*number, ""};
  const std::string why = tooMuch ? "more than " + std::to_string(maxOverride(row))
                                  : "no whole number of at least " + std::to_string(row.least);
  return {row.value, std::string(row.env) + " is " + inQuotes(visible(*text, false, 64)) +
                         ", which is " + why};
}

Limits::Limits() {
  for (size_t i = 0; i < kLimitTable.size(); ++i) values_[i] = kLimitTable[i].value;
}

Limits Limits::withOverrides(const Lookup& lookup, std::vector<std::string>& complaints) {
  Limits limits;
  for (size_t i = 0; i < kLimitTable.size(); ++i) {
    const LimitRow& row = kLimitTable[i];
    LimitReading reading = readLimit(row, lookup(row.env));
    limits.values_[i] = reading.value;
    if (reading.wrong.empty()) continue;
    complaints.push_back(std::move(reading.wrong) + "; using " + std::to_string(row.value) + " " +
                         std::string(row.unit));
  }
  return limits;
}

}  // namespace tap
