// A hash map by text, with lookup by a view, without making a string; and comparisons that ignore
// case.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tap {

struct TextHash {
  using is_transparent = void;
  [[nodiscard]] size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

// ASCII only: tool names have no other letters.
[[nodiscard]] constexpr char lowerCase(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] inline std::string lowerCase(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lowerCase(c);
  return out;
}
[[nodiscard]] inline bool equalIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, {}, [](char c) { return lowerCase(c); }, [](char c) { return lowerCase(c); });
}
struct LessIgnoringCase {
  using is_transparent = void;
  [[nodiscard]] bool operator()(std::string_view a, std::string_view b) const {
    return std::ranges::lexicographical_compare(
        a, b, {}, [](char c) { return lowerCase(c); }, [](char c) { return lowerCase(c); });
  }
};

template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

}  // namespace tap
