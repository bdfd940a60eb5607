#include "base/names.h"

#include <algorithm>

#include "base/characters.h"
#include "base/encoding.h"
#include "base/text_map.h"
#include "base/utf8.h"

namespace tap {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

// Removes and returns the first character; an invalid byte counts as a character.
char32_t next(std::string_view& text) {
  const utf8::Decoded first = utf8::decode(text);
  text.remove_prefix(first.size == 0 ? 1 : first.size);
  return first.size == 0 ? kReplacement : first.point;
}

std::string pointName(char32_t point) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out = "U+";
  for (int shift = 20; shift >= 0; shift -= 4) {
    if (shift >= 16 && point >> shift == 0) continue;
    out += kDigits[point >> shift & 0xF];
  }
  return out;
}

[[nodiscard]] bool isPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

std::string nameProblem(std::string_view name) {
  bool wordBegins = true;
  bool markAtFront = false;
  for (std::string_view rest = name; !rest.empty();) {
    const char32_t point = next(rest);
    markAtFront |= wordBegins && characters::is(point, characters::kMark);
    wordBegins = point == ' ';
    if (characters::is(point, characters::kUnnamed)) {
      return "a name of plain, visible characters, found " + pointName(point);
    }
  }
  if (name.starts_with(' ') || name.ends_with(' ') || name.find("  ") != std::string_view::npos) {
    return "a name without spaces at its ends or in a row";
  }
  if (name.empty()) return "a name that is not empty";
  if (markAtFront) return "a name with no combining mark at the front of a word";
  return {};
}

std::string inLine(std::string_view name) {
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), isPlain);
  return plain ? std::string(name) : inQuotes(name);
}

std::string asciiNameProblem(std::string_view name) {
  for (std::string_view rest = name; !rest.empty();) {
    const char32_t point = next(rest);
    if (point < 0x20 || point > 0x7E)
      return "a name of ASCII characters, found " + pointName(point);
  }
  return {};
}

bool looksLike(std::string_view one, std::string_view other) {
  const auto drawn = [](char c) {
    const char small = lowerCase(c);
    if (small == 'i' || small == '1' || small == '|') return 'l';
    return small == '0' ? 'o' : small;
  };
  return std::ranges::equal(one, other, {}, drawn, drawn);
}

}  // namespace tap
