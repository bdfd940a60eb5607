#include "lines/filter.h"

#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "lines/literals.h"

namespace tap::lines {

Result<LineFilter::Compiled, std::string> LineFilter::compile(const Rule& rule) {
  auto match = LinePattern::compile(rule.match);
  if (!match) return "match: " + notAPattern(match.error());
  Compiled made{.rule = rule, .match = std::move(match.value())};
  if (rule.notMatch) {
    auto compiled = LinePattern::compile(*rule.notMatch);
    if (!compiled) return "not: " + notAPattern(compiled.error());
    made.notMatch = std::move(compiled.value());
  }
  if (rule.until) {
    auto compiled = LinePattern::compile(*rule.until);
    if (!compiled) return "until: " + notAPattern(compiled.error());
    made.until = std::move(compiled.value());
  }
  made.always = analyzePattern(rule.match).always;
  made.isSimple = !rule.count && !rule.window && !rule.cooldown && !rule.hasContext();
  return made;
}

std::optional<RuleError> LineFilter::setRules(const std::vector<Rule>& rules) {
  if (auto problem = checkRules(rules)) return problem;
  std::vector<Compiled> compiled;
  compiled.reserve(rules.size());
  for (const Rule& rule : rules) {
    auto one = compile(rule);
    if (!one) return RuleError{compiled.size(), std::move(one.error())};
    compiled.push_back(std::move(one.value()));
  }
  for (Compiled& one : compiled) {
    const auto before = std::ranges::find(rules_, one.rule, &Compiled::rule);
    if (before == rules_.end()) continue;
    one.counts = std::exchange(before->counts, {});
    one.counted = before->counted;
    one.last = before->last;
  }
  rules_ = std::move(compiled);
  findLiterals();
  slowNotices_.clear();
  return std::nullopt;
}

void LineFilter::findLiterals() {
  withoutLiterals_.clear();
  std::vector<Prefilter::Literal> literals;
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (!addLiterals(rules_[i].rule.match, literals)) {
      withoutLiterals_.push_back(static_cast<uint16_t>(i));
    }
  }
  search_.setLiterals(std::move(literals));
}

std::optional<size_t> LineFilter::takeSlowNotice() {
  if (slowNotices_.empty()) return std::nullopt;
  const size_t index = slowNotices_.back();
  slowNotices_.pop_back();
  return index;
}

std::string LineFilter::captured(size_t index, std::string_view text) const {
  const Compiled& rule = rules_[index];
  if (!rule.rule.capture) return {};
  std::string json = "{";
  for (const auto& [name, value] : rule.match.groups(text)) {
    std::string member = json.size() > 1 ? "," : "";
    json::appendQuoted(member, name);
    member += ':';
    json::appendQuoted(member, value);
    if (json.size() + member.size() < kMaxMetadata) json += member;
  }
  return json.size() > 1 ? json + "}" : std::string();
}

bool LineFilter::runPattern(Compiled& rule, LinePattern& pattern, std::string_view text) {
  switch (pattern.matches(text, slow_)) {
    case Match::Yes:
      return true;
    case Match::No:
    case Match::Unseen:
      return false;
    case Match::TimedOut:
      if (rule.counts.tooSlow++ == 0) {
        slowNotices_.push_back(static_cast<size_t>(&rule - rules_.data()));
      }
      return false;
  }
  return false;
}

bool LineFilter::matches(Compiled& rule, std::string_view text) {
  if (!rule.always && !runPattern(rule, rule.match, text)) return false;
  return !rule.notMatch || !runPattern(rule, *rule.notMatch, text);
}

bool LineFilter::endsContext(size_t index, std::string_view text) {
  Compiled& rule = rules_[index];
  return rule.until && runPattern(rule, *rule.until, text);
}

Decision LineFilter::decide(const Line& line, Time now) {
  if (now >= slowUntil_) {
    slow_.left = std::min(slow_.left + kSlowTime, kSlowTime);
    slowUntil_ = now + std::chrono::seconds(1);
  }
  if (search_.mayContain(line)) {
    for (size_t i = 0; i < rules_.size(); ++i) {
      if (matches(rules_[i], line.text)) return decided(i, now);
    }
    return {};
  }
  for (const uint16_t i : withoutLiterals_) {
    if (matches(rules_[i], line.text)) return decided(i, now);
  }
  return {};
}

Decision LineFilter::decided(size_t index, Time now) {
  Compiled& rule = rules_[index];
  ++rule.counts.matched;
  if (rule.isSimple) return {rule.rule.outcome, static_cast<int32_t>(index)};
  Decision decision{rule.rule.outcome, static_cast<int32_t>(index)};
  const auto keep = [&decision](bool& why) {
    decision.outcome = FilterOutcome::Keep;
    why = true;
    return decision;
  };
  if (rule.rule.count && ++rule.counted < *rule.rule.count) return keep(decision.isHeld);
  rule.counted = 0;
  if (rule.rule.window) return keep(decision.isGathered);
  if (rule.rule.cooldown) {
    if (rule.last && now < *rule.last + *rule.rule.cooldown) {
      ++rule.counts.suppressed;
      return keep(decision.isHeld);
    }
    rule.last = now;
  }
  return rule.rule.hasContext() ? keep(decision.isGathered) : decision;
}

size_t LineFilter::bytes() const {
  size_t bytes = rules_.capacity() * sizeof(Compiled);
  for (const Compiled& rule : rules_) {
    bytes += rule.match.bytes() + (rule.notMatch ? rule.notMatch->bytes() : 0) +
             (rule.until ? rule.until->bytes() : 0);
    bytes += rule.rule.match.capacity();
  }
  return bytes + search_.bytes();
}

Result<std::vector<Decision>, RuleError> tryRules(std::vector<Rule> rules,
                                                  const std::vector<std::string_view>& lines) {
  if (auto problem = checkRules(rules)) return *problem;
  for (Rule& rule : rules) {
    rule.cooldown.reset();
    rule.count.reset();
    rule.window.reset();
    rule.before = rule.after = 0;
    rule.until.reset();
  }
  LineFilter filter(Search::Never);
  if (auto problem = filter.setRules(rules)) return *problem;
  std::vector<Decision> decisions;
  decisions.reserve(lines.size());
  for (const std::string_view text : lines) {
    decisions.push_back(filter.decide({text, false, false}, Time()));
  }
  return decisions;
}

}  // namespace tap::lines
