#include "lines/filter.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "lines/lines_rig.h"

namespace tap::lines {
namespace {

using std::chrono::milliseconds;

constexpr auto kDrop = FilterOutcome::Drop;
constexpr auto kKeep = FilterOutcome::Keep;
constexpr auto kSurface = FilterOutcome::Surface;
constexpr auto kInject = FilterOutcome::Inject;

Rule makeRule(std::string match, FilterOutcome outcome) {
  Rule rule;
  rule.match = std::move(match);
  rule.outcome = outcome;
  return rule;
}

void set(LineFilter& filter, const std::vector<Rule>& rules) {
  const auto problem = filter.setRules(rules);
  ASSERT_FALSE(problem) << problem->rule << ": " << problem->message;
}

std::string problemWith(Rule rule) {
  LineFilter filter;
  const auto problem = filter.setRules({makeRule("a", kKeep), std::move(rule)});
  if (!problem) return {};
  EXPECT_EQ(problem->rule, 1U);
  return problem->message;
}

FilterOutcome decideAt(LineFilter& filter, std::string_view text, int64_t ms = 0) {
  return filter.decide({text, false, false}, Time(Millis(ms))).outcome;
}

TEST(LineFilter, KeepsWhatNoRuleMatches) {
  LineFilter filter;
  EXPECT_EQ(decideAt(filter, "a"), kKeep);
  set(filter, {makeRule("b", kDrop)});
  const Decision decision = filter.decide({"a", false, false}, Time());
  EXPECT_EQ(decision.outcome, kKeep);
  EXPECT_EQ(decision.rule, -1);
}

TEST(LineFilter, TakesTheFirstRuleThatMatches) {
  LineFilter filter;
  set(filter, {makeRule("health", kDrop), makeRule("ERROR", kInject), makeRule("", kSurface)});
  EXPECT_EQ(decideAt(filter, "ERROR in health check"), kDrop);
  EXPECT_EQ(decideAt(filter, "ERROR"), kInject);
  EXPECT_EQ(decideAt(filter, "x"), kSurface);
  EXPECT_EQ(filter.counts(0).matched, 1U);
  EXPECT_EQ(filter.counts(2).matched, 1U);
}

TEST(LineFilter, LeavesARuleWhoseOtherPatternMatches) {
  LineFilter filter;
  Rule rule = makeRule("error", kInject);
  rule.notMatch = "0 errors";
  set(filter, {rule});
  EXPECT_EQ(decideAt(filter, "3 errors"), kInject);
  EXPECT_EQ(decideAt(filter, "done: 0 errors"), kKeep);
}

TEST(LineFilter, KeepsWhatComesWithinACooldown) {
  LineFilter filter;
  Rule rule = makeRule("down", kInject);
  rule.cooldown = Millis(1000);
  set(filter, {rule});
  EXPECT_EQ(decideAt(filter, "down", 0), kInject);
  const Decision held = filter.decide({"down", false, false}, Time(Millis(999)));
  EXPECT_EQ(held.outcome, kKeep);
  EXPECT_TRUE(held.isHeld);
  EXPECT_EQ(decideAt(filter, "down", 1000), kInject);
  EXPECT_EQ(filter.counts(0).matched, 3U);
  EXPECT_EQ(filter.counts(0).suppressed, 1U);
}

TEST(LineFilter, GivesTheOutcomeToEveryNthMatch) {
  LineFilter filter;
  Rule rule = makeRule("retry", kSurface);
  rule.count = 3;
  set(filter, {rule});
  std::vector<FilterOutcome> outcomes;
  for (int i = 0; i < 6; ++i) outcomes.push_back(decideAt(filter, "retry"));
  EXPECT_EQ(outcomes, (std::vector<FilterOutcome>{kKeep, kKeep, kSurface, kKeep, kKeep, kSurface}));
}

TEST(LineFilter, KeepsWhatARuleGathers) {
  LineFilter filter;
  Rule rule = makeRule("slow", kInject);
  rule.window = Rule::Window{5, Millis(1000)};
  set(filter, {rule});
  const Decision decision = filter.decide({"slow", false, false}, Time());
  EXPECT_EQ(decision.outcome, kKeep);
  EXPECT_TRUE(decision.isGathered);
}

TEST(LineFilter, CapturesNamedGroups) {
  LineFilter filter;
  Rule rule = makeRule("(?<file>\\S+):(?<line>\\d+)(?<rest>x)?: (error)", kInject);
  rule.capture = true;
  set(filter, {rule, makeRule("(?<a>b)", kKeep)});
  EXPECT_EQ(filter.captured(0, "in a\"b.cc:12: error"), R"({"file":"a\"b.cc","line":"12"})");
  EXPECT_EQ(filter.captured(0, "no"), "");
  EXPECT_EQ(filter.captured(1, "b"), "");
  const std::string longName(2000, 'f');
  EXPECT_EQ(filter.captured(0, longName + ":1: error"), R"({"line":"1"})");
}

TEST(LineFilter, RefusesWhatIsWrongAndSaysWhere) {
  EXPECT_EQ(problemWith(makeRule("(", kDrop)).substr(0, 7), "match: ");
  Rule rule = makeRule("a", kInject);
  rule.notMatch = "[a";
  EXPECT_EQ(problemWith(rule).substr(0, 5), "not: ");
  rule = makeRule("a", kKeep);
  rule.cooldown = Millis(5);
  EXPECT_NE(problemWith(rule), "");
  rule.outcome = kInject;
  EXPECT_EQ(problemWith(rule), "");
  for (const Millis time : {Millis(0), Millis(-1), kMaxRuleTime + Millis(1)}) {
    rule.cooldown = time;
    EXPECT_NE(problemWith(rule), "");
  }
  rule.cooldown.reset();
  for (const uint32_t count : {0U, kMaxCount + 1}) {
    rule.count = count;
    EXPECT_NE(problemWith(rule), "");
  }
  rule.count.reset();
  for (const uint32_t lines : {0U, kMaxWindowLines + 1}) {
    rule.window = Rule::Window{lines, Millis(5)};
    EXPECT_NE(problemWith(rule), "");
  }
  rule.window = Rule::Window{1, Millis(5)};
  EXPECT_EQ(problemWith(rule), "");
  rule.cooldown = Millis(5);
  EXPECT_NE(problemWith(rule), "");
  rule.cooldown.reset();
  rule.after = 1;
  EXPECT_NE(problemWith(rule), "") << "beside a window";
  rule.window.reset();
  EXPECT_EQ(problemWith(rule), "");
  rule.before = kMaxContextLines + 1;
  EXPECT_NE(problemWith(rule), "");
  rule.before = 1;
  rule.until = "[";
  EXPECT_EQ(problemWith(rule).substr(0, 7), "until: ");
  rule.until.reset();
  rule.outcome = kKeep;
  EXPECT_NE(problemWith(rule), "");
}

TEST(LineFilter, TakesAtMostAsManyRulesAsAFilterMayHave) {
  LineFilter filter;
  for (const size_t count : {kMaxRules - 1, kMaxRules}) {
    set(filter, std::vector<Rule>(count, makeRule("a", kDrop)));
  }
  EXPECT_TRUE(filter.setRules(std::vector<Rule>(kMaxRules + 1, makeRule("a", kDrop))));
  EXPECT_EQ(filter.size(), kMaxRules);
}

TEST(LineFilter, KeepsCountsAndStateOfRulesThatStay) {
  LineFilter filter;
  Rule rule = makeRule("down", kInject);
  rule.cooldown = Millis(1000);
  set(filter, {rule});
  EXPECT_EQ(decideAt(filter, "down", 0), kInject);
  set(filter, {makeRule("x", kDrop), rule});
  EXPECT_EQ(filter.counts(1).matched, 1U);
  EXPECT_EQ(decideAt(filter, "down", 500), kKeep);
  EXPECT_TRUE(filter.setRules({makeRule("(", kDrop)}));
  EXPECT_EQ(filter.size(), 2U);
}

TEST(LineFilter, BoundsPatternsThatTakeVeryLong) {
  LineFilter filter;
  set(filter, {makeRule("(a+)+$", kInject), makeRule("b", kDrop)});
  const std::string line = std::string(5000, 'a') + "b";
  const auto start = std::chrono::steady_clock::now();
  constexpr int kLines = 1000;
  for (int i = 0; i < kLines; ++i) EXPECT_EQ(decideAt(filter, line), kDrop);
  // 100 ms in that second, and little for each line besides.
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(3000));
  EXPECT_EQ(filter.counts(0).tooSlow, static_cast<uint64_t>(kLines));
  EXPECT_EQ(filter.takeSlowNotice(), 0U);
  EXPECT_FALSE(filter.takeSlowNotice());
  EXPECT_EQ(filter.counts(1).tooSlow, 0U);
}

TEST(LineFilter, AnswersOnceTheTimeForSlowPatternsIsThereAgain) {
  LineFilter filter;
  set(filter, {makeRule("(a+)+$", kInject)});
  const std::string line = std::string(64, 'a') + "b";
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(decideAt(filter, line, 0), kKeep);
  EXPECT_EQ(decideAt(filter, "aaa", 1000), kInject);
}

TEST(LineFilter, TakesFewKilobytesBeforeAFlood) {
  LineFilter filter;
  std::vector<Rule> rules;
  for (const auto* pattern :
       {"\\bERROR\\b", "FATAL|PANIC", "panic: .*nil", "Traceback \\(most recent",
        "connection (?:refused|reset)", "out of memory", "status=5\\d\\d", "timed out after \\d+",
        "permission denied.*root", "build failed"}) {
    rules.push_back(makeRule(pattern, kInject));
  }
  set(filter, rules);
  EXPECT_LE(filter.bytes(), size_t{10} * 1024);
}

// --- the search over blocks changes no outcome ---

std::vector<Decision> decideLines(LineFilter& filter, std::string_view bytes) {
  LineSplitter splitter;
  std::vector<Decision> decisions;
  Line line;
  splitter.feed(bytes, Time());
  filter.enter(splitter.block());
  while (splitter.next(line)) decisions.push_back(filter.decide(line, Time()));
  while (splitter.end(line)) decisions.push_back(filter.decide(line, Time()));
  return decisions;
}

std::string somePattern(Choices& choices, int depth) {
  static const std::vector<std::string> kParts{
      "ERROR", "fail", "task", "abc",  "b",    "\\d",   "\\d+",   ".*",   ".",
      "^",     "$",    "\\b",  "a+",   "x?",   "[ab]",  "[^a]",   "\\.",  " ",
      "é",     "ſ",    "k",    "\\s*", "a{2}", "b{1,}", "Kelvin", "disk", "-"};
  std::string pattern;
  for (uint32_t left = 1 + choices.below(4); left > 0; --left) {
    if (depth < 2 && choices.below(4) == 0) {
      static const std::vector<std::string> kOpen{"(", "(?:", "(?<n>", "(?=", "(?!"};
      static const std::vector<std::string> kRepeat{"", "", "?", "*", "+"};
      const std::string& open = choices.of(kOpen);
      const bool isNamed = open == "(?<n>" && pattern.find("<n>") != std::string::npos;
      pattern +=
          (isNamed ? "(" : open) + somePattern(choices, depth + 1) + ")" + choices.of(kRepeat);
    } else {
      pattern += choices.of(kParts);
    }
  }
  return choices.below(4) == 0 ? pattern + "|" + choices.of(kParts) : pattern;
}

std::string someLog(Choices& choices) {
  static const std::vector<std::string> kWords{"ERROR",
                                               "error",
                                               "Fail",
                                               "fail",
                                               "task",
                                               "taſk",
                                               "TASK",
                                               "abc",
                                               "ABC",
                                               "aab",
                                               "b",
                                               "12",
                                               "é",
                                               "É",
                                               ".",
                                               " ",
                                               "Kelvin",
                                               "Kelvin",
                                               "disk",
                                               "DISK",
                                               "diſk",
                                               "x",
                                               "\x1b[1mER\x1b[0mROR",
                                               "fa\ril",
                                               "-",
                                               "\xFF"};
  std::string log;
  for (uint32_t lines = choices.below(12); lines > 0; --lines) {
    for (uint32_t left = choices.below(6); left > 0; --left) log += choices.of(kWords);
    log += choices.below(8) == 0 ? "\r\n" : "\n";
  }
  return log;
}

// Whether a match has taken too long, which depends on the machine.
bool isSlow(const LineFilter& filter) {
  for (size_t i = 0; i < filter.size(); ++i) {
    if (filter.counts(i).tooSlow > 0) return true;
  }
  return false;
}

TEST(LineFilter, GivesTheSameOutcomesWithAndWithoutItsSearch) {
  Choices choices(11);
  int searched = 0;
  int slow = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<Rule> rules;
    for (uint32_t left = 1 + choices.below(4); left > 0; --left) {
      std::string pattern = somePattern(choices, 0);
      if (choices.below(2) == 0) pattern.insert(0, "(?i)");
      rules.push_back(makeRule(pattern, static_cast<FilterOutcome>(choices.below(4))));
    }
    LineFilter with(Search::Always);
    LineFilter without(Search::Never);
    const auto problem = with.setRules(rules);
    ASSERT_EQ(problem.has_value(), without.setRules(rules).has_value());
    if (problem) continue;
    ++searched;
    for (int block = 0; block < 3; ++block) {
      const std::string log = someLog(choices);
      const auto expected = decideLines(without, log);
      const auto found = decideLines(with, log);
      ASSERT_EQ(found.size(), expected.size());
      if (isSlow(with) || isSlow(without)) {
        ++slow;
        break;
      }
      for (size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].rule, expected[i].rule) << rules.front().match << "\non:\n" << log;
      }
    }
  }
  EXPECT_GT(searched, 3000);
  EXPECT_LT(slow, 100);
}

TEST(LineFilter, SearchesBlocksOnceAFloodHasBegun) {
  LineFilter filter;
  set(filter, {makeRule("needle", kInject), makeRule("", kDrop)});
  const size_t before = filter.bytes();
  std::string block;
  while (block.size() < LineSearch::kFloodBytes) block += "hay hay hay hay hay\n";
  block += "a needle\n";
  const auto decisions = decideLines(filter, block);
  EXPECT_EQ(decisions.back().outcome, kInject);
  EXPECT_EQ(decisions.front().outcome, kDrop);
  EXPECT_GT(filter.bytes(), before);
  EXPECT_LE(filter.bytes(), before + size_t{8} * 1024);
  set(filter, {makeRule("straw", kInject), makeRule("", kDrop)});
  EXPECT_EQ(decideLines(filter, "needle\nstraw\n").back().outcome, kInject);
}

// --- test of rules, older patterns ---

TEST(TryRules, SaysWhatEachLineWouldHaveGot) {
  Rule rule = makeRule("down", kInject);
  rule.cooldown = Millis(1000);
  const auto decisions = tryRules({makeRule("ok", kDrop), rule}, {"ok", "down", "down", "else"});
  ASSERT_TRUE(decisions);
  std::vector<FilterOutcome> outcomes;
  for (const Decision& decision : decisions.value()) outcomes.push_back(decision.outcome);
  EXPECT_EQ(outcomes, (std::vector<FilterOutcome>{kDrop, kInject, kInject, kKeep}));
  EXPECT_FALSE(tryRules({makeRule("(", kDrop)}, {"a"}));
}

TEST(TryRules, NamesWhatMakesFilteringSlow) {
  EXPECT_EQ(explainSlowness(makeRule("ERROR", kInject)), "");
  EXPECT_EQ(explainSlowness(makeRule("", kDrop)), "");
  EXPECT_NE(explainSlowness(makeRule("x|y", kDrop)).find("tried on every line"), std::string::npos);
  EXPECT_NE(explainSlowness(makeRule("(a+)+b", kDrop)).find("within a repeat"), std::string::npos);
  EXPECT_NE(explainSlowness(makeRule(".*error.*", kDrop)).find("not needed"), std::string::npos);
  EXPECT_NE(explainSlowness(makeRule("abc.*b.*c", kDrop)).find("combinations"), std::string::npos);
}

FilterOutcome withOld(const OldPatterns& patterns, std::string_view text) {
  LineFilter filter;
  set(filter, convertPatterns(patterns));
  return decideAt(filter, text);
}

TEST(OldPatterns, BecomeRules) {
  EXPECT_TRUE(convertPatterns({}).empty());
  EXPECT_EQ(withOld({"", "debug", ""}, "DEBUG x"), kDrop);
  EXPECT_EQ(withOld({"", "debug", ""}, "x"), kKeep);
  EXPECT_EQ(withOld({"error", "", ""}, "an Error"), kKeep);
  EXPECT_EQ(withOld({"error", "", ""}, "x"), kDrop);
  EXPECT_EQ(withOld({"", "", "fatal"}, "Fatal"), kInject);
  EXPECT_EQ(withOld({"", "", "fatal"}, "x"), kKeep);
  EXPECT_EQ(withOld({"error", "debug", "fatal"}, "fatal debug"), kDrop);
  EXPECT_EQ(withOld({"error", "debug", "fatal"}, "fatal"), kInject);
}

}  // namespace
}  // namespace tap::lines
