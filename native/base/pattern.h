// Regular expressions that providers write, run so that none of them can hold up the gateway
// (docs/decisions.md D-19).
//
// The syntax and the meaning are those of JavaScript with the flag `u`, as far as PCRE2 has them.
// test/js/lib/pattern.differential.test.mjs compares the two and lists every known difference.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

struct pcre2_real_code_8;

namespace tap {

// Why a pattern or a glob (base/glob.h) is refused.
struct PatternError {
  size_t offset = 0;    // in bytes; where reading the pattern stopped, at most its size
  std::string message;  // for people
};

// TimedOut: the answer is not known. Usually there was too little time, sometimes too little
// memory. Unseen: not in the part that was looked at, and there is more. The caller decides what
// these two mean: a rule that denies must then deny.
enum class Match : uint8_t { Yes, No, TimedOut, Unseen };

// The time that several matches may take together, so that many patterns, or many subjects, cannot
// exceed a limit of all. What each takes is taken from it.
struct PatternBudget {
  std::chrono::nanoseconds left{0};
};

// One compiled pattern. It is immutable: several threads may match with it at a time. A moved-from
// Pattern can only be destroyed or assigned to.
class Pattern {
 public:
  static constexpr size_t kMaxPatternBytes = 1024;
  static constexpr size_t kMaxSubjectBytes = size_t{64} * 1024;
  static constexpr std::chrono::microseconds kMatchTime{1000};
  // Of the code that PCRE2 makes of a pattern. A larger pattern is refused.
  static constexpr size_t kMaxCompiledBytes = size_t{64} * 1024;
  // Up to this size it becomes machine code, too. That runs faster, but takes about 40 times as
  // long to make and 25 times as much memory: larger code is interpreted.
  static constexpr size_t kMaxJitBytes = 2048;

  // Refuses what is too long, is not UTF-8, has a mistake, or is too large once compiled. Takes
  // less than a millisecond and leaves less than 200 KB.
  static Result<Pattern, PatternError> compile(std::string_view pattern);

  // Whether the pattern matches anywhere in the subject, of which only the first 64 KB are looked
  // at, without a character cut in two. Memory stays below about 16 MB and is free again at the
  // end. Without time the answer is TimedOut; the time counts in which the match goes on, not that
  // in which the system lets another process run. Precondition: the subject is UTF-8 (otherwise,
  // too).
  [[nodiscard]] Match matches(std::string_view subject,
                              std::chrono::microseconds most = kMatchTime) const;
  // The same, within kMatchTime and the budget.
  [[nodiscard]] Match matches(std::string_view subject, PatternBudget& budget) const;

  // What it takes in memory, machine code included.
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  [[nodiscard]] Match within(std::string_view subject, std::chrono::nanoseconds most,
                             PatternBudget& budget) const;

  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  using Code = std::unique_ptr<pcre2_real_code_8, Free>;

  Pattern(Code code, size_t bytes) : code_(std::move(code)), bytes_(bytes) {}

  Code code_;
  size_t bytes_;
};

// Where a reader of messages gets its patterns from.
class PatternSource {
 public:
  PatternSource() = default;
  PatternSource(const PatternSource&) = delete;
  PatternSource& operator=(const PatternSource&) = delete;
  virtual ~PatternSource() = default;

  // The pattern, or why it was refused, for people: "not a regular expression, at character 3: …".
  [[nodiscard]] virtual Result<std::shared_ptr<const Pattern>, std::string> obtain(
      std::string_view text) = 0;

  // One that compiles each text that it is asked for, and bounds nothing.
  [[nodiscard]] static PatternSource& unbounded();
};

// As PatternSource says it.
[[nodiscard]] std::string notAPattern(const PatternError& error);

}  // namespace tap
