// Globs over paths, as in a hook rule's `match.file` (docs/decisions.md D-17).
//
//   *        any characters, none included, but no separator
//   **       any characters, separators included; **/ also stands for no folder at all
//   ?        one character that is no separator
//   [abc]    one of these, [a-z] a range, [!abc] or [^abc] any other; never a separator. A "]" that
//            comes first stands for itself, which makes [*] and the like the way to quote.
//   {a,b}    one of these, which are globs again and may be empty
//
// Both / and \ are separators, in the path and in the glob. A glob without one matches the path's
// base name, any other the whole path; a ./ at its beginning is left out then. Letters match in
// their own case only, and a leading dot is a character like any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/pattern.h"
#include "base/result.h"

namespace tap {

// One compiled glob. It is immutable: several threads may match with it at a time.
class Glob {
 public:
  static constexpr size_t kMaxGlobBytes = 1024;
  static constexpr size_t kMaxPathBytes = size_t{8} * 1024;

  // Refuses what is too long, is not UTF-8, or has a bracket or brace that is not closed.
  static Result<Glob, PatternError> compile(std::string_view glob);

  // In time proportional to the path's size times the glob's, whatever they are. Of a path beyond
  // 8 KB, which no system opens as it stands, the end is looked at. A byte that is not UTF-8 is a
  // character that only wildcards match.
  [[nodiscard]] bool matches(std::string_view path) const;

 private:
  friend class GlobCompiler;

  // What one place in the glob does. A step goes on at the next one, except where `target` says.
  enum class Kind : uint8_t {
    Character,    // consumes `point`
    Separator,    // consumes a separator
    One,          // consumes one character but no separator
    InClass,      // consumes a character of classes_[target]
    Star,         // consumes any number of characters but no separator
    Anything,     // consumes anything
    Fork,         // goes on here and at `target`
    Jump,         // goes on at `target`
    SkipFolders,  // goes on here and, where a path segment begins, at `target`
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
