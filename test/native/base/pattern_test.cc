#include "base/pattern.h"

#include <gtest/gtest.h>

#ifndef _WIN32
#include <sys/time.h>

#include <csignal>
#include <ctime>
#endif

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tap {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kSubject = Pattern::kMaxSubjectBytes;
// For a busy machine: a thousand times the time that a match may take.
constexpr milliseconds kGenerous{1000};
// For tests where only the answer matters.
constexpr milliseconds kPatience{20'000};

std::string repeat(std::string_view text, size_t count) {
  std::string all;
  for (; count > 0; --count) all += text;
  return all;
}

Pattern compiled(std::string_view source) {
  auto pattern = Pattern::compile(source);
  EXPECT_TRUE(pattern.ok()) << source << ": " << pattern.error().message;
  return std::move(pattern.value());
}

Match match(std::string_view source, std::string_view subject) {
  return compiled(source).matches(subject, kPatience);
}

void expectYes(std::string_view source, std::string_view subject) {
  EXPECT_EQ(match(source, subject), Match::Yes) << source << " on " << subject;
}

void expectNo(std::string_view source, std::string_view subject) {
  EXPECT_EQ(match(source, subject), Match::No) << source << " on " << subject;
}

// Precondition: the pattern is refused.
PatternError patternError(std::string_view source) {
  auto pattern = Pattern::compile(source);
  EXPECT_FALSE(pattern.ok()) << source;
  return pattern.ok() ? PatternError{} : pattern.error();
}

TEST(Pattern, MatchesAnywhereInTheSubject) {
  expectYes("conflicts=[1-9]", "ahead=1 conflicts=3");
  expectNo("conflicts=[1-9]", "ahead=1 conflicts=0");
  expectYes("", "");
  expectYes("", "anything");
  expectNo("a", "");
}

TEST(Pattern, DollarIsTheVeryEndAsInJavaScript) {
  expectYes("a$", "a");
  expectNo("a$", "a\n");
  expectNo("^b", "a\nb");
}

TEST(Pattern, EmptyClassesAreThoseOfJavaScript) {
  expectNo("[]", "a");
  expectYes("[^]", "\n");
  expectYes("^a[^]b$", "a\nb");
}

TEST(Pattern, AnUnsetGroupRefersToNothing) {
  expectYes("^(?:(a)|b)\\1c$", "bc");
  expectYes("^\\1(a)$", "a");
}

TEST(Pattern, EscapesAreThoseOfJavaScript) {
  expectYes("^\\x41\\u0042\\u{1F600}$", "AB\xF0\x9F\x98\x80");
  expectYes("^\\t\\n\\r\\f\\0\\cJ$", std::string_view("\t\n\r\f\0\n", 6));
  expectYes("^\\/\\{\\}\\.\\-$", "/{}.-");
  expectYes("[\\b]", "\b");
}

TEST(Pattern, CountsInCharactersAndNotInBytes) {
  expectYes("^.$", "\xC3\xA9");
  expectYes("^.{2}$", "\xE6\xBC\xA2\xF0\x9F\x98\x80");
  expectYes("^[\xC3\xA0-\xC3\xBF]+$", "\xC3\xA9\xC3\xA8");
  expectYes("^\\p{L}+$", "a\xC3\xA9\xE6\xBC\xA2");
  expectNo("^\\w$", "\xC3\xA9");
}

TEST(Pattern, LooksAheadAndBehind) {
  expectYes("a(?=b)", "ab");
  expectNo("a(?!b)", "ab");
  expectYes("(?<=a)b", "ab");
  expectNo("(?<!a)b", "ab");
  expectYes("(?<year>\\d{4})-\\k<year>", "2024-2024");
}

TEST(Pattern, CaseCounts) {
  expectNo("a", "A");
}

TEST(Pattern, RefusesMistakesAndSaysWhere) {
  const std::vector<std::pair<std::string_view, size_t>> mistakes{
      {"(", 1}, {"ab(cd", 5},    {"a)", 1}, {"[a", 2},
      {"*", 0}, {"ab**c*+*", 3}, {"\\", 1}, {"\\C", 2},
  };
  for (const auto& [source, offset] : mistakes) {
    const PatternError error = patternError(source);
    EXPECT_EQ(error.offset, offset) << source << ": " << error.message;
    EXPECT_FALSE(error.message.empty()) << source;
  }
  for (const auto source : {"a{2,1}", "[z-a]", "(?<n>a)(?<n>b)", "(?<=a*)b", "(?:a)(?", "\\p{X}"}) {
    EXPECT_LE(patternError(source).offset, std::string_view(source).size()) << source;
  }
}

TEST(Pattern, RefusesWhatIsNotUtf8) {
  EXPECT_EQ(patternError("ab\xFF").offset, 2U);
  EXPECT_EQ(patternError("\xC3").offset, 0U);
  EXPECT_EQ(patternError("a\xED\xA0\x80").offset, 1U);
}

// shows: P-STREAM-16
TEST(Pattern, IsAtMostAKilobyteLong) {
  for (const size_t size : {size_t{1023}, size_t{1024}}) {
    const std::string text(size, 'a');
    expectYes(text, text);
  }
  EXPECT_EQ(patternError(std::string(1025, 'a')).offset, 1024U);
}

TEST(Pattern, RefusesAnExpansionBeyondAllMeasure) {
  patternError("((((((a{1,9}){1,9}){1,9}){1,9}){1,9}){1,9}){1,9}");
  patternError("(?:a{65535}){65535}");
}

// shows: P-STREAM-16
TEST(Pattern, LooksAtTheFirst64Kilobytes) {
  for (const size_t before : {kSubject - 2, kSubject - 1}) {
    EXPECT_EQ(match("b", std::string(before, 'a') + "b"), Match::Yes) << before;
  }
  EXPECT_EQ(match("b", std::string(kSubject, 'a')), Match::No);
  EXPECT_EQ(match("b", std::string(kSubject, 'a') + "b"), Match::Unseen);
  EXPECT_EQ(match("a", std::string(kSubject, 'a') + "b"), Match::Yes);
}

TEST(Pattern, CutsASubjectBetweenCharacters) {
  for (size_t lead = 0; lead < 4; ++lead) {
    const std::string subject = std::string(kSubject - lead, 'a') + "\xF0\x9F\x98\x80 and more";
    EXPECT_EQ(match("a$", subject), Match::Yes) << lead;
  }
  const std::string fits = std::string(kSubject - 4, 'a') + "\xF0\x9F\x98\x80 and more";
  EXPECT_EQ(match("\\u{1F600}$", fits), Match::Yes);
}

TEST(Pattern, GivesNoAnswerOnWhatIsNotUtf8) {
  EXPECT_EQ(match("a", "a\xFF"), Match::TimedOut);
}

// shows: P-STREAM-15
TEST(Pattern, EndsCatastrophesInTime) {
  const std::string many(kSubject - 2, 'a');
  const std::string accents = repeat("\xC3\xA9", kSubject / 2 - 1);
  const std::vector<std::pair<std::string, std::string>> catastrophes{
      {"(a+)+$", many + "b"},
      {"(a+)+$", std::string(40, 'a') + "b"},
      {"(a|aa)+$", many + "b"},
      {"(a|a)*$", many + "b"},
      {"((a*)*)*cx", many + "x"},
      {"^(([a-z])+.)+[A-Z]([a-z])+$", std::string(200, 'a')},
      {"(?:a{1,200}){1,200}cx", many + "x"},
      {"a*?a*?a*?cx", many + "x"},
      {"(.{1,30000})\\1\\1cx", many + "x"},
      {"(?:(a+)\\1)+cx", many + "x"},
      {"(?=(a+)+c)a+x", many + "x"},
      {"(?:(?=a*)a*)*cx", many + "x"},
      {"(?!(a|a)*c)a+cx", many + "x"},
      {"(?<!b)(a+)+c", many + "xc"},
      {"(\\p{L}+)+\\d", accents + "-1"},
      {"(?:[\xC3\xA0-\xC3\xBF]+|\xC3\xA9)+$", accents + "-"},
      {"(a(?1)*)*cx", many + "x"},
      {"(*NO_JIT)(a+)+$", many + "b"},
      {"(*NO_JIT)((a*)*)*cx", many + "x"},
  };
  for (const auto& [source, subject] : catastrophes) {
    const Pattern pattern = compiled(source);
    const auto start = steady_clock::now();
    EXPECT_EQ(pattern.matches(subject), Match::TimedOut) << source;
    EXPECT_LT(steady_clock::now() - start, kGenerous) << source;
  }
}

// shows: P-STREAM-15
TEST(Pattern, TakesTheDeadlineThatItIsGiven) {
  const Pattern pattern = compiled("(a+)+$");
  const std::string subject = std::string(64, 'a') + "b";
  for (const milliseconds deadline : {milliseconds{0}, milliseconds{5}, milliseconds{20}}) {
    const auto start = steady_clock::now();
    EXPECT_EQ(pattern.matches(subject, deadline), Match::TimedOut);
    EXPECT_GE(steady_clock::now() - start, deadline);
    EXPECT_LT(steady_clock::now() - start, deadline + kGenerous);
  }
}

TEST(Pattern, SharesItsTimeWithOthers) {
  const Pattern slow = compiled("(a+)+$");
  const std::string subject = std::string(64, 'a') + "b";
  PatternBudget time{2 * Pattern::kMatchTime};
  EXPECT_EQ(compiled("a").matches("a", time), Match::Yes);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(slow.matches(subject, time), Match::TimedOut);
  }
  EXPECT_LE(time.left.count(), 0);
  EXPECT_EQ(compiled("a").matches("a", time), Match::TimedOut);
}

#ifndef _WIN32
// The handler of a signal sleeps, like a machine that runs a different process.
TEST(Pattern, DoesNotCountTheTimeInWhichAnotherProcessRuns) {
  const auto former = signal(SIGALRM, [](int) {
    const timespec pause{0, 3'000'000};
    nanosleep(&pause, nullptr);
  });
  const itimerval each{{0, 4'000}, {0, 4'000}};
  setitimer(ITIMER_REAL, &each, nullptr);
  const Pattern pattern = compiled("(?:a|b)*c");
  const std::string subject(40, 'a');
  const auto end = steady_clock::now() + milliseconds(200);
  while (steady_clock::now() < end) {
    PatternBudget time{Pattern::kMatchTime};
    EXPECT_EQ(pattern.matches(subject, time), Match::No);
  }
  const itimerval none{};
  setitimer(ITIMER_REAL, &none, nullptr);
  signal(SIGALRM, former);
}
#endif

TEST(Pattern, AnswersAfterATimeoutAsBefore) {
  const Pattern pattern = compiled("^(a+)+$");
  const std::string bad = std::string(64, 'a') + "b";
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(pattern.matches("aaa", kPatience), Match::Yes);
    EXPECT_EQ(pattern.matches(bad), Match::TimedOut);
    EXPECT_EQ(pattern.matches("b", kPatience), Match::No);
  }
}

// Needs more than the JIT's first stack.
TEST(Pattern, BacktracksThroughAWholeSubjectGivenTime) {
  EXPECT_EQ(match("^(?:a?)*$", std::string(kSubject, 'a')), Match::Yes);
  EXPECT_EQ(match("^(?:a|b)*c$", repeat("ab", kSubject / 2 - 1) + "c"), Match::Yes);
  EXPECT_EQ(match("^(?:a|b)*c$", repeat("ab", kSubject / 2 - 1) + "dc"), Match::No);
}

TEST(Pattern, CanBeMoved) {
  Pattern first = compiled("a");
  Pattern second = std::move(first);
  EXPECT_EQ(second.matches("a", kPatience), Match::Yes);
  first = compiled("b");
  EXPECT_EQ(first.matches("b", kPatience), Match::Yes);
}

}  // namespace
}  // namespace tap
