#include "records/moment.h"

#include <charconv>

namespace tap::records {

namespace {

constexpr int64_t kSecond = 1000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;

// Reads a text from its front.
class TimeParser {
 public:
  explicit TimeParser(std::string_view rest) : rest_(rest) {}

  [[nodiscard]] bool done() const { return rest_.empty(); }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Reads `digits` digits, of a number from `low` to `high`.
  bool number(size_t digits, int low, int high, int& out) {
    if (rest_.size() < digits) return false;
    const char* const end = rest_.data() + digits;
    const auto [at, problem] = std::from_chars(rest_.data(), end, out);
    if (problem != std::errc() || at != end || rest_[0] == '-' || out < low || out > high) {
      return false;
    }
    rest_.remove_prefix(digits);
    return true;
  }
  // The digits after a point, as milliseconds; further digits are skipped.
  bool fraction(int& millis) {
    int digits = 0;
    for (; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; ++digits) {
      if (digits < 3) millis = millis * 10 + (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    for (int i = digits; i < 3; ++i) millis *= 10;
    return digits > 0;
  }

 private:
  std::string_view rest_;
};

// Days since 1970-01-01 in the Gregorian calendar.
[[nodiscard]] int64_t daysSinceEpoch(int year, int month, int day) {
  const int64_t y = month <= 2 ? year - 1 : year;
  const int64_t era = y / 400;
  const int64_t yearOfEra = y - era * 400;
  const int64_t dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int64_t dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear;
  return era * 146'097 + dayOfEra - 719'468;
}

[[nodiscard]] int daysPerMonth(int year, int month) {
  if (month == 2) return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

bool takeZone(TimeParser& text, int64_t& offset) {
  if (text.done() || text.take('Z')) return true;
  const int sign = text.take('+') ? 1 : text.take('-') ? -1 : 0;
  int hours = 0;
  int minutes = 0;
  if (sign == 0 || !text.number(2, 0, 14, hours)) return false;
  (void)text.take(':');
  if (!text.number(2, 0, 59, minutes)) return false;
  offset = sign * (hours * kHour + minutes * kMinute);
  return true;
}

[[nodiscard]] std::optional<int64_t> calendarTime(std::string_view written) {
  TimeParser text(written);
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int millis = 0;
  int64_t offset = 0;
  if (!text.number(4, 1, 9999, year) || !text.take('-') || !text.number(2, 1, 12, month) ||
      !text.take('-') || !text.number(2, 1, daysPerMonth(year, month), day)) {
    return std::nullopt;
  }
  if (!text.done()) {
    if (!text.take('T') && !text.take(' ')) return std::nullopt;
    if (!text.number(2, 0, 23, hour) || !text.take(':') || !text.number(2, 0, 59, minute)) {
      return std::nullopt;
    }
    if (text.take(':') && !text.number(2, 0, 60, second)) return std::nullopt;
    if (text.take('.') && !text.fraction(millis)) return std::nullopt;
    if (!takeZone(text, offset) || !text.done()) return std::nullopt;
  }
  return daysSinceEpoch(year, month, day) * kDay + hour * kHour + minute * kMinute +
         second * kSecond + millis - offset;
}

[[nodiscard]] std::optional<int64_t> timeBefore(std::string_view text, int64_t now) {
  if (text.size() < 2 || text.size() > 10 || text[0] == '-') return std::nullopt;
  int64_t count = 0;
  const char* const unit = text.data() + text.size() - 1;
  const auto [at, problem] = std::from_chars(text.data(), unit, count);
  if (problem != std::errc() || at != unit) return std::nullopt;
  switch (*unit) {
    case 's':
      return now - count * kSecond;
    case 'm':
      return now - count * kMinute;
    case 'h':
      return now - count * kHour;
    case 'd':
      return now - count * kDay;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<int64_t> parseMoment(std::string_view text, int64_t now) {
  if (const auto before = timeBefore(text, now)) return before;
  return calendarTime(text);
}

}  // namespace tap::records
