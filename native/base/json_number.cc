#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "base/json.h"
#include "base/json_text.h"

#if !defined(__cpp_lib_to_chars)
#include <locale.h>
#include <stdlib.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

namespace tap::json {
namespace {

#if defined(__cpp_lib_to_chars)

// The exponent after 'e'; a huge exponent is clamped to a value that is still huge.
[[nodiscard]] int64_t writtenExponent(std::string_view number) {
  const size_t mark = number.find_first_of("eE");
  if (mark == std::string_view::npos) return 0;
  std::string_view digits = number.substr(mark + 1);
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  constexpr int64_t kAbsurd = int64_t{1} << 60;
  int64_t value = kAbsurd;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (parsed.ec != std::errc() || value > kAbsurd) value = kAbsurd;
  return negative ? -value : value;
}

// Whether a number outside the range of double is too large, not too small: by the position of its
// first digit other than 0, relative to the decimal point.
[[nodiscard]] bool isTooLarge(std::string_view number) {
  const std::string_view mantissa = number.substr(0, number.find_first_of("eE"));
  const size_t first = mantissa.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  const auto magnitude = static_cast<int64_t>(point) - static_cast<int64_t>(first);
  return magnitude + writtenExponent(number) > 0;
}

[[nodiscard]] double parse(std::string_view number) {
  double value = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value);
  if (parsed.ec != std::errc::result_out_of_range) return value;
  const double magnitude = isTooLarge(number) ? std::numeric_limits<double>::infinity() : 0.0;
  return number.starts_with('-') ? -magnitude : magnitude;
}

#else

// For standard libraries without std::from_chars(double): strtod, in a locale whose decimal point
// is a point, whatever locale the process has set.
[[nodiscard]] double parse(std::string_view number) {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  return strtod_l(std::string(number).c_str(), nullptr, plain);
}

#endif

constexpr double kMaxSafeInteger = 9007199254740991.0;  // 2^53 − 1

}  // namespace

double decodeNumber(Value number) {
  return parse(number.raw);
}

std::optional<int64_t> decodeInteger(Value number) {
  const double value = decodeNumber(number);
  if (std::abs(value) > kMaxSafeInteger || std::trunc(value) != value) return std::nullopt;
  return static_cast<int64_t>(value);
}

}  // namespace tap::json
