#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "cycles_rig.h"
#include "lines/cycles.h"

namespace tap::lines {
namespace {

using Texts = std::vector<std::string>;

// The failures of a command with these fields, from a run that ends with the code 1.
Cycle readRun(const std::string& fields, const Texts& lines) {
  Program program("{" + fields + "}");
  program.lines(lines);
  program.exit(1);
  return program.take();
}

// The same with a rule: at `FAIL <name>`, and these fields.
Texts readFailures(const std::string& fields, const Texts& lines) {
  const std::string rule =
      R"j({"at": "^FAIL (?<name>\\S+)")j" + (fields.empty() ? "" : ", " + fields);
  Texts texts;
  for (const Failure& failure :
       readRun("\"root\": \"/p\", \"failure\": [" + rule + "}]", lines).failures) {
    texts.push_back(failureText(failure));
  }
  return texts;
}

TEST(CyclesFailures, GroupsOfTwoAlternativesFillOneField) {
  const std::string fields = R"j("failure": [{"at":
      "^(?<file>\\w+)\\((?<line>\\d+)\\): (?<what>.*)|^(?<what2>.*) at (?<file2>\\w+):(?<line2>\\d+)"}])j";
  const Cycle cycle = readRun(fields, {"a(3): bad", "worse at b:4"});
  EXPECT_EQ(cycleText(cycle), "red exit\na:3 bad\nb:4 worse");
}

TEST(CyclesFailures, AFailureHasTheLinesThatItsRuleNames) {
  EXPECT_EQ(readFailures("", {"FAIL a", "  more"}), Texts{"[a]"});
  EXPECT_EQ(readFailures(R"("more": "^ ")", {"FAIL a", "  b", "  c", "d", "  e"}),
            Texts{"[a] |   b |   c"});
  EXPECT_EQ(readFailures(R"("until": "^end|^FAIL")", {"FAIL a", "b", "", "FAIL c", "end", "d"}),
            (Texts{"[a] | b", "[c]"}));
  EXPECT_EQ(readFailures(R"("until": "^end")", {"FAIL a", "b"}), Texts{"[a] | b"})
      << "the run ends within a block";
}

TEST(CyclesFailures, AFailureHasFewLines) {
  const Texts lines{"FAIL a", "1", "2", "3", "4", "5", "E6", "E7"};
  EXPECT_EQ(readFailures(R"("until": "^end")", lines), Texts{"[a] | 1 | 2 | 3 | 4"});
  EXPECT_EQ(readFailures(R"("until": "^end", "most": 2)", lines), Texts{"[a] | 1 | 2"});
  EXPECT_EQ(readFailures(R"("until": "^end", "most": 0)", lines), Texts{"[a]"});
  EXPECT_EQ(readFailures(R"("until": "^end", "most": 3, "prefer": "^E")", lines),
            Texts{"[a] | 1 | E6 | E7"});
  EXPECT_EQ(readFailures(R"("until": "^end", "most": 1, "prefer": "^E")", lines),
            Texts{"[a] | E6"});
  EXPECT_EQ(readFailures(R"("until": "^end", "omit": "^[1-6]")", lines), Texts{"[a] | E6 | E7"});
  EXPECT_EQ(readFailures(R"("until": "^end", "start": "^[35]")", lines),
            Texts{"[a] | 3 | 4 | 5 | E6"});
}

TEST(CyclesFailures, APlaceInsideTheProjectWins) {
  const std::string where =
      R"j("until": "^end", "omit": ".", "where": "at (?<file>\\S+?):(?<line>\\d+)")j";
  const auto place = [&](const Texts& places) {
    Texts lines{"FAIL a"};
    lines.insert(lines.end(), places.begin(), places.end());
    const std::string text = readFailures(where, lines).at(0);
    return text.substr(0, text.find(" [a]"));
  };
  EXPECT_EQ(place({"at /usr/x:1", "at /opt/y:2"}), "/usr/x:1");
  EXPECT_EQ(place({"at /usr/x:1", "at /p/y:2", "at /p/z:3"}), "/p/y:2");
  EXPECT_EQ(place({"at /pq/x:1", "at src/y:2"}), "src/y:2")
      << "a different folder with such a name";
  EXPECT_EQ(place({"at node:fs:1", "at ../y:2", "at file:///p/z:3"}), "file:///p/z:3");
  EXPECT_EQ(place({"at /p/node_modules/y:1", "at ./y:2"}), "./y:2");
}

TEST(CyclesFailures, AFileWithoutALineIsAPlace) {
  const std::string where = R"j("until": "^end", "where": "file (?<file>\\S+)")j";
  EXPECT_EQ(readFailures(where, {"FAIL a", "file /x", "file /y"}).at(0).substr(0, 3), "/x ");
}

TEST(CyclesFailures, LinesBeforeAFailureMayHaveItsPlace) {
  const std::string fields =
      R"j("failure": [{"at": "^FAIL (?<name>.*)", "until": "^end", "before": 2,
                                             "where": "^at (?<file>\\w+):(?<line>\\d+)"}])j";
  const Cycle cycle = readRun(fields, {"at z:9", "x", "at a:1", "FAIL 1", "at-end", "end", "FAIL 2",
                                       "at b:2", "FAIL 3", "end", "at c:3", "x", "x", "FAIL 4"});
  ASSERT_EQ(cycle.failures.size(), 3U);
  EXPECT_EQ(failureText(cycle.failures[0]), "a:1 [1] | at-end");
  EXPECT_EQ(failureText(cycle.failures[1]), "b:2 [2] | at b:2 | FAIL 3");
  EXPECT_EQ(failureText(cycle.failures[2]), "[4]");
}

TEST(CyclesFailures, LinesOfTheCycleBeforeAreNotLookedAt) {
  Program program(R"j({"runsOn": true, "begin": "^build", "failure": [{"at": "^FAIL", "before": 3,
                      "where": "^at (?<file>\\w+)"}]})j");
  program.lines({"build", "at a", "x", "build", "FAIL"});
  program.pass(300);
  EXPECT_EQ(cycleText(program.take()), "red quiet\n");
}

TEST(CyclesFailures, TheNextLineIsTheMessageOrGoesOnWithTheName) {
  EXPECT_EQ(readFailures(R"("what": 1)", {"FAIL a", "", "  bad", "x"}), Texts{"[a] bad"});
  EXPECT_EQ(readFailures(R"("what": 1, "more": "^>")", {"FAIL a", "bad", "> x", "y"}),
            Texts{"[a] bad | > x"});
  EXPECT_EQ(
      readFailures(R"("name": 1, "until": "^FAIL")", {"FAIL a", "  b:", "c", "FAIL d", "FAIL e"}),
      (Texts{"[a b:] | c", "[d]", "[e]"}));
  EXPECT_EQ(readFailures(R"("name": 1)", {"FAIL a", "", "b"}), Texts{"[a]"});
}

TEST(CyclesFailures, SomeBlocksAreNoFailures) {
  EXPECT_EQ(
      readFailures(R"("until": "^end", "skip": "suite")", {"FAIL a", "a suite", "end", "FAIL b"}),
      Texts{"[b]"});
  EXPECT_EQ(readFailures(R"("more": "^ ", "needsMore": true)", {"FAIL a", "x", "FAIL b", " y"}),
            Texts{"[b] |  y"});
  EXPECT_EQ(
      cycleText(readRun(R"("not": "^FAIL 0", "omit": "^sub", "failure": [{"at": "FAIL \\d"}])",
                        {"FAIL 0", "sub FAIL 1"})),
      "red exit");
  // A skipped block does not end its cycle.
  Program program(R"({"runsOn": true, "begin": "^build", "green": "^good",
                      "failure": [{"at": "^FAIL", "until": "^good", "skip": "suite"}]})");
  program.lines({"build", "FAIL", "a suite"});
  program.pass(60'000);
  EXPECT_TRUE(program.closed().empty());
  program.lines({"good"});
  program.pass(300);
  EXPECT_EQ(cycleText(program.take()), "green quiet");
}

TEST(CyclesFailures, ALastFailureCountsWhereThereIsNoOther) {
  const std::string fields =
      R"j("failure": [{"at": "^FAIL (?<name>.*)"}, {"at": "^error (?<name>.*)", "last": true}])j";
  EXPECT_EQ(cycleText(readRun(fields, {"error 1", "error 2"})), "red exit\n[1]\n[2]");
  Texts lines;
  for (int i = 0; i < 100; ++i) lines.push_back("error " + std::to_string(i));
  lines.insert(lines.end(), {"FAIL a", "error b"});
  const Cycle cycle = readRun(fields, lines);
  EXPECT_EQ(cycleText(cycle), "red exit\n[a]");
  EXPECT_EQ(cycle.leftOut, 0U);
}

TEST(CyclesFailures, AHeadingGivesTheFile) {
  Program program(kTests);
  program.lines({"not ok a", "FILE x.t", "not ok b", "not ok c", "FILE y.t", "not ok d"});
  program.pass(2000);
  EXPECT_EQ(cycleText(program.take()), "red quiet\n[a]\nx.t [b]\nx.t [c]\ny.t [d]");
  program.lines({"not ok e"});
  program.pass(2000);
  EXPECT_EQ(cycleText(program.take()), "red quiet\n[e]") << "a heading holds for its cycle";
}

TEST(CyclesFailures, EqualFailuresCountOnce) {
  Program program(kCompiler);
  program.lines({"build", "a.x:1:2: E7 bad", "b.x:1:2: E7 bad", "a.x:1:2: E7 bad", "waiting"});
  const Cycle cycle = program.take();
  EXPECT_EQ(cycleText(cycle), "red line\na.x:1:2 E7 bad\nb.x:1:2 E7 bad");
  EXPECT_EQ(cycle.leftOut, 0U);
}

// --- limits ---

TEST(CyclesFailures, OfManyFailuresTheFirstAndACount) {
  Program program(kCompiler);
  program.lines({"build"});
  for (int i = 0; i < 10'000; ++i) program.lines({"a.x:" + std::to_string(i) + ":1: E1 bad"});
  program.lines({"waiting"});
  const Cycle cycle = program.take();
  EXPECT_EQ(cycle.failures.size(), CycleReader::kMaxFailures);
  EXPECT_EQ(cycle.leftOut, 10'000 - CycleReader::kMaxFailures);
  EXPECT_EQ(cycle.failures.back().line, "49");
}

TEST(CyclesFailures, FailuresHaveABoundInBytes) {
  Texts lines;
  for (int i = 0; i < 40; ++i) {
    lines.push_back("FAIL " + std::to_string(i));
    for (int j = 0; j < 24; ++j) lines.push_back(std::string(1000, 'x'));
  }
  const Cycle cycle =
      readRun(R"j("failure": [{"at": "^FAIL (?<name>.*)", "more": "^x", "most": 24}])j", lines);
  size_t bytes = 0;
  for (const Failure& failure : cycle.failures) {
    for (const std::string& line : failure.lines) bytes += line.size();
  }
  EXPECT_LE(bytes, CycleReader::kMaxBytes);
  EXPECT_EQ(cycle.failures.size(), 5U);
  EXPECT_EQ(cycle.leftOut, 35U);
}

TEST(CyclesFailures, WhatRanHasABound) {
  Program program(kTests);
  for (size_t i = 0; i < CycleReader::kMaxRan + 20; ++i) program.lines({"ok " + std::to_string(i)});
  program.lines({"passed"});
  program.pass(300);
  const Cycle many = program.take();
  EXPECT_EQ(many.ran.size(), CycleReader::kMaxRan);
  EXPECT_EQ(many.ranLeftOut, 20U);
  for (int i = 0; i < 300; ++i) program.lines({"ok " + std::string(2000, 'x')});
  program.lines({"passed"});
  program.pass(300);
  const Cycle large = program.take();
  EXPECT_LE(large.ran.size() * CycleReader::kMaxLineBytes, CycleReader::kMaxRanBytes);
  EXPECT_EQ(large.ran.size() + large.ranLeftOut, 300U);
}

TEST(CyclesFailures, AVeryLongLineIsCut) {
  Program program(kCompiler);
  program.lines({"build", "a.x:1:2: E7 " + std::string(size_t{10} << 20U, 'x'), "waiting"});
  const Cycle cycle = program.take();
  ASSERT_EQ(cycle.failures.size(), 1U);
  EXPECT_EQ(cycle.failures[0].what.size(), CycleReader::kMaxLineBytes);
}

TEST(CyclesFailures, ASlowPatternIsNamedOnceAndOthersGoOn) {
  Program program(R"j({"runsOn": true, "end": "^waiting", "failure":
      [{"at": "(a+)+$"}, {"at": "^FAIL (?<name>\\w+)", "more": "(b+)+$"}], "green": "^good"})j");
  const std::string slow = std::string(5000, 'a') + "!";
  program.lines({slow, slow, "FAIL one", std::string(5000, 'b') + "!", "waiting"});
  EXPECT_EQ(cycleText(program.take()), "red line\n[one]");
  program.lines({slow, "FAIL two", std::string(5000, 'b') + "!", "waiting"});
  EXPECT_EQ(cycleText(program.take()), "red line\n[two]");
  EXPECT_EQ(program.effects().slow, (Texts{"failure[0].at", "failure[1].more"}));
}

TEST(CyclesFailures, CountTheirMemory) {
  CycleReader reader(std::move(readMatcher(kCompiler).value()));
  CycleEffects effects;
  uint64_t number = 0;
  const Now now{Time(Millis(0)), 0};
  const auto feed = [&](const std::string& text) { reader.line({text}, ++number, now, effects); };
  reader.beginRun(1, now);
  feed("build");
  feed("a.x:1:1: E1 bad");
  feed("waiting");
  const size_t idle = reader.bytes();
  EXPECT_LE(idle, size_t{16} * 1024);
  for (int i = 0; i < 10; ++i) feed("a.x:" + std::to_string(i) + ":1: E1 " + std::string(480, 'x'));
  EXPECT_GE(reader.bytes(), idle + size_t{10} * 480);
  feed("waiting");
  EXPECT_LE(reader.bytes(), idle + 1024);
}

}  // namespace
}  // namespace tap::lines
