#include "lines/literals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tap::lines {
namespace {

using Literals = std::vector<std::string>;

Literals findLiterals(std::string_view pattern) {
  Literals literals = analyzePattern(pattern).literals;
  std::ranges::sort(literals);
  return literals;
}

TEST(Literals, AreTheTextOfAPattern) {
  EXPECT_EQ(findLiterals("out of memory"), Literals{"out of memory"});
  EXPECT_EQ(findLiterals("^build failed$"), Literals{"build failed"});
  EXPECT_EQ(findLiterals("\\bERROR\\b"), Literals{"ERROR"});
  EXPECT_EQ(findLiterals("a\\.b\\/c\\[1\\]"), Literals{"a.b/c[1]"});
  EXPECT_EQ(findLiterals("caf\xC3\xA9"), Literals{"caf\xC3\xA9"});
  EXPECT_EQ(findLiterals("a]b}c"), Literals{"a]b}c"});
}

TEST(Literals, AreTheLongestPartWhereThereAreSeveral) {
  EXPECT_EQ(findLiterals("panic: .*nil"), Literals{"panic: "});
  EXPECT_EQ(findLiterals("abc\\d+defgh"), Literals{"defgh"});
  EXPECT_EQ(findLiterals("timed out after \\d+"), Literals{"timed out after "});
  EXPECT_EQ(findLiterals("status=5\\d\\d"), Literals{"status=5"});
}

TEST(Literals, AreOneForEachAlternative) {
  EXPECT_EQ(findLiterals("FATAL|PANIC"), (Literals{"FATAL", "PANIC"}));
  EXPECT_EQ(findLiterals("connection (?:refused|reset)"),
            (Literals{"connection refused", "connection reset"}));
  EXPECT_EQ(findLiterals("(foo|ab)cd"), (Literals{"abcd", "foocd"}));
  EXPECT_EQ(findLiterals("(?<what>error|warning): .*x"), (Literals{"error: ", "warning: "}));
}

TEST(Literals, AreMissingWhereAnAlternativeHasNone) {
  for (const auto* pattern : {"ERROR|x", "ERROR|", "|ERROR", "\\d+|ERROR", "(ERROR|.)", "x|y"}) {
    EXPECT_EQ(findLiterals(pattern), Literals{}) << pattern;
  }
}

TEST(Literals, LeaveOutWhatMayBeMissing) {
  EXPECT_EQ(findLiterals("abcd?"), Literals{"abc"});
  EXPECT_EQ(findLiterals("abcd*"), Literals{"abc"});
  EXPECT_EQ(findLiterals("abcd{0,3}"), Literals{"abc"});
  EXPECT_EQ(findLiterals("(?:abc)?"), Literals{});
  EXPECT_EQ(findLiterals("(?:abc)*def"), Literals{"def"});
  EXPECT_EQ(findLiterals("abc\xC3\xA9?"), Literals{"abc"});
}

TEST(Literals, IncludeWhatIsRepeatedOnce) {
  EXPECT_EQ(findLiterals("abc+def"), Literals{"cdef"});
  EXPECT_EQ(findLiterals("abcd+"), Literals{"abcd"});
  EXPECT_EQ(findLiterals("(?:abc)+"), Literals{"abc"});
  EXPECT_EQ(findLiterals("a{3}"), Literals{"aaa"});
  EXPECT_EQ(findLiterals("a{9}b"), Literals{"aaaa"});
  EXPECT_EQ(findLiterals("a{3,}?b"), Literals{"aaa"});
}

TEST(Literals, AreNotInLooks) {
  EXPECT_EQ(findLiterals("abc(?=def)"), Literals{"abc"});
  EXPECT_EQ(findLiterals("(?!error)"), Literals{});
  EXPECT_EQ(findLiterals("(?<!no )abc"), Literals{"abc"});
  EXPECT_EQ(findLiterals("(?<=at )abc"), Literals{"abc"});
}

TEST(Literals, AreNotInClasses) {
  EXPECT_EQ(findLiterals("[abc]def"), Literals{"def"});
  EXPECT_EQ(findLiterals("[]abc]"), Literals{"abc]"});
  EXPECT_EQ(findLiterals("[^]abc]"), Literals{"abc]"});
  EXPECT_EQ(findLiterals("[\\]x]abc"), Literals{"abc"});
}

TEST(Literals, AreInLowerCaseWhereCaseDoesNotCount) {
  const PatternFacts facts = analyzePattern("(?i)Error|caf\xC3\xA9s");
  EXPECT_TRUE(facts.caseless);
  EXPECT_EQ(facts.literals, (Literals{"error", "caf"}));
  EXPECT_FALSE(analyzePattern("Error").caseless);
}

TEST(Literals, AreMissingWhereTheSyntaxIsNotUnderstood) {
  for (const auto* pattern :
       {"\\Qabc\\E", "\\x41bcd", "\\u0041bcd", "(?x)a b c d", "abc(?i)def", "(?i:abc)", "(?>abc)",
        "(abc)\\1", "(*UCP)abc", "\\cAabc", "abc(?#x)", "(?|abc)", "\\p{L}abc", "abc{,3}", "abc{x}",
        "[[:alpha:]]abc", "(?(1)abc)", "(abc)(?1)", "\\k<a>bcd"}) {
    EXPECT_EQ(findLiterals(pattern), Literals{}) << pattern;
  }
}

TEST(Literals, HaveThreeBytesOrMore) {
  EXPECT_EQ(findLiterals("ab"), Literals{});
  EXPECT_EQ(findLiterals("abc"), Literals{"abc"});
  EXPECT_EQ(findLiterals("ab\\tcd"), Literals{});
}

TEST(Literals, BoundTheirNumberAndSize) {
  const PatternFacts many = analyzePattern("(a|b|c|d|e)(a|b|c|d|e)(a|b|c|d|e)(a|b|c|d|e)end");
  for (const std::string& literal : many.literals) EXPECT_GE(literal.size(), kMinLiteral);
  EXPECT_LE(many.literals.size(), 16U);
  EXPECT_EQ(analyzePattern(std::string(1000, '(') + std::string(1000, ')')).literals, Literals{});
  EXPECT_FALSE(analyzePattern(std::string(1000, 'a')).literals.empty());
}

TEST(PatternFacts, KnowWhatMatchesAlways) {
  for (const auto* pattern : {"", ".*", "^", "$", "^.*$", "(?i).*", "(?:)"}) {
    EXPECT_TRUE(analyzePattern(pattern).always) << pattern;
  }
  for (const auto* pattern : {".", ".+", "^$", "a*", "\\b"}) {
    EXPECT_FALSE(analyzePattern(pattern).always) << pattern;
  }
}

TEST(PatternFacts, KnowWhatIsSlow) {
  EXPECT_TRUE(analyzePattern("(a+)+$").nestedRepeats);
  EXPECT_TRUE(analyzePattern("((?:x*y)+z)*").nestedRepeats);
  EXPECT_FALSE(analyzePattern("(ab)+c+").nestedRepeats);
  EXPECT_TRUE(analyzePattern(".*error").beginsWithWildcard);
  EXPECT_TRUE(analyzePattern("^.*error").beginsWithWildcard);
  EXPECT_EQ(analyzePattern("a.*b.*c").wildcards, 2U);
  EXPECT_EQ(analyzePattern("a[^x]+b").wildcards, 1U);
}

}  // namespace
}  // namespace tap::lines
