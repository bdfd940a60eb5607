#include "lines/literals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tap::lines {
namespace {

using Literals = std::vector<std::string>;

Literals literalsIn(std::string_view pattern) {
  Literals literals = factsOf(pattern).literals;
  std::ranges::sort(literals);
  return literals;
}

TEST(Literals, AreTheTextOfAPattern) {
  EXPECT_EQ(literalsIn("out of memory"), Literals{"out of memory"});
  EXPECT_EQ(literalsIn("^build failed$"), Literals{"build failed"});
  EXPECT_EQ(literalsIn("\\bERROR\\b"), Literals{"ERROR"});
  EXPECT_EQ(literalsIn("a\\.b\\/c\\[1\\]"), Literals{"a.b/c[1]"});
  EXPECT_EQ(literalsIn("caf\xC3\xA9"), Literals{"caf\xC3\xA9"});
  EXPECT_EQ(literalsIn("a]b}c"), Literals{"a]b}c"});
}

TEST(Literals, AreTheLongestPartWhereThereAreSeveral) {
  EXPECT_EQ(literalsIn("panic: .*nil"), Literals{"panic: "});
  EXPECT_EQ(literalsIn("abc\\d+defgh"), Literals{"defgh"});
  EXPECT_EQ(literalsIn("timed out after \\d+"), Literals{"timed out after "});
  EXPECT_EQ(literalsIn("status=5\\d\\d"), Literals{"status=5"});
}

TEST(Literals, AreOneForEachAlternative) {
  EXPECT_EQ(literalsIn("FATAL|PANIC"), (Literals{"FATAL", "PANIC"}));
  EXPECT_EQ(literalsIn("connection (?:refused|reset)"),
            (Literals{"connection refused", "connection reset"}));
  EXPECT_EQ(literalsIn("(foo|ab)cd"), (Literals{"abcd", "foocd"}));
  EXPECT_EQ(literalsIn("(?<what>error|warning): .*x"), (Literals{"error: ", "warning: "}));
}

TEST(Literals, AreMissingWhereAnAlternativeHasNone) {
  for (const auto* pattern : {"ERROR|x", "ERROR|", "|ERROR", "\\d+|ERROR", "(ERROR|.)", "x|y"}) {
    EXPECT_EQ(literalsIn(pattern), Literals{}) << pattern;
  }
}

TEST(Literals, LeaveOutWhatMayBeMissing) {
  EXPECT_EQ(literalsIn("abcd?"), Literals{"abc"});
  EXPECT_EQ(literalsIn("abcd*"), Literals{"abc"});
  EXPECT_EQ(literalsIn("abcd{0,3}"), Literals{"abc"});
  EXPECT_EQ(literalsIn("(?:abc)?"), Literals{});
  EXPECT_EQ(literalsIn("(?:abc)*def"), Literals{"def"});
  EXPECT_EQ(literalsIn("abc\xC3\xA9?"), Literals{"abc"});
}

TEST(Literals, IncludeWhatIsRepeatedOnce) {
  EXPECT_EQ(literalsIn("abc+def"), Literals{"cdef"});
  EXPECT_EQ(literalsIn("abcd+"), Literals{"abcd"});
  EXPECT_EQ(literalsIn("(?:abc)+"), Literals{"abc"});
  EXPECT_EQ(literalsIn("a{3}"), Literals{"aaa"});
  EXPECT_EQ(literalsIn("a{9}b"), Literals{"aaaa"});
  EXPECT_EQ(literalsIn("a{3,}?b"), Literals{"aaa"});
}

TEST(Literals, AreNotInLooks) {
  EXPECT_EQ(literalsIn("abc(?=def)"), Literals{"abc"});
  EXPECT_EQ(literalsIn("(?!error)"), Literals{});
  EXPECT_EQ(literalsIn("(?<!no )abc"), Literals{"abc"});
  EXPECT_EQ(literalsIn("(?<=at )abc"), Literals{"abc"});
}

TEST(Literals, AreNotInClasses) {
  EXPECT_EQ(literalsIn("[abc]def"), Literals{"def"});
  EXPECT_EQ(literalsIn("[]abc]"), Literals{"abc]"});
  EXPECT_EQ(literalsIn("[^]abc]"), Literals{"abc]"});
  EXPECT_EQ(literalsIn("[\\]x]abc"), Literals{"abc"});
}

TEST(Literals, AreInLowerCaseWhereCaseDoesNotCount) {
  const PatternFacts facts = factsOf("(?i)Error|caf\xC3\xA9s");
  EXPECT_TRUE(facts.caseless);
  EXPECT_EQ(facts.literals, (Literals{"error", "caf"}));
  EXPECT_FALSE(factsOf("Error").caseless);
}

TEST(Literals, AreMissingWhereTheSyntaxIsNotUnderstood) {
  for (const auto* pattern :
       {"\\Qabc\\E", "\\x41bcd", "\\u0041bcd", "(?x)a b c d", "abc(?i)def", "(?i:abc)", "(?>abc)",
        "(abc)\\1", "(*UCP)abc", "\\cAabc", "abc(?#x)", "(?|abc)", "\\p{L}abc", "abc{,3}", "abc{x}",
        "[[:alpha:]]abc", "(?(1)abc)", "(abc)(?1)", "\\k<a>bcd"}) {
    EXPECT_EQ(literalsIn(pattern), Literals{}) << pattern;
  }
}

TEST(Literals, HaveThreeBytesOrMore) {
  EXPECT_EQ(literalsIn("ab"), Literals{});
  EXPECT_EQ(literalsIn("abc"), Literals{"abc"});
  EXPECT_EQ(literalsIn("ab\\tcd"), Literals{});
}

TEST(Literals, BoundTheirNumberAndSize) {
  const PatternFacts many = factsOf("(a|b|c|d|e)(a|b|c|d|e)(a|b|c|d|e)(a|b|c|d|e)end");
  for (const std::string& literal : many.literals) EXPECT_GE(literal.size(), kLeastLiteral);
  EXPECT_LE(many.literals.size(), 16U);
  EXPECT_EQ(factsOf(std::string(1000, '(') + std::string(1000, ')')).literals, Literals{});
  EXPECT_FALSE(factsOf(std::string(1000, 'a')).literals.empty());
}

TEST(PatternFacts, KnowWhatMatchesAlways) {
  for (const auto* pattern : {"", ".*", "^", "$", "^.*$", "(?i).*", "(?:)"}) {
    EXPECT_TRUE(factsOf(pattern).always) << pattern;
  }
  for (const auto* pattern : {".", ".+", "^$", "a*", "\\b"}) {
    EXPECT_FALSE(factsOf(pattern).always) << pattern;
  }
}

TEST(PatternFacts, KnowWhatIsSlow) {
  EXPECT_TRUE(factsOf("(a+)+$").nestedRepeats);
  EXPECT_TRUE(factsOf("((?:x*y)+z)*").nestedRepeats);
  EXPECT_FALSE(factsOf("(ab)+c+").nestedRepeats);
  EXPECT_TRUE(factsOf(".*error").beginsWithWildcard);
  EXPECT_TRUE(factsOf("^.*error").beginsWithWildcard);
  EXPECT_EQ(factsOf("a.*b.*c").wildcards, 2U);
  EXPECT_EQ(factsOf("a[^x]+b").wildcards, 1U);
}

}  // namespace
}  // namespace tap::lines
