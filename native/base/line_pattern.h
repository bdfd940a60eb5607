// A pattern for many short subjects, such as the lines of a log: the syntax, the meaning and the
// limits of Pattern, several times as fast. A match that takes many steps is left to a Pattern,
// which can be interrupted.
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

// Belongs to one thread. A moved-from LinePattern can only be destroyed or assigned to.
class LinePattern {
 public:
  // After so many matches it becomes machine code: what is matched seldom costs no memory for it.
  static constexpr uint32_t kUsesUntilJit = 32;
  // The steps of a fast match: on a short line at all its places together, on a long one at each.
  static constexpr size_t kFastSteps = 200'000;
  static constexpr uint32_t kStepsAtPlace = 5000;
  static constexpr size_t kLongLine = 512;
  // The budget pays for a match that takes longer. Matches on long lines are timed, some on short
  // ones, and all of a pattern that was slow once.
  static constexpr std::chrono::microseconds kFastTime{100};
  static constexpr uint32_t kUsesPerTiming = 64;

  // Refuses what Pattern::compile refuses. The first line compiles it: what is never matched takes
  // no memory but for its text.
  static Result<LinePattern, PatternError> compile(std::string_view pattern);

  // As Pattern::matches. Only a slow match, or one of many steps, uses the budget up. Once it is
  // used up, a pattern that has had such a match is not tried: TimedOut. REQUIRES: the line is
  // UTF-8.
  [[nodiscard]] Match matches(std::string_view line, PatternBudget& budget);

  // The named groups of the first match that have a value. Empty where there is no match within
  // the steps of a fast one. REQUIRES: the line is UTF-8.
  struct Group {
    std::string_view name;   // valid as long as the pattern
    std::string_view value;  // in the line
  };
  [[nodiscard]] std::vector<Group> groups(std::string_view line) const;

  [[nodiscard]] std::string_view text() const { return text_; }

  // Memory that it holds, machine code included.
  [[nodiscard]] size_t bytes() const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  using Code = std::unique_ptr<pcre2_real_code_8, Free>;

  explicit LinePattern(std::string_view text) : text_(text) {}

  // Returns: whether there is code to run.
  [[nodiscard]] bool ready() const;
  [[nodiscard]] int run(std::string_view line) const;
  [[nodiscard]] int runTimed(std::string_view line, PatternBudget& budget);
  [[nodiscard]] Match careful(std::string_view line, PatternBudget& budget);

  mutable Code code_;  // none until the first line
  std::string text_;
  uint64_t uses_ = 0;
  bool isMachineCode_ = false;
  bool isSlow_ = false;               // has had a slow match, or one of many steps
  std::unique_ptr<Pattern> careful_;  // for these
};

}  // namespace tap
