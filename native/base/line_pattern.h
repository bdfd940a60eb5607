// A pattern for many short subjects, such as the lines of a log: the syntax, semantics and limits
// of Pattern, several times as fast. A match with many steps falls back to a Pattern, which can be
// interrupted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/pattern.h"
#include "base/result.h"

namespace tap {

// Belongs to a single thread. A moved-from LinePattern can only be destroyed or assigned to.
class LinePattern {
 public:
  // After this many matches it is compiled to machine code, so that rare patterns need no memory
  // for it.
  static constexpr uint32_t kUsesUntilJit = 32;
  // The maximum of steps of a fast match: on a short line for all starts together, on a long line
  // for each start.
  static constexpr size_t kFastSteps = 200'000;
  static constexpr uint32_t kStepsAtPlace = 5000;
  static constexpr size_t kLongLine = 512;
  // A slower match uses the budget. Timed are: matches on long lines, some on short lines, and all
  // matches of a pattern that was slow before.
  static constexpr std::chrono::microseconds kFastTime{100};
  static constexpr uint32_t kUsesPerTiming = 64;

  // Refuses what Pattern::compile refuses. The first line compiles it, so an unused pattern takes
  // memory only for its text.
  static Result<LinePattern, PatternError> compile(std::string_view pattern);

  // As Pattern::matches. Only a slow match, or a match with many steps, uses the budget. Once the
  // budget is used up, a pattern that has had such a match returns TimedOut. REQUIRES: the line is
  // UTF-8.
  [[nodiscard]] Match matches(std::string_view line, PatternBudget& budget);

  // The named groups with a value in the first match; empty if there is no fast match. REQUIRES:
  // the line is UTF-8.
  struct Group {
    std::string_view name;   // valid as long as the pattern
    std::string_view value;  // in the line
  };
  [[nodiscard]] std::vector<Group> groups(std::string_view line) const;

  [[nodiscard]] std::string_view text() const { return text_; }

  // Its memory, including machine code.
  [[nodiscard]] size_t bytes() const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  using Code = std::unique_ptr<pcre2_real_code_8, Free>;

  explicit LinePattern(std::string_view text) : text_(text) {}

  // Returns: whether it is compiled.
  [[nodiscard]] bool ready() const;
  [[nodiscard]] int run(std::string_view line) const;
  [[nodiscard]] int runTimed(std::string_view line, PatternBudget& budget);
  [[nodiscard]] Match careful(std::string_view line, PatternBudget& budget);

  mutable Code code_;  // null before the first line
  std::string text_;
  uint64_t uses_ = 0;
  bool isMachineCode_ = false;
  bool isSlow_ = false;               // has had a slow match, or a match with many steps
  std::unique_ptr<Pattern> careful_;  // for slow matches
};

}  // namespace tap
