#include "lines/cycles.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "cycles_rig.h"
#include "lines_rig.h"
#include "targets.h"

namespace tap::lines {
namespace {

using Texts = std::vector<std::string>;

// --- begin and end ---

TEST(Cycles, BeginWithALineAndEndWithALine) {
  Program program(kCompiler);
  program.lines({"starting", ""});
  program.pass(100);
  program.lines({"build"});
  EXPECT_EQ(program.effects().opened, 1'000'100);
  program.pass(50);
  program.lines({"a.x:1:2: E7 bad", "1 error", "waiting"});
  const Cycle cycle = program.take();
  EXPECT_EQ(cycleText(cycle), "red line\na.x:1:2 E7 bad");
  EXPECT_EQ(cycle.failures[0].number, 4U);
  EXPECT_EQ(cycle.from, 1'000'100);
  EXPECT_EQ(cycle.to, 1'000'150);
  EXPECT_EQ(cycle.firstLine, 3U);
  EXPECT_EQ(cycle.lastLine, 6U);
  EXPECT_EQ(cycle.run, 1U);
  EXPECT_EQ(cycle.count, "1");
  EXPECT_TRUE(cycle.isRecognized);
  EXPECT_FALSE(cycle.exitCode);
  program.lines({"build", "0 errors", "waiting"});
  EXPECT_EQ(cycleText(program.take()), "green line");
}

TEST(Cycles, TheNextBeginEndsOne) {
  Program program(kCompiler);
  program.lines({"build", "a.x:1:2: E7 bad", "build"});
  const Cycle red = program.take();
  EXPECT_EQ(cycleText(red), "red begin\na.x:1:2 E7 bad");
  EXPECT_EQ(red.lastLine, 2U);
  program.lines({"build", "0 errors", "waiting"});
  const Cycle green = program.take();
  EXPECT_EQ(cycleText(green), "green line");
  EXPECT_EQ(green.firstLine, 3U) << "a begin without anything in between begins no other";
}

TEST(Cycles, AClearedScreenBeginsOne) {
  for (const std::string clear : {"\x1B[2J", "\x1B[3J",
                                  "\x1B"
                                  "c"}) {
    Program program(kCompiler);
    program.lines({"a.x:1:2: E7 bad", clear + "0 errors", "waiting"});
    ASSERT_EQ(program.closed().size(), 2U);
    EXPECT_EQ(cycleText(program.closed()[0]), "red begin\na.x:1:2 E7 bad");
    EXPECT_EQ(cycleText(program.closed()[1]), "green line");
    EXPECT_TRUE(program.effects().opened);
  }
  Program program(R"({"runsOn": true, "clearBegins": false, "red": "^red"})");
  program.lines({"red", "\x1B[2Jred"});
  EXPECT_TRUE(program.closed().empty());
}

TEST(Cycles, SilenceAfterASummaryEndsOne) {
  Program program(kTests);
  program.lines({"ok one", "passed"});
  program.pass(299);
  EXPECT_TRUE(program.closed().empty());
  program.lines({"took 3 s"});
  program.pass(300);
  const Cycle cycle = program.take();
  EXPECT_EQ(cycleText(cycle), "green quiet");
  EXPECT_EQ(cycle.to, 1'000'599);
  EXPECT_EQ(cycle.ran, Texts{"one"});
}

TEST(Cycles, SilenceAfterFailuresEndsOneLater) {
  Program tests(kTests);
  tests.lines({"not ok one"});
  tests.pass(1999);
  EXPECT_TRUE(tests.closed().empty());
  tests.pass(1);
  EXPECT_EQ(cycleText(tests.take()), "red quiet\n[one]");
  // Where an end is to come a failure is not the last line.
  Program compiler(kCompiler);
  compiler.lines({"build", "a.x:1:2: E7 bad"});
  compiler.pass(9999);
  EXPECT_TRUE(compiler.closed().empty());
  compiler.pass(1);
  EXPECT_EQ(compiler.take().verdict, Verdict::Red);
}

TEST(Cycles, OtherLinesDoNotHoldBackAVerdict) {
  Program program(kTests);
  program.lines({"passed"});
  for (int i = 0; i < 100; ++i) {
    program.pass(100);
    program.lines({"GET /"});
  }
  EXPECT_EQ(program.take().to, 1'010'000);
}

TEST(Cycles, ALateTimerChangesNothing) {
  Program program(kTests);
  program.lines({"passed"});
  program.passLate(5000);
  program.lines({"not ok one"});
  EXPECT_EQ(cycleText(program.take()), "green quiet");
  program.pass(2000);
  const Cycle second = program.take();
  EXPECT_EQ(second.verdict, Verdict::Red);
  EXPECT_EQ(second.from, 1'005'000);
}

TEST(Cycles, LinesOfLongAgoBelongToNone) {
  Program program(kTests);
  program.lines({"GET /"});
  program.pass(60'000);
  program.lines({"serving"});
  program.pass(1000);
  const Cycle cycle = program.take();
  EXPECT_EQ(cycleText(cycle), "green quiet");
  EXPECT_EQ(cycle.from, 1'060'000);
  EXPECT_EQ(cycle.firstLine, 2U);
}

TEST(Cycles, ABuildThatNeverSaysGreenIsRed) {
  Program program(kCompiler);
  program.lines({"build", "something unheard of", "waiting"});
  const Cycle cycle = program.take();
  EXPECT_EQ(cycleText(cycle), "red line");
  program.lines({"build", "interrupted", "build"});
  EXPECT_EQ(cycleText(program.take()), "red begin");
  program.lines({"waiting"});
  EXPECT_TRUE(program.closed().empty()) << "there was no build";
}

TEST(Cycles, SilenceOrAnEndMayMeanGreen) {
  Program ends(R"({"runsOn": true, "begin": "^build", "end": "^end", "endMeans": "green",
                   "failure": [{"at": "^FAIL"}]})");
  ends.lines({"build", "x", "end"});
  EXPECT_EQ(cycleText(ends.take()), "green? line");
  ends.lines({"build", "FAIL", "end"});
  EXPECT_EQ(ends.take().verdict, Verdict::Red);
  Program quiet(R"({"runsOn": true, "begin": "^start", "quietMeans": "green",
                    "failure": [{"at": "^FAIL"}]})");
  quiet.lines({"start"});
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(quiet.closed().empty());
    quiet.pass(100);
    quiet.lines({"GET /"});
  }
  EXPECT_EQ(cycleText(quiet.take()), "green? quiet");
  quiet.lines({"start", "FAIL"});
  quiet.pass(2000);
  EXPECT_EQ(quiet.take().verdict, Verdict::Red);
}

TEST(Cycles, AFileThatIsLoadedAgainIsGreenUnlessItFails) {
  Program program(R"j({"runsOn": true, "touched": "^reload (?<file>\\S+)", "green": "^ready",
                      "failure": [{"at": "^FAIL (?<file>\\S+)"}]})j");
  program.lines({"reload a.x", "GET /"});
  program.pass(1999);
  EXPECT_TRUE(program.closed().empty());
  program.pass(1);
  const Cycle green = program.take();
  EXPECT_EQ(cycleText(green), "green? quiet");
  EXPECT_EQ(green.ran, Texts{"a.x"});
  program.lines({"reload a.x", "FAIL a.x", "reload a.x", "GET /", "reload b.x"});
  EXPECT_EQ(cycleText(program.take()), "red begin\na.x") << "an early reload is no failure";
}

// --- verdicts ---

TEST(Cycles, HaveTheVerdictOfTheirSummaries) {
  const auto verdict = [](const Texts& lines) {
    Program program(kTests);
    program.lines(lines);
    program.pass(3000);
    return program.take().verdict;
  };
  EXPECT_EQ(verdict({"failed: 1", "passed"}), Verdict::Green) << "it may be the next build";
  EXPECT_EQ(verdict({"passed", "failed: 1"}), Verdict::Red);
  EXPECT_EQ(verdict({"not ok one", "passed"}), Verdict::Green) << "it passed when run again";
  EXPECT_EQ(verdict({"passed", "not ok one"}), Verdict::Red);
  EXPECT_EQ(verdict({"no tests"}), Verdict::Nothing);
  EXPECT_EQ(verdict({"not ok one", "no tests"}), Verdict::Red);
  EXPECT_EQ(verdict({"passed", "no tests"}), Verdict::Green) << "a different part had tests";
  EXPECT_EQ(verdict({"no tests", "passed"}), Verdict::Green);
}

TEST(Cycles, WithBoundsOfTheirOwnAreRedIfAPartIs) {
  Program program(kCompiler);
  program.lines({"build", "2 errors", "0 errors", "waiting", "build", "0 errors", "waiting"});
  ASSERT_EQ(program.closed().size(), 2U);
  EXPECT_EQ(program.closed()[0].verdict, Verdict::Red);
  EXPECT_EQ(program.closed()[1].verdict, Verdict::Green);
}

TEST(Cycles, CountWarnings) {
  Program program(kCompiler);
  program.lines({"build", "warning: a", "warning: b", "0 errors", "waiting"});
  EXPECT_EQ(program.take().warnings, 2U);
  program.lines({"build", "12 errors", "waiting"});
  const Cycle cycle = program.take();
  EXPECT_EQ(cycle.warnings, 0U);
  EXPECT_EQ(cycle.count, "12");
}

TEST(Cycles, OfACommandTheExitCodeDecides) {
  const auto verdict = [](std::optional<int> code, const Texts& lines = {}) {
    Program program(R"({"green": "^passed", "red": "^failed", "none": "^no tests",
                        "exit": {"red": [1], "none": [5], "crash": [2]}})");
    program.lines(lines);
    program.exit(code);
    const Cycle cycle = program.take();
    EXPECT_EQ(cycle.closedBy, CycleEnd::Exit);
    EXPECT_EQ(cycle.exitCode, code);
    return cycle.verdict;
  };
  EXPECT_EQ(verdict(0), Verdict::Green);
  EXPECT_EQ(verdict(0, {"failed"}), Verdict::Green);
  EXPECT_EQ(verdict(0, {"no tests"}), Verdict::Nothing);
  EXPECT_EQ(verdict(0, {"passed", "no tests"}), Verdict::Green);
  EXPECT_EQ(verdict(1, {"no tests"}), Verdict::Nothing);
  EXPECT_EQ(verdict(1, {"no tests", "failed"}), Verdict::Red);
  EXPECT_EQ(verdict(1, {"passed"}), Verdict::Red);
  EXPECT_EQ(verdict(2), Verdict::Crash);
  EXPECT_EQ(verdict(5), Verdict::Nothing);
  EXPECT_EQ(verdict(134), Verdict::Crash);
  EXPECT_EQ(verdict(std::nullopt, {"passed"}), Verdict::Crash) << "a signal";
}

TEST(Cycles, OfACommandTheRunIsTheCycle) {
  Program program(R"({"begin": "^session", "end": "^end", "failure": [{"at": "^FAIL"}]})");
  program.pass(40);
  program.lines({"\x1B[2Jnpm notice", "session", "FAIL", "end", "session", ""});
  program.pass(60'000);
  program.exit(1);
  const Cycle cycle = program.take();
  EXPECT_EQ(cycleText(cycle), "red exit\n");
  EXPECT_EQ(cycle.from, 1'000'000);
  EXPECT_EQ(cycle.to, 1'060'040);
  EXPECT_EQ(cycle.firstLine, 1U);
  EXPECT_EQ(cycle.lastLine, 6U);
  program.begin();
  program.exit(127);
  const Cycle second = program.take();
  EXPECT_EQ(cycleText(second), "red exit");
  EXPECT_EQ(second.run, 2U);
  EXPECT_FALSE(second.isRecognized);
  EXPECT_EQ(second.firstLine, 0U);
}

TEST(Cycles, TheEndOfAWatcherIsAlwaysThere) {
  Program program(kCompiler);
  program.lines({"build", "0 errors", "waiting"});
  (void)program.take();
  program.exit(0);
  EXPECT_EQ(cycleText(program.take()), "unknown exit");
  program.begin();
  program.lines({"build", "a.x:1:2: E7 bad"});
  program.exit(std::nullopt);
  const Cycle cycle = program.take();
  EXPECT_EQ(cycleText(cycle), "red exit\na.x:1:2 E7 bad");
  EXPECT_EQ(cycle.run, 2U);
  program.begin();
  program.feed("build\n0 errors");
  program.exit(1);
  EXPECT_EQ(cycleText(program.take()), "green exit");
}

TEST(Cycles, BeginWithTheNextRunWhereTheMatcherComesLate) {
  LineSource source;
  SourceEffects effects;
  const Now now{Time(Millis(0)), 0};
  source.setRun(1);
  source.beginRun(now, effects);
  source.setMatcher(std::move(readMatcher(kCompiler).value()));
  source.feed("build\n1 error\nwaiting\n", Source::Stdout, now, effects);
  source.endRun({1, {}, true, false}, now, effects);
  source.post("build\n1 error\nwaiting", now, effects);
  EXPECT_TRUE(effects.cycles.closed.empty());
  source.setRun(2);
  source.beginRun(now, effects);
  source.feed("build\n1 error\nwaiting\n", Source::Stderr, now, effects);
  ASSERT_EQ(effects.cycles.closed.size(), 1U);
  EXPECT_EQ(effects.cycles.closed[0].run, 2U);
}

// Output of any lines, cut anywhere, with and without the search for literals.
TEST(Cycles, DoNotDependOnThePiecesOfTheOutput) {
  const Texts parts{"build",           "waiting",    "reload a.x", "2 errors",
                    "passed",          "no tests",   "warning: w", "FILE f.t",
                    "ok one",          "sub 1",      "FAIL a",     "FAIL b fine",
                    "at src/x:3",      "at /usr/x:", "E bad",      "> begin",
                    "# note",          "a suite",    "end",        "a.x:3: bad",
                    "  more",          "error E12",  "at z",       "GET /",
                    "\x1B[2Jagain",    "",           "\x1E",       "\x1E\x1E",
                    "caf\xC3\xA9 \xFF"};
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Choices choices(seed);
    std::string input(1, static_cast<char>(choices.below(64)));
    input += "own\n";
    for (uint32_t i = choices.below(60); i > 0; --i) input += choices.of(parts) + "\n";
    fuzz::cycles(input);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tap::lines
