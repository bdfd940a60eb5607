// What can be seen of a pattern without running it: text that every match must contain, and
// whether it is slow.
//
// The answer errs to one side: a pattern whose syntax is not understood here has no literals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tap::lines {

struct PatternFacts {
  // Every match contains at least one of these; empty: nothing is known. Each has kMinLiteral
  // bytes or more, none of them a control character.
  std::vector<std::string> literals;
  // The literals are in lower case and stand for both cases of ASCII letters; also, k and s stand
  // for U+212A and U+017F.
  bool caseless = false;
  bool always = false;  // matches every line
  // Repeats of anything, such as ".*", without a bound.
  size_t wildcards = 0;
  bool beginsWithWildcard = false;
  bool nestedRepeats = false;  // a repeat without a bound within another
};

inline constexpr size_t kMinLiteral = 3;

// REQUIRES: Pattern::compile takes it.
[[nodiscard]] PatternFacts analyzePattern(std::string_view pattern);

}  // namespace tap::lines
