// Regular expressions of providers, run so that none of them can block the gateway
// (docs/decisions.md D-19).
//
// Syntax and semantics are those of JavaScript with the flag `u`, as far as PCRE2 has them.
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
  size_t offset = 0;    // in bytes: the place of the mistake, at most the pattern's size
  std::string message;  // for people
};

// TimedOut: the answer is unknown, usually for lack of time, sometimes of memory. Unseen: no match
// in the searched part, and the subject is longer. The caller interprets these: a rule that denies
// must then deny.
enum class Match : uint8_t { Yes, No, TimedOut, Unseen };

// The time that several matches may take together: each match reduces it. It limits the total for
// many patterns or subjects.
struct PatternBudget {
  std::chrono::nanoseconds left{0};
};

// A compiled pattern. It is immutable: several threads may match with it concurrently. A moved-from
// Pattern can only be destroyed or assigned to.
class Pattern {
 public:
  static constexpr size_t kMaxPatternBytes = 1024;
  static constexpr size_t kMaxSubjectBytes = size_t{64} * 1024;
  static constexpr std::chrono::microseconds kMatchTime{1000};
  // Of PCRE2's code for a pattern. A larger pattern is refused.
  static constexpr size_t kMaxCompiledBytes = size_t{64} * 1024;
  // Up to this size it is compiled to machine code, too. That runs faster, but compiling takes
  // about 40 times as long, and 25 times as much memory: larger code is interpreted.
  static constexpr size_t kMaxJitBytes = 2048;

  // Refuses a pattern that is too long, is not UTF-8, has a mistake, or is too large when compiled.
  // Takes less than a millisecond and less than 200 KB.
  static Result<Pattern, PatternError> compile(std::string_view pattern);

  // Whether the pattern matches anywhere in the subject, of which only the first 64 KB are
  // searched, without a partial character. Memory stays below about 16 MB, and is freed at the end.
  // After the time limit the answer is TimedOut; the time of other processes does not count.
  // REQUIRES: the subject is UTF-8.
  [[nodiscard]] Match matches(std::string_view subject,
                              std::chrono::microseconds most = kMatchTime) const;
  // The same, within kMatchTime and the budget.
  [[nodiscard]] Match matches(std::string_view subject, PatternBudget& budget) const;

  // Its memory, including machine code.
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

// The source of patterns for a reader of messages.
class PatternSource {
 public:
  PatternSource() = default;
  PatternSource(const PatternSource&) = delete;
  PatternSource& operator=(const PatternSource&) = delete;
  virtual ~PatternSource() = default;

  // The pattern, or the reason of a refusal, for people: "not a regular expression, at character 3:
  // …".
  [[nodiscard]] virtual Result<std::shared_ptr<const Pattern>, std::string> obtain(
      std::string_view text) = 0;

  // Compiles each text, without limits.
  [[nodiscard]] static PatternSource& unbounded();
};

// In the words of PatternSource.
[[nodiscard]] std::string notAPattern(const PatternError& error);

}  // namespace tap
