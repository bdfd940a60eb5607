#include "lines/rules.h"

#include "lines/literals.h"

namespace tap::lines {
namespace {

[[nodiscard]] std::string checkRule(const Rule& rule) {
  const bool isTold = rule.outcome >= FilterOutcome::Surface;
  if (!isTold && (rule.cooldown || rule.count || rule.window || rule.hasContext())) {
    return "cooldown, count, window, before, after and until need the outcome surface or inject";
  }
  if (rule.before > kMaxContextLines || rule.after > kMaxContextLines) {
    return "before and after: expected at most " + std::to_string(kMaxContextLines);
  }
  if (rule.cooldown && (*rule.cooldown <= Millis(0) || *rule.cooldown > kMaxRuleTime)) {
    return "cooldown: expected more than 0 ms and at most a day";
  }
  if (rule.count && (*rule.count < 1 || *rule.count > kMaxCount)) {
    return "count: expected 1 to " + std::to_string(kMaxCount);
  }
  if (!rule.window) return {};
  if (rule.window->lines < 1 || rule.window->lines > kMaxWindowLines) {
    return "window.lines: expected 1 to " + std::to_string(kMaxWindowLines);
  }
  if (rule.window->time <= Millis(0) || rule.window->time > kMaxRuleTime) {
    return "window.ms: expected more than 0 and at most a day";
  }
  if (rule.cooldown) return "a rule with a window has no cooldown: its window is one";
  if (rule.hasContext()) return "a rule with a window has no before, after and until";
  return {};
}

[[nodiscard]] Rule caseless(std::string_view pattern, FilterOutcome outcome) {
  Rule rule;
  rule.match = "(?i)" + std::string(pattern);
  rule.outcome = outcome;
  return rule;
}

}  // namespace

std::optional<RuleError> checkRules(const std::vector<Rule>& rules) {
  if (rules.size() > kMaxRules) {
    return RuleError{kMaxRules, "a filter has at most " + std::to_string(kMaxRules) + " rules"};
  }
  for (size_t i = 0; i < rules.size(); ++i) {
    std::string problem = checkRule(rules[i]);
    if (!problem.empty()) return RuleError{i, std::move(problem)};
  }
  return std::nullopt;
}

std::vector<Rule> convertPatterns(const OldPatterns& patterns) {
  std::vector<Rule> rules;
  const auto add = [&rules](std::string_view pattern, FilterOutcome outcome) {
    if (!pattern.empty()) rules.push_back(caseless(pattern, outcome));
  };
  add(patterns.exclude, FilterOutcome::Drop);
  add(patterns.notify, FilterOutcome::Inject);
  add(patterns.include, FilterOutcome::Keep);
  if (!patterns.include.empty()) {
    Rule others;
    others.outcome = FilterOutcome::Drop;
    rules.push_back(std::move(others));
  }
  return rules;
}

std::string explainSlowness(const Rule& rule) {
  const PatternFacts facts = analyzePattern(rule.match);
  if (facts.always) return {};
  if (facts.nestedRepeats) {
    return "a repeat within a repeat, as in (a+)+, can take very long; a line that takes too long "
           "counts as not matched";
  }
  if (facts.beginsWithWildcard) {
    return "it begins with \".*\", which is not needed: a pattern matches anywhere in a line";
  }
  if (facts.wildcards > 1) {
    return "it has " + std::to_string(facts.wildcards) +
           " repeats such as \".*\", which are tried in all combinations";
  }
  if (facts.literals.empty()) {
    return "no text of " + std::to_string(kMinLiteral) +
           " characters is in every match, so that it is tried on every line";
  }
  return {};
}

}  // namespace tap::lines
