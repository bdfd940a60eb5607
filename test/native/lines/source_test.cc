#include "lines/source.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace tap::lines {
namespace {

using Texts = std::vector<std::string>;

Rule ruleWith(std::string match, FilterOutcome outcome) {
  Rule rule;
  rule.match = std::move(match);
  rule.outcome = outcome;
  return rule;
}

Texts lineTexts(const std::vector<OwnedLine>& lines) {
  Texts texts;
  for (const OwnedLine& line : lines) texts.push_back(line.text);
  return texts;
}

class Emitter : public testing::Test {
 protected:
  void SetUp() override {
    setRules({ruleWith("ERROR", FilterOutcome::Inject), ruleWith("warn", FilterOutcome::Surface),
              ruleWith("debug", FilterOutcome::Drop)});
    begin(1);
    effects_ = {};
  }
  [[nodiscard]] Now now() const { return {Time(Millis(ms_)), 1'000'000 + ms_}; }
  void setRules(const std::vector<Rule>& rules) {
    ASSERT_FALSE(source_.setRules(rules, now(), effects_));
  }
  void feed(std::string_view bytes, Source from = Source::Stdout) {
    source_.feed(bytes, from, now(), effects_);
  }
  // Lets time pass, with all that is due on the way.
  void pass(int64_t ms) {
    const int64_t until = ms_ + ms;
    for (auto next = source_.nextDeadline(); next && next->time_since_epoch().count() <= until;
         next = source_.nextDeadline()) {
      ms_ = std::max(ms_, next->time_since_epoch().count());
      source_.due(now(), effects_);
    }
    ms_ = until;
  }
  void begin(uint32_t run) {
    source_.setRun(run);
    source_.beginRun(now(), effects_);
  }
  void end(const RunEnd& how) { source_.endRun(how, now(), effects_); }

  [[nodiscard]] Texts injected() const {
    Texts texts;
    for (const InjectBatch& batch : effects_.injects) {
      for (const OwnedLine& line : batch.lines) texts.push_back(line.text);
    }
    return texts;
  }

  LineSource source_;
  SourceEffects effects_;
  int64_t ms_ = 0;
};

TEST_F(Emitter, DividesLinesByTheirOutcome) {
  feed("debug 1\nplain\nwarn 2\nERROR 3\n\n");
  EXPECT_EQ(lineTexts(effects_.surfaced), Texts{"warn 2"});
  EXPECT_EQ(lineTexts(effects_.rows), Texts{"plain"});
  EXPECT_TRUE(effects_.injects.empty());
  pass(200);
  ASSERT_EQ(effects_.injects.size(), 1U);
  const OwnedLine& line = effects_.injects[0].lines.at(0);
  EXPECT_EQ(line.text, "ERROR 3");
  EXPECT_EQ(line.run, 1U);
  EXPECT_EQ(line.line, 4U);
  EXPECT_EQ(line.rule, 0);
  EXPECT_EQ(line.source, Source::Stdout);
  const SourceCounters& counters = source_.counters();
  EXPECT_EQ(counters.lines, 5U);
  EXPECT_EQ(counters.dropped, 2U);
  EXPECT_EQ(counters.blank, 1U);
  EXPECT_EQ(counters.kept, 3U);
  EXPECT_EQ(counters.surfaced, 1U);
  EXPECT_EQ(counters.injected, 1U);
}

TEST_F(Emitter, TakesWhatIsPostedAsLinesWithoutARun) {
  RunEnd good;
  good.exitCode = 0;
  good.isExpected = true;
  end(good);
  source_.setRun(0);
  effects_ = {};
  source_.post("ERROR one\nfine", now(), effects_);
  source_.post("warn", now(), effects_);
  pass(200);
  EXPECT_EQ(injected(), Texts({"ERROR one"}));
  EXPECT_EQ(lineTexts(effects_.surfaced), Texts({"warn"}));
  EXPECT_EQ(lineTexts(effects_.rows), Texts({"fine"}));
  std::vector<uint64_t> lines;
  for (const Entry& entry : source_.ring().query({3, 0, FilterOutcome::Keep})) {
    EXPECT_EQ(entry.run, 0U);
    lines.push_back(entry.line);
  }
  EXPECT_EQ(lines, std::vector<uint64_t>({1, 2, 3}));
}

TEST_F(Emitter, MarksWhatComesFromStderr) {
  feed("par", Source::Stdout);
  feed("warn e\n", Source::Stderr);
  feed("tial warn\n", Source::Stdout);
  EXPECT_EQ(lineTexts(effects_.surfaced), (Texts{"warn e", "partial warn"}));
  EXPECT_EQ(effects_.surfaced[0].source, Source::Stderr);
  EXPECT_EQ(effects_.surfaced[1].source, Source::Stdout);
}

TEST_F(Emitter, EndsAPartialLineAfterASecond) {
  feed("ERROR: what now? ");
  EXPECT_EQ(source_.nextDeadline(), Time(Millis(1000)));
  pass(1200);
  EXPECT_EQ(injected(), Texts{"ERROR: what now? "});
  EXPECT_FALSE(source_.nextDeadline());
}

TEST_F(Emitter, InjectsWhatComesWithin200MillisecondsAtOnce) {
  feed("ERROR 1\n");
  pass(199);
  feed("ERROR 2\n");
  EXPECT_TRUE(effects_.injects.empty());
  pass(1);
  feed("ERROR 3\n");
  pass(200);
  ASSERT_EQ(effects_.injects.size(), 2U);
  EXPECT_EQ(lineTexts(effects_.injects[0].lines), (Texts{"ERROR 1", "ERROR 2"}));
  EXPECT_EQ(lineTexts(effects_.injects[1].lines), Texts{"ERROR 3"});
}

TEST_F(Emitter, BoundsABatchAndCountsTheRest) {
  const std::string line = "ERROR " + std::string(993, 'x') + "\n";  // 1,000 bytes with its end
  for (int i = 0; i < 5; ++i) feed(line);
  pass(200);
  ASSERT_EQ(effects_.injects.size(), 1U);
  EXPECT_EQ(effects_.injects[0].lines.size(), 3U);
  EXPECT_EQ(effects_.injects[0].leftOut, 2U);
  feed("ERROR " + std::string(5000, 'y') + "\n");
  pass(200);
  EXPECT_EQ(effects_.injects[1].lines.at(0).text.size(), LineSource::kBatchBytes);
}

TEST_F(Emitter, SaysInTimeWhatIsLeftOutAndAtTheEndTheTotal) {
  for (int i = 0; i < 25; ++i) feed("warn\n");
  EXPECT_EQ(effects_.surfaced.size(), LineSource::kSurfacedPerSecond);
  pass(1999);
  ASSERT_EQ(effects_.notices.size(), 1U);
  EXPECT_EQ(effects_.notices[0].surfaced, 15U);
  EXPECT_FALSE(effects_.notices[0].isTotal);
  for (int i = 0; i < 25; ++i) feed("warn\n");
  pass(5000);
  EXPECT_EQ(effects_.notices.size(), 1U);  // not repeated every second
  end({0, {}, true, false});
  ASSERT_EQ(effects_.notices.size(), 2U);
  EXPECT_EQ(effects_.notices[1].surfaced, 30U);
  EXPECT_TRUE(effects_.notices[1].isTotal);
}

TEST_F(Emitter, LimitsTheRowsOfKeptLines) {
  for (int i = 0; i < 300; ++i) feed("plain\n");
  // A row is for the start of the run.
  EXPECT_EQ(effects_.rows.size(), LineSource::kRowsPerSecond - 1);
  EXPECT_EQ(source_.counters().rowsLeftOut, 201U);
  pass(1000);
  feed("plain\n");
  EXPECT_EQ(effects_.rows.size(), LineSource::kRowsPerSecond);
}

TEST_F(Emitter, FollowsItsDelivery) {
  source_.setDelivery(Delivery::Off);
  feed("ERROR 1\n");
  pass(200);
  EXPECT_TRUE(effects_.injects.empty());
  EXPECT_EQ(lineTexts(effects_.surfaced), Texts{"ERROR 1"});
  source_.setDelivery(Delivery::All);
  feed("plain\nwarn\ndebug\n");
  pass(200);
  EXPECT_EQ(injected(), (Texts{"plain", "warn"}));
}

TEST_F(Emitter, GathersLinesInOneDigest) {
  Rule rule = ruleWith("slow", FilterOutcome::Inject);
  rule.window = Rule::Window{3, Millis(10'000)};
  setRules({rule});
  feed("slow 1\n");
  pass(500);
  feed("slow 2\nslow 3\nslow 4\n");
  pass(200);
  EXPECT_EQ(injected(), Texts{"3 lines in 500 ms:\n[run 1, line 1] slow 1\n[run 1, line 2] slow 2\n"
                              "[run 1, line 3] slow 3"});
  pass(10'000);
  EXPECT_EQ(injected().back(), "1 line in 10 s:\n[run 1, line 4] slow 4");
  EXPECT_EQ(source_.counters().gathered, 4U);
  EXPECT_EQ(source_.ring().query({100, 0, FilterOutcome::Inject}).size(), 2U);
}

TEST_F(Emitter, SendsTheLinesAroundAMatchAsOneText) {
  Rule rule = ruleWith("^error", FilterOutcome::Inject);
  rule.before = 1;
  rule.after = 2;
  setRules({ruleWith("noise", FilterOutcome::Drop), rule});
  feed("a\nb\nerror 1\nc\nnoise\nd\ne\n");
  pass(200);
  EXPECT_EQ(injected(), Texts{"4 lines:\n[run 1, line 2] b\n[run 1, line 3] error 1\n"
                              "[run 1, line 4] c\n[run 1, line 6] d"});
  // A match within these lines is one of them, and no line is sent twice.
  feed("error 2\nerror 3\nf\ng\nerror 4\n");
  pass(2200);
  EXPECT_EQ(injected()[1],
            "5 lines:\n[run 1, line 7] e\n[run 1, line 8] error 2\n"
            "[run 1, line 9] error 3\n[run 1, line 10] f\n[run 1, line 11] g");
  EXPECT_EQ(injected()[2], "1 line:\n[run 1, line 12] error 4");
}

TEST_F(Emitter, EndsTheLinesAfterAMatchBeforeTheOneThatUntilMatches) {
  Rule rule = ruleWith("^error", FilterOutcome::Inject);
  rule.until = "^\\S";
  setRules({rule});
  feed("error 1\n  at a\n  at b\nerror 2\n  at c\nok\n");
  pass(200);
  EXPECT_EQ(injected(), (Texts{"3 lines:\n[run 1, line 1] error 1\n[run 1, line 2]   at a\n"
                               "[run 1, line 3]   at b",
                               "2 lines:\n[run 1, line 4] error 2\n[run 1, line 5]   at c"}));
}

TEST_F(Emitter, BoundsTheLinesAroundAMatch) {
  Rule rule = ruleWith("^error", FilterOutcome::Inject);
  rule.until = "^never";
  setRules({rule});
  feed("error\n");
  for (int i = 0; i < 40; ++i) feed("x\n");
  pass(200);
  ASSERT_EQ(injected().size(), 1U);
  EXPECT_TRUE(injected()[0].starts_with("24 lines:\n"));
  feed("error\nlast\n");
  pass(1900);
  EXPECT_EQ(injected().size(), 1U);
  pass(400);
  EXPECT_EQ(injected().back(), "2 lines:\n[run 1, line 42] error\n[run 1, line 43] last");
}

TEST_F(Emitter, BoundsADigest) {
  Rule rule = ruleWith("slow", FilterOutcome::Inject);
  rule.window = Rule::Window{1000, Millis(1000)};
  setRules({rule});
  for (int i = 0; i < 900; ++i) feed("slow " + std::string(100, 'x') + "\n");
  pass(1200);
  ASSERT_EQ(injected().size(), 1U);
  const std::string text = injected()[0];
  EXPECT_TRUE(text.starts_with("900 lines in 1 s:\n"));
  EXPECT_TRUE(text.ends_with(" more lines"));
  EXPECT_LE(text.size(), LineSource::kBatchBytes);
}

TEST_F(Emitter, EndsDigestsWhenRulesChange) {
  Rule rule = ruleWith("slow", FilterOutcome::Surface);
  rule.window = Rule::Window{10, Millis(1000)};
  setRules({rule});
  feed("slow 1\n");
  pass(100);
  EXPECT_TRUE(source_.setRules({ruleWith("(", FilterOutcome::Drop)}, now(), effects_));
  EXPECT_TRUE(effects_.surfaced.empty());
  setRules({});
  EXPECT_EQ(lineTexts(effects_.surfaced), Texts{"1 line in 100 ms:\n[run 1, line 1] slow 1"});
  pass(5000);
  EXPECT_EQ(effects_.surfaced.size(), 1U);
}

TEST_F(Emitter, ShowsAnUnexpectedEndAndKeepsAnExpectedOne) {
  feed("one\ntwo");
  pass(100);
  end({1, {}, false, false});
  ASSERT_EQ(effects_.injects.size(), 1U);
  EXPECT_EQ(injected(), Texts{"run 1 ended with exit code 1 after 100 ms, 2 lines; the last that "
                              "were kept:\n[run 1, line 1] one\n[run 1, line 2] two"});
  EXPECT_EQ(effects_.injects[0].lines[0].source, Source::Own);
  begin(2);
  end({0, {}, true, false});
  EXPECT_EQ(effects_.injects.size(), 1U);
  EXPECT_EQ(lineTexts(effects_.rows).back(), "run 2 ended with exit code 0 after 0 ms, 0 lines");
  source_.setDelivery(Delivery::Off);
  begin(3);
  end({std::nullopt, "SIGKILL", false, false});
  EXPECT_EQ(lineTexts(effects_.surfaced), Texts{"run 3 ended by SIGKILL after 0 ms, 0 lines"});
  begin(4);
  end({0, {}, true, true});
  EXPECT_EQ(injected().back(), "run 4 ended with exit code 0 after 0 ms, 0 lines");
}

TEST_F(Emitter, HasTheNumberOfARunThatItsOwnerGives) {
  end({0, {}, true, false});
  source_.setRun(7);
  source_.note("run 7 did not start", FilterOutcome::Inject, now(), effects_);
  pass(200);
  EXPECT_EQ(effects_.injects.at(0).lines.at(0).run, 7U);
  begin(8);
  feed("ERROR\n");
  pass(200);
  EXPECT_EQ(effects_.injects.at(1).lines.at(0).run, 8U);
}

TEST_F(Emitter, InjectsTheEndEvenWhereABatchIsFull) {
  for (int i = 0; i < 5; ++i) feed("ERROR " + std::string(993, 'x') + "\n");
  end({2, {}, false, false});
  ASSERT_EQ(effects_.injects.size(), 2U);
  EXPECT_TRUE(effects_.injects[1].lines.at(0).text.starts_with("run 1 ended with exit code 2"));
}

TEST_F(Emitter, ShowsTheEndEvenWhereNoLineIsLeftToShow) {
  source_.setDelivery(Delivery::Off);
  for (int i = 0; i < 50; ++i) feed("warn\n");
  end({2, {}, false, false});
  EXPECT_TRUE(effects_.surfaced.back().text.starts_with("run 1 ended with exit code 2"));
}

TEST_F(Emitter, CountsDigestsAsLines) {
  Rule shown = ruleWith("a", FilterOutcome::Surface);
  shown.window = Rule::Window{1, Millis(1000)};
  Rule told = ruleWith("b", FilterOutcome::Inject);
  told.window = Rule::Window{1, Millis(1000)};
  setRules({shown, told});
  for (int i = 0; i < 500; ++i) feed("a\nb " + std::string(900, 'x') + "\n");
  pass(200);
  EXPECT_EQ(effects_.surfaced.size(), LineSource::kSurfacedPerSecond);
  EXPECT_EQ(effects_.injects.size(), 1U);
}

TEST_F(Emitter, ReportsSilenceOnceUntilALineComes) {
  source_.expectEvery(Millis(60'000), now());
  pass(30'000);
  feed("plain\n");
  pass(59'999);
  EXPECT_TRUE(injected().empty());
  pass(200'000);
  EXPECT_EQ(injected(), Texts{"nothing came for 60 s; something was expected every 60 s"});
  feed("plain\n");
  EXPECT_EQ(lineTexts(effects_.surfaced), Texts{"something came again after 259 s"});
  source_.expectEvery(std::nullopt, now());
  end({0, {}, true, false});
  EXPECT_FALSE(source_.nextDeadline());
}

TEST_F(Emitter, CountsASilenceOverRuns) {
  source_.expectEvery(Millis(60'000), now());
  pass(40'000);
  end({0, {}, true, false});
  begin(2);
  pass(19'999);
  EXPECT_TRUE(injected().empty());
  end({0, {}, true, false});
  pass(400);
  EXPECT_EQ(injected().size(), 1U) << "a run without output is no sign of life";
  source_.noteActivity(now(), effects_);
  EXPECT_EQ(lineTexts(effects_.surfaced), Texts{"something came again after 60 s"});
  pass(59'000);
  EXPECT_EQ(injected().size(), 1U);
}

TEST_F(Emitter, SaysOfEachLineWithinATextWhereItComesFrom) {
  Rule gathered = ruleWith("slow", FilterOutcome::Inject);
  gathered.window = Rule::Window{2, Millis(1000)};
  setRules({gathered});
  feed("fast\nslow\rEmitter other, stream other:\nslow [run 9, line 9]\nslow 2\n");
  pass(200);
  end({1, {}, false, false});
  for (const std::string& text : injected()) {
    size_t at = 0;
    while ((at = text.find('\n', at)) != std::string::npos) {
      EXPECT_EQ(text.substr(++at, 13), "[run 1, line ") << text;
    }
  }
  EXPECT_GE(injected().size(), 2U);
}

TEST_F(Emitter, NamesARuleThatIsTooSlowOnce) {
  setRules({ruleWith("(a+)+$", FilterOutcome::Inject)});
  const std::string line = std::string(5000, 'a') + "b\n";
  for (int i = 0; i < 3; ++i) feed(line);
  ASSERT_EQ(effects_.notices.size(), 1U);
  EXPECT_EQ(effects_.notices[0].kind, SourceNotice::Kind::SlowRule);
  EXPECT_EQ(source_.filter().counts(0).tooSlow, 3U);
}

TEST_F(Emitter, PutsCapturedGroupsIntoTheMetadata) {
  Rule rule = ruleWith("(?<file>\\S+): bad", FilterOutcome::Surface);
  rule.capture = true;
  setRules({rule});
  feed("a.cc: bad\n");
  EXPECT_EQ(effects_.surfaced.at(0).metadata, R"({"file":"a.cc"})");
  EXPECT_EQ(source_.ring().query({1, 0, FilterOutcome::Keep}).at(0).metadata, R"({"file":"a.cc"})");
}

TEST_F(Emitter, TakesFewKilobytesWhereItIsIdle) {
  Texts patterns{"\\bERROR\\b",      "FATAL|PANIC",   "panic: .*nil",   "Traceback \\(most recent",
                 "connection reset", "out of memory", "status=5\\d\\d", "timed out after \\d+",
                 "permission.*root", "build failed"};
  std::vector<Rule> rules;
  for (const std::string& pattern : patterns) {
    rules.push_back(ruleWith(pattern, FilterOutcome::Inject));
  }
  setRules(rules);
  for (int i = 0; i < 20; ++i) feed("a line now and then, without interest\n");
  EXPECT_LE(source_.bytes(), size_t{20} * 1024);
}

TEST_F(Emitter, CostsNoMemoryInAFlood) {
  std::string block;
  while (block.size() < 60'000) block += "ERROR and warn and whatever else a program may say\n";
  size_t injects = 0;
  for (int i = 0; i < 500; ++i) {
    feed(block);
    pass(10);
    injects += effects_.injects.size();
    effects_ = {};
  }
  EXPECT_LE(injects, 26U);  // five a second
  EXPECT_LE(source_.bytes(), size_t{512} * 1024);
  EXPECT_GT(source_.counters().leftOut, 400'000U);
}

}  // namespace
}  // namespace tap::lines
