#include "base/glob.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tap {
namespace {

bool matches(std::string_view source, std::string_view path) {
  const auto glob = Glob::compile(source);
  EXPECT_TRUE(glob.ok()) << source << ": " << glob.error().message;
  return glob.ok() && glob.value().matches(path);
}

void expectMatches(std::string_view glob, const std::vector<std::string_view>& paths) {
  for (const auto path : paths) EXPECT_TRUE(matches(glob, path)) << glob << " on " << path;
}

void expectMisses(std::string_view glob, const std::vector<std::string_view>& paths) {
  for (const auto path : paths) EXPECT_FALSE(matches(glob, path)) << glob << " on " << path;
}

// Precondition: the glob is refused.
PatternError globError(std::string_view source) {
  auto glob = Glob::compile(source);
  EXPECT_FALSE(glob.ok()) << source;
  return glob.ok() ? PatternError{} : glob.error();
}

TEST(Glob, WithoutASeparatorMatchesTheBaseName) {
  expectMatches("*.ts", {"a.ts", "src/a.ts", "/src/deep/a.ts", "C:\\src\\a.ts", ".ts"});
  expectMisses("*.ts", {"a.tsx", "a.ts/b", "ts"});
  expectMatches(".env", {".env", "/srv/.env", "a\\.env", ".env/"});
  expectMisses(".env", {".env.local", "x.env", ".ENV"});
}

TEST(Glob, WithASeparatorMatchesTheWholePath) {
  expectMatches("src/*.ts", {"src/a.ts", "src\\a.ts"});
  expectMisses("src/*.ts", {"src/a/b.ts", "/src/a.ts", "lib/src/a.ts", "src/a.ts/"});
  expectMatches("/etc/passwd", {"/etc/passwd"});
  expectMatches("src\\*.ts", {"src/a.ts", "src\\a.ts"});
}

// shows: P-HOOK-9
TEST(Glob, ADotSlashAtTheBeginningIsLeftOut) {
  expectMatches("./src/*.ts", {"src/a.ts"});
  expectMatches("././/src/*.ts", {"src/a.ts"});
  expectMatches(".\\src\\*.ts", {"src/a.ts"});
  expectMatches("./*.ts", {"a.ts"});
  expectMisses("./*.ts", {"src/a.ts", "/a.ts", "./a.ts"});
  expectMatches(".../*.ts", {".../a.ts"});
  expectMatches("./", {""});
  EXPECT_EQ(globError("./[a").offset, 2U);
}

TEST(Glob, AStarStaysInItsSegment) {
  expectMatches("a/*/c", {"a/b/c", "a//c", "a/.b/c"});
  expectMisses("a/*/c", {"a/c", "a/b/b/c", "a/b\\b/c"});
  expectMatches("*", {"", "a", "a/b", ".a"});
}

TEST(Glob, TwoStarsCrossSegments) {
  expectMatches("src/**", {"src/", "src/a", "src/a/b.c", "src\\a\\b"});
  expectMisses("src/**", {"src", "srcs/a"});
  expectMatches("**/b", {"b", "a/b", "/b", "a/a/b", "a\\a/b"});
  expectMisses("**/b", {"ab", "a/ab", "b/a"});
  expectMatches("a/**/b", {"a/b", "a/x/b", "a/x/y/b"});
  expectMisses("a/**/b", {"ab", "a/xb", "x/a/b"});
  expectMatches("a**/b", {"a/b", "ax/b", "ax/y/b"});
  expectMisses("a**/b", {"ab"});
  expectMatches("a/***/b", {"a/b", "a/x/y/b"});
  expectMatches("/a**b", {"/ab", "/a/x/b"});
}

TEST(Glob, AQuestionMarkIsOneCharacter) {
  expectMatches("a?c", {"abc",
                        "a\xC3\xA9"
                        "c",
                        "a\xF0\x9F\x98\x80"
                        "c",
                        "a\xFF"
                        "c"});
  expectMisses("a?c", {"ac", "abbc", "a/c", "a\\c"});
}

TEST(Glob, ClassesListRangeAndExclude) {
  expectMatches("[abc]x", {"ax", "bx", "cx"});
  expectMisses("[abc]x", {"dx", "x", "abx"});
  expectMatches("v[0-9a-c].txt", {"v0.txt", "vb.txt"});
  expectMisses("v[0-9a-c].txt", {"vd.txt", "v-.txt"});
  expectMatches("[!a-c]", {"d", "\xC3\xA9", "\xFF"});
  expectMatches("[^a-c]", {"d"});
  expectMisses("[!a-c]", {"a", "b", ""});
  expectMatches("[\xC3\xA0-\xC3\xBF]", {"\xC3\xA9"});
  expectMisses("x/[!a]b", {"x//b", "x/\\b"});
  expectMisses("[/a]/b", {"//b"});
}

TEST(Glob, ClassesQuote) {
  expectMatches("[*]", {"*"});
  expectMisses("[*]", {"a"});
  expectMatches("[[]x[]]", {"[x]"});
  expectMatches("[]a]", {"]", "a"});
  expectMatches("[!]]", {"a"});
  expectMatches("[a-]", {"a", "-"});
  expectMatches("[-a]", {"a", "-"});
  expectMatches("[{]a,b}", {"{a,b}"});
}

TEST(Glob, BracesChoose) {
  expectMatches("*.{ts,tsx}", {"a.ts", "a.tsx"});
  expectMisses("*.{ts,tsx}", {"a.js", "a.", "a.ts,tsx"});
  expectMatches("a{,b}c", {"ac", "abc"});
  expectMatches("{a}", {"a"});
  expectMatches("{}", {""});
  expectMatches("{a,{b,c}d}e", {"ae", "bde", "cde"});
  expectMisses("{a,{b,c}d}e", {"be", "ade", "e"});
  expectMatches("{src/**,test}/*.c", {"src/a/b.c", "src//b.c", "test/x.c"});
  expectMatches("{a/,}**/b", {"a/x/b", "a/b", "x/b", "b"});
  expectMatches("[{,}],}", {"{,}", ",,}", "},}"});
}

TEST(Glob, BracesAcrossSegmentsMatchTheWholePath) {
  expectMatches("{a/b,c}", {"a/b", "c"});
  expectMisses("{a/b,c}", {"x/c"});
}

TEST(Glob, EverythingElseStandsForItself) {
  expectMatches("a.b+c(d)|$^,}]", {"a.b+c(d)|$^,}]"});
  expectMisses("a.b", {"axb"});
  expectMatches("", {"", "/"});
}

TEST(Glob, RefusesWhatIsNotClosed) {
  const std::vector<std::pair<std::string_view, size_t>> mistakes{
      {"[", 0},      {"ab[c", 2}, {"a[]", 1}, {"[!]", 0},   {"a{b", 1},
      {"{a,{b}", 0}, {"{", 0},    {"{[}", 1}, {"[z-a]", 1}, {"a[xb-a]", 3},
  };
  for (const auto& [source, offset] : mistakes) {
    const PatternError error = globError(source);
    EXPECT_EQ(error.offset, offset) << source << ": " << error.message;
    EXPECT_FALSE(error.message.empty());
  }
}

TEST(Glob, RefusesWhatIsNotUtf8) {
  EXPECT_EQ(globError("ab\xFF").offset, 2U);
  EXPECT_EQ(globError("a\xC3").offset, 2U);
}

TEST(Glob, IsAtMostAKilobyteLong) {
  for (const size_t size : {size_t{1023}, size_t{1024}}) {
    const std::string text(size, 'a');
    EXPECT_TRUE(matches(text, text));
  }
  EXPECT_EQ(globError(std::string(1025, 'a')).offset, 1024U);
  EXPECT_TRUE(matches("{" + std::string(1022, ',') + "}", ""));
  EXPECT_TRUE(matches(std::string(512, '{') + std::string(512, '}'), ""));
}

TEST(Glob, LooksAtTheEndOfAPathThatIsTooLong) {
  constexpr size_t kMaxPathSize = Glob::kMaxPathBytes;
  for (const size_t extra : {size_t{0}, size_t{1}, size_t{2}}) {
    const std::string path = "b" + std::string(kMaxPathSize - 4 + extra, '/') + ".cc";
    EXPECT_EQ(matches("b**/.cc", path), extra == 0) << extra;
    EXPECT_TRUE(matches("**/.cc", path)) << extra;
    EXPECT_TRUE(matches("*.cc", path)) << extra;
  }
  std::string accents;
  for (size_t i = 0; i < kMaxPathSize; ++i) accents += "\xC3\xA9";
  EXPECT_TRUE(matches("[\xC3\xA9]*[\xC3\xA9]/", accents + "/"));
}

TEST(Glob, TakesLinearTimeOnWhatDefeatsBacktracking) {
  std::string stars;
  std::string braces;
  std::string classes;
  while (stars.size() < 1000) stars += "**a";
  while (braces.size() < 1000) braces += "{a,a*,*a}";
  while (classes.size() < 1000) classes += "*[ab]";
  const std::string path(Glob::kMaxPathBytes, 'a');
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& glob : {stars, braces, classes}) {
    EXPECT_FALSE(matches(glob + "/x", path + "y"));
    EXPECT_TRUE(matches(glob, path));
  }
  // A fraction of a second; with sanitizers and on a busy machine more.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace tap
