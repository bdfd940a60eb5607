#include "base/line_pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

namespace tap {
namespace {

// For a busy machine.
constexpr std::chrono::seconds kMuchTime{60};

LinePattern linePattern(std::string_view source) {
  auto pattern = LinePattern::compile(source);
  EXPECT_TRUE(pattern.ok()) << source << ": " << pattern.error().message;
  return std::move(pattern.value());
}

TEST(LinePattern, MatchesAsAPatternDoes) {
  PatternBudget budget{kMuchTime};
  LinePattern pattern = linePattern("conflicts=[1-9]$");
  // Before it becomes machine code, and after.
  for (uint32_t i = 0; i < 2 * LinePattern::kUsesUntilJit; ++i) {
    EXPECT_EQ(pattern.matches("ahead=1 conflicts=3", budget), Match::Yes);
    EXPECT_EQ(pattern.matches("ahead=1 conflicts=0", budget), Match::No);
    EXPECT_EQ(pattern.matches("", budget), Match::No);
  }
}

TEST(LinePattern, RefusesWhatAPatternRefuses) {
  for (const std::string& source : {std::string("("), std::string("[z-a]"), std::string(1025, 'a'),
                                    std::string("\\C"), std::string("(?:a{65535}){65535}")}) {
    const auto pattern = Pattern::compile(source);
    const auto ofLines = LinePattern::compile(source);
    ASSERT_FALSE(ofLines.ok()) << source;
    EXPECT_EQ(ofLines.error().message, pattern.error().message);
    EXPECT_EQ(ofLines.error().offset, pattern.error().offset);
  }
}

TEST(LinePattern, HoldsItsTextAloneUntilTheFirstLine) {
  PatternBudget budget{kMuchTime};
  LinePattern pattern = linePattern("panic: .*nil");
  EXPECT_LE(pattern.bytes(), 32U);
  EXPECT_EQ(linePattern("(?<word>\\w+)").groups("one two").at(0).value, "one");
  EXPECT_EQ(pattern.matches("panic: nil", budget), Match::Yes);
  EXPECT_GT(pattern.bytes(), 32U);
}

TEST(LinePattern, BecomesMachineCodeOnceItIsUsedOften) {
  PatternBudget budget{kMuchTime};
  LinePattern pattern = linePattern("panic: .*nil");
  (void)pattern.matches("x", budget);
  const size_t before = pattern.bytes();
  for (uint32_t i = 2; i < LinePattern::kUsesUntilJit; ++i) (void)pattern.matches("x", budget);
  EXPECT_EQ(pattern.bytes(), before);
  EXPECT_LE(before, 1024U);
  (void)pattern.matches("x", budget);
  EXPECT_GE(pattern.bytes(), before);  // equal where a system allows no machine code
}

TEST(LinePattern, LeavesAMatchOfManyStepsToAPattern) {
  PatternBudget budget{kMuchTime};
  LinePattern pattern = linePattern("(a+)+$");
  const std::string line = std::string(2000, 'a') + "b";
  EXPECT_EQ(pattern.matches(line, budget), Match::TimedOut);
  EXPECT_LT(budget.left, kMuchTime);
  EXPECT_EQ(pattern.matches("aaa", budget), Match::Yes);
}

TEST(LinePattern, IsNotTriedOnceItHasUsedUpTheBudget) {
  PatternBudget budget{std::chrono::microseconds(1)};
  LinePattern slow = linePattern("(a+)+$");
  const std::string line = std::string(2000, 'a') + "b";
  EXPECT_EQ(slow.matches(line, budget), Match::TimedOut);
  budget.left = std::chrono::microseconds(0);
  EXPECT_EQ(slow.matches("aaa", budget), Match::TimedOut);
  LinePattern fast = linePattern("a$");
  EXPECT_EQ(fast.matches("aaa", budget), Match::Yes);
  budget.left = kMuchTime;
  EXPECT_EQ(slow.matches("aaa", budget), Match::Yes);
}

TEST(LinePattern, SearchesLongLinesWithoutItsPattern) {
  PatternBudget budget{kMuchTime};
  LinePattern pattern = linePattern("error.*code=\\d+");
  const std::string line = "error " + std::string(8000, 'x');
  for (uint32_t i = 0; i < 2 * LinePattern::kUsesUntilJit; ++i) {
    EXPECT_EQ(pattern.matches(line, budget), Match::No);
    EXPECT_EQ(pattern.matches(line + " code=7", budget), Match::Yes);
  }
}

TEST(LinePattern, GivesNamedGroups) {
  const LinePattern pattern = linePattern("(?<file>\\S+):(?<line>\\d+)(?<rest>x)?(y)?");
  const auto groups = pattern.groups("in a.cc:12");
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].name, "file");
  EXPECT_EQ(groups[0].value, "a.cc");
  EXPECT_EQ(groups[1].name, "line");
  EXPECT_EQ(groups[1].value, "12");
  EXPECT_TRUE(pattern.groups("none").empty());
}

}  // namespace
}  // namespace tap
