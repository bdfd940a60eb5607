// Which outcome a line has: ordered rules, of which the first that matches decides.
//
// In a flood most lines match no rule. A search for the patterns' literals (line_search.h) finds
// the lines that can match; only these meet all rules. The others meet only rules whose pattern has
// no literal. The outcomes are the same without that search.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/line_pattern.h"
#include "base/result.h"
#include "base/time.h"
#include "lines/line_search.h"
#include "lines/rules.h"
#include "lines/splitter.h"

namespace tap::lines {

struct Decision {
  FilterOutcome outcome = FilterOutcome::Keep;
  int32_t rule = -1;        // -1: no rule matched
  bool isHeld = false;      // kept, because of the rule's cooldown or count
  bool isGathered = false;  // kept, and a part of the rule's next digest
};

// Since the rule was set.
struct RuleCounts {
  uint64_t matched = 0;     // it decided
  uint64_t suppressed = 0;  // its cooldown held back the outcome
  uint64_t tooSlow = 0;     // lines that took too long: they count as not matched
};

class LineFilter {
 public:
  // For slow matches (line_pattern.h), all rules together, in each second. A debt stays.
  static constexpr std::chrono::nanoseconds kSlowTime = std::chrono::milliseconds(100);

  explicit LineFilter(Search search = Search::Automatic) : search_(search) {}

  // Replaces the rules. A rule that was there before keeps its counts and its state. Where one is
  // wrong all stay as they were.
  [[nodiscard]] std::optional<RuleError> setRules(const std::vector<Rule>& rules);
  [[nodiscard]] size_t size() const { return rules_.size(); }
  [[nodiscard]] const Rule& rule(size_t index) const { return rules_[index].rule; }
  [[nodiscard]] const RuleCounts& counts(size_t index) const { return rules_[index].counts; }
  // A rule that has just had its first line that took too long: its index, once.
  [[nodiscard]] std::optional<size_t> takeSlowNotice();
  // The named groups of a rule with `capture` in a line that it matches, as a JSON object of at
  // most kMaxMetadata bytes: those that do not fit are left out. Empty: there are none.
  static constexpr size_t kMaxMetadata = 1024;
  [[nodiscard]] std::string captured(size_t index, std::string_view text) const;

  // Whether a line ends the lines after a match of the rule.
  [[nodiscard]] bool endsContext(size_t index, std::string_view text);
  // The block that the next lines with `inBlock` lie in.
  void enter(std::string_view block) { search_.enter(block); }
  // REQUIRES: lines come in their order.
  [[nodiscard]] Decision decide(const Line& line, Time now);

  // Memory that it holds, besides itself.
  [[nodiscard]] size_t bytes() const;

 private:
  struct Compiled {
    Rule rule;
    LinePattern match;
    std::optional<LinePattern> notMatch;
    std::optional<LinePattern> until;
    bool always = false;   // the pattern matches every line
    bool isSimple = true;  // it has no count, window, cooldown or context
    RuleCounts counts;
    uint32_t counted = 0;
    std::optional<Time> last;  // when it last had its outcome
  };

  [[nodiscard]] static Result<Compiled, std::string> compile(const Rule& rule);
  void findLiterals();
  [[nodiscard]] bool matches(Compiled& rule, std::string_view text);
  [[nodiscard]] bool runPattern(Compiled& rule, LinePattern& pattern, std::string_view text);
  [[nodiscard]] Decision decided(size_t index, Time now);

  LineSearch search_;
  std::vector<Compiled> rules_;
  std::vector<uint16_t> withoutLiterals_;  // their indices
  PatternBudget slow_{kSlowTime};
  Time slowUntil_;  // then the budget gets as much again
  std::vector<size_t> slowNotices_;
};

// What these rules would have done to these lines, each for itself: without cooldown, count and
// window.
[[nodiscard]] Result<std::vector<Decision>, RuleError> tryRules(
    std::vector<Rule> rules, const std::vector<std::string_view>& lines);

}  // namespace tap::lines
