// The rules of an emitter's filter, as tools and configurations give them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/time.h"
#include "protocol/filter.h"

namespace tap::lines {

using protocol::FilterOutcome;

// The first rule that matches a line decides about it.
struct Rule {
  std::string match;  // a pattern, as in filter.set
  FilterOutcome outcome = FilterOutcome::Keep;
  std::optional<std::string> notMatch;  // `not`: a pattern that must not match
  // These three need the outcome surface or inject. A line that they hold back is kept.
  std::optional<Millis> cooldown;  // the outcome at most once in so long
  std::optional<uint32_t> count;   // the outcome for every n-th match
  struct Window {
    uint32_t lines = 0;
    Millis time{0};
    friend bool operator==(const Window&, const Window&) = default;
  };
  std::optional<Window> window;  // one digest of so many lines, or of those in this time
  // One text with the lines around the match: so many before it; so many after it, or those up to
  // the first that matches `until`.
  uint32_t before = 0;
  uint32_t after = 0;
  std::optional<std::string> until;

  [[nodiscard]] bool hasContext() const { return before > 0 || after > 0 || until; }
  bool capture = false;  // named groups become metadata of the entry

  friend bool operator==(const Rule&, const Rule&) = default;
};

inline constexpr size_t kMaxRules =
    static_cast<size_t>(kLimitTable[static_cast<size_t>(Limit::FilterRules)].value);
inline constexpr Millis kMaxRuleTime = std::chrono::hours(24);
inline constexpr uint32_t kMaxCount = 1'000'000;
inline constexpr uint32_t kMaxWindowLines = 1000;
inline constexpr uint32_t kMaxContextLines = 24;  // before and after the match together
inline constexpr Millis kContextTime{2000};       // until the last of them

struct RuleError {
  size_t rule = 0;
  std::string message;  // for people: which part is wrong, and why
};
// Everything but the patterns. Nothing: the rules are good.
[[nodiscard]] std::optional<RuleError> checkRules(const std::vector<Rule>& rules);

// The three patterns that filters had before they had rules; an empty one is not there. They ignore
// case. A line that `exclude` matches is dropped, else one that `notify` matches is injected; where
// there is an `include`, lines that it does not match are dropped.
struct OldPatterns {
  std::string_view include;
  std::string_view exclude;
  std::string_view notify;
};
[[nodiscard]] std::vector<Rule> convertPatterns(const OldPatterns& patterns);

// Why a rule makes filtering slow, for people; empty: it does not.
[[nodiscard]] std::string explainSlowness(const Rule& rule);

}  // namespace tap::lines
