// Globs over paths, as in a hook rule's `match.file` (docs/decisions.md D-17).
//
//   *        any number of characters, including 0, but no separator
//   **       any characters, separators included; **/ also matches no folder at all
//   ?        a character that is no separator
//   [abc]    any of these characters, [a-z] a range, [!abc] or [^abc] any other; never a separator.
//            A "]" at the start is literal, so [*] and the like are the way to quote.
//   {a,b}    any of these globs, which may be empty
//
// Both / and \ are separators, in the path and in the glob. A glob without a separator matches the
// path's base name, otherwise the whole path; a ./ at its beginning is then left out. Letters are
// case-sensitive, and a leading dot is an ordinary character.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/pattern.h"
#include "base/result.h"

namespace tap {

// A compiled glob. It is immutable: several threads may match with it concurrently.
class Glob {
 public:
  static constexpr size_t kMaxGlobBytes = 1024;
  static constexpr size_t kMaxPathBytes = size_t{8} * 1024;

  // Refuses a glob that is too long, is not UTF-8, or has an unclosed bracket or brace.
  static Result<Glob, PatternError> compile(std::string_view glob);

  // Takes time proportional to the path's size times the glob's. Of a path beyond 8 KB, which no
  // system opens as it is, only the end is matched. Only wildcards match a byte that is not UTF-8.
  [[nodiscard]] bool matches(std::string_view path) const;

 private:
  friend class GlobCompiler;

  // The effect of a place in the glob. A step continues at the next place, or at `target` if the
  // kind has a target.
  enum class Kind : uint8_t {
    Character,    // consumes `point`
    Separator,    // consumes a separator
    One,          // consumes a character but no separator
    InClass,      // consumes a character of classes_[target]
    Star,         // consumes any number of characters but no separator
    Anything,     // consumes any characters
    Fork,         // continues at the next place and at `target`
    Jump,         // continues at `target`
    SkipFolders,  // continues at the next place and, at the start of a path segment, at `target`
    End,          // has matched, if the path ends too
  };
  struct Step {
    Kind kind;
    char32_t point = 0;
    uint16_t target = 0;
  };
  struct Range {
    char32_t first;
    char32_t last;
  };
  struct Class {
    bool negated = false;
    std::vector<Range> ranges;
  };
  class Places;

  Glob() = default;
  [[nodiscard]] bool consumes(const Step& step, char32_t point) const;
  void advance(Places& from, Places& to, char32_t point, bool segmentStart) const;

  std::vector<Step> steps_;
  std::vector<Class> classes_;
  bool baseName_ = true;
};

}  // namespace tap
