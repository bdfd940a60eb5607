// Texts of a trusted provider for the model are recorded first.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

using protocol::Collection;

struct Commits : ::testing::Test {
  Harness tap{manyPushes()};
  PeerId session = start();
  PeerId feature = tap.bound("watch", "s");
  PeerId other = tap.bound("q", "s");

  PeerId start() {
    tap.record();
    return tap.session("s");
  }
  void SetUp() override {
    tap.state().providers.find(feature)->trusted = true;
    tap.clear();
    (void)tap.records();
  }
  // The numbers of the rows that are to be durable first.
  std::vector<uint64_t> commits() {
    std::vector<uint64_t> numbers;
    for (const Stored& row : tap.records()) {
      if (row.commit == 0) continue;
      EXPECT_EQ(row.collection, Collection::Notify);
      numbers.push_back(row.commit);
    }
    return numbers;
  }
  // The injected prompts, without their fences: "one, two, ".
  std::string injected() {
    std::string all;
    while (const auto inject = tap.find<protocol::Inject>(session)) {
      for (const char* event : {"one", "two", "three", "four"}) {
        if (inject->prompt.find(event) != std::string::npos) all += std::string(event) + ", ";
      }
    }
    return all;
  }
  void idle() { tap.send(session, protocol::ActivityChanged{protocol::Activity::Idle}); }
};

TEST_F(Commits, APromptLeavesOnceItsRowIsDurable) {
  tap.say(feature, push("inject", "one", R"(,"requestId":"r","stream":"builds")"));
  EXPECT_EQ(tap.take(feature, "ack").get("outcome"), "queued");
  EXPECT_EQ(injected(), "");
  std::vector<Stored> rows = tap.records(Collection::Notify);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].session, "s");
  EXPECT_EQ(rows[0].source, "watch");
  EXPECT_EQ(rows[0].get("stream"), "builds");
  EXPECT_NE(rows[0].payloads.at("prompt").find("one"), std::string::npos);
  tap.committed(rows[0].commit, true);
  EXPECT_EQ(injected(), "one, ");
  rows = tap.records(Collection::Push);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].get("outcome"), "injected");
  tap.committed(1, true);
  EXPECT_EQ(injected(), "") << "once";
  EXPECT_EQ(tap.timers(), 0u);
}

TEST_F(Commits, APromptOfAFeatureIsNoAnswerInARowAndWaitsForNothing) {
  const std::string prompt = R"({"type":"push","level":"inject","prompt":"one","requestId":"r"})";
  for (int i = 0; i < 15; ++i) {
    tap.say(feature, prompt);
    EXPECT_EQ(tap.take(feature, "ack").get("outcome"), "queued") << i;
    const auto numbers = commits();
    ASSERT_EQ(numbers.size(), 1u) << i;
    tap.committed(numbers[0], true);
    EXPECT_EQ(injected(), "one, ") << i;
    tap.say(feature, prompt);
    EXPECT_EQ(tap.errorCode(feature), "RATE_LIMITED") << "the previous push has no answer yet";
    tap.send(session, protocol::ActivityChanged{protocol::Activity::Busy});
    idle();
    tap.advance(1000);
  }
  tap.say(other, push("inject", "two"));
  EXPECT_EQ(injected(), "two, ") << "those of others have their turns still";
}

TEST_F(Commits, WhatOthersPushWaitsBehindIt) {
  tap.say(feature, push("inject", "one"));
  tap.say(other, push("inject", "two"));
  EXPECT_EQ(injected(), "");
  const auto numbers = commits();
  ASSERT_EQ(numbers.size(), 1u);
  tap.committed(numbers[0], true);
  EXPECT_EQ(injected(), "one, two, ");
}

TEST_F(Commits, OneThatCannotBeRecordedIsLeftOutAndTheTimelineSaysSo) {
  tap.say(feature, push("inject", "one"));
  tap.say(other, push("inject", "two"));
  (void)tap.timeline(session);
  tap.committed(commits()[0], false);
  EXPECT_EQ(injected(), "two, ");
  EXPECT_NE(tap.timeline(session).find("a message of watch for the model is left out"),
            std::string::npos);
}

TEST_F(Commits, AfterTwoSecondsItIsLeftOut) {
  tap.say(feature, push("inject", "one"));
  (void)tap.timeline(session);
  const auto numbers = commits();
  tap.advance(1'999);
  EXPECT_EQ(tap.timeline(session), "");
  tap.advance(1);
  EXPECT_NE(tap.timeline(session).find("could not be recorded within 2 s"), std::string::npos);
  tap.committed(numbers[0], true);
  EXPECT_EQ(injected(), "") << "too late";
}

TEST_F(Commits, TheNextOneFollowsWhereItIsLeftOut) {
  tap.say(feature, push("inject", "one"));
  tap.say(feature, push("inject", "two"));
  const auto first = commits();
  ASSERT_EQ(first.size(), 1u) << "the second inject waits for the session to be idle";
  tap.committed(first[0], false);
  const auto second = commits();
  ASSERT_EQ(second.size(), 1u);
  tap.committed(second[0], true);
  EXPECT_EQ(injected(), "two, ");
}

// From the queue of injects that wait for an idle session.
TEST_F(Commits, AQueuedOneIsRecordedWhenItsTurnComes) {
  for (const char* event : {"one", "two", "three"}) tap.say(feature, push("inject", event));
  for (const char* expected : {"one, ", "two, ", "three, "}) {
    const auto numbers = commits();
    ASSERT_EQ(numbers.size(), 1u);
    idle();
    EXPECT_EQ(commits().size(), 0u) << "its turn has not begun";
    EXPECT_EQ(injected(), "");
    tap.committed(numbers[0], true);
    EXPECT_EQ(injected(), expected);
    idle();
  }
}

// By a filter rule with inject, and by an event with a prompt.
TEST_F(Commits, WhateverMakesItAnInject) {
  tap.say(feature,
          R"({"type":"filter.set","stream":"w","rules":[{"match":"o","outcome":"inject"}]})");
  tap.say(feature, push("keep", "one", R"(,"stream":"w")"));
  EXPECT_EQ(injected(), "");
  auto numbers = commits();
  ASSERT_EQ(numbers.size(), 1u);
  tap.committed(numbers[0], true);
  EXPECT_EQ(injected(), "one, ");
  idle();
  tap.say(feature, push("inject", "e", R"(,"prompt":"two")"));
  EXPECT_EQ(injected(), "");
  EXPECT_EQ(commits().size(), 1u);
}

TEST_F(Commits, HoldWhateverTheModeOfTheRecords) {
  for (const RecordMode mode : {RecordMode::NotifyOnly, RecordMode::Off}) {
    tap.record(mode);
    tap.say(feature, push("inject", "one"));
    EXPECT_EQ(injected(), "");
    const auto numbers = commits();
    ASSERT_EQ(numbers.size(), 1u);
    tap.committed(numbers[0], true);
    EXPECT_EQ(injected(), "one, ");
    idle();
  }
}

TEST_F(Commits, AProcessThatComesBackGetsIt) {
  tap.say(feature, push("inject", "one"));
  const auto numbers = commits();
  tap.cut(session);
  tap.committed(numbers[0], true);
  session = tap.link("s");
  EXPECT_EQ(injected(), "one, ");
}

TEST_F(Commits, EndWithTheSession) {
  tap.say(feature, push("inject", "one"));
  const auto numbers = commits();
  tap.lose(feature);
  tap.lose(other);
  tap.send(session, protocol::EndSession{"exit"});
  tap.committed(numbers[0], true);
  EXPECT_EQ(injected(), "");
}

// How a provider is known to be trusted: by the token that it came with.
TEST(CommitsOfFeatures, HoldForWhomeverHasAFeatureToken) {
  Harness tap;
  tap.record();
  const PeerId session = tap.session("s");
  const PeerId feature = tap.boundFeature(tap.featureToken(), "tap-watch", "[]");
  const PeerId program = tap.bound("q", "s");
  (void)tap.records();
  tap.say(program, push("inject", "one"));
  EXPECT_EQ(tap.count<protocol::Inject>(session), 1u);
  tap.say(feature, push("inject", "two", R"(,"sessionId":"s")"));
  EXPECT_EQ(tap.count<protocol::Inject>(session), 1u);
  const std::vector<Stored> rows = tap.records(Collection::Notify);
  ASSERT_EQ(rows.size(), 1u);
  tap.committed(rows[0].commit, true);
  EXPECT_EQ(tap.count<protocol::Inject>(session), 2u);
}

TEST_F(Commits, ANumberThatNobodyWaitsForIsIgnored) {
  tap.say(feature, push("inject", "one"));
  for (const uint64_t number : {uint64_t{0}, uint64_t{99}}) tap.committed(number, true);
  EXPECT_EQ(injected(), "");
}

// Of tap's own features: the line that the user sees, whose change it is, and where it goes.
struct Watchers : Commits {
  void SetUp() override {
    Commits::SetUp();
    tap.state().providers.find(feature)->credentials.trust = protocol::Trust::Feature;
  }
  // Pushes, has it recorded, and ends the turn.
  std::string turn(std::string_view more) {
    tap.say(feature, push("inject", "one", more));
    for (const uint64_t number : commits()) tap.committed(number, true);
    const std::string sent = injected();
    tap.send(session, protocol::ActivityChanged{protocol::Activity::Busy});
    idle();
    tap.advance(1000);
    return sent;
  }
};

TEST_F(Watchers, ATextHasItsOwnLineOnTheScreenAndNoOther) {
  tap.say(feature, push("inject", "one\ntwo", R"(,"display":"build is red\u001b[2J")"));
  for (const uint64_t number : commits()) tap.committed(number, true);
  EXPECT_EQ(tap.expect<protocol::Inject>(session).display, "tap: build is red\\x1b[2J");
  tap.say(feature, push("surface", "green", R"(,"display":"build is green")"));
  EXPECT_EQ(tap.timeline(session), "tap: build is green\n");
  tap.say(feature, push("inject", "two", R"(,"display":"tests are red")"));
  EXPECT_EQ(tap.timeline(session), "") << "its line comes with it";
  idle();
  for (const uint64_t number : commits()) tap.committed(number, true);
  EXPECT_EQ(tap.expect<protocol::Inject>(session).display, "tap: tests are red");
}

TEST_F(Watchers, GoIntoTheTurnThatRunsWithoutOneOfTheirOwn) {
  EXPECT_EQ(turn(""), "one, ");
  tap.send(session, protocol::ActivityChanged{protocol::Activity::Busy});
  for (int i = 0; i < 2; ++i) {
    tap.say(feature, push("inject", "two", R"(,"immediate":true)"));
    for (const uint64_t number : commits()) tap.committed(number, true);
    const auto sent = tap.expect<protocol::Inject>(session);
    EXPECT_TRUE(sent.immediate) << i;
  }
  idle();
  tap.say(feature, push("inject", "one", R"(,"immediate":true)"));
  for (const uint64_t number : commits()) tap.committed(number, true);
  EXPECT_FALSE(tap.expect<protocol::Inject>(session).immediate) << "it is a turn of its own";
}

TEST_F(Watchers, CountTheirTurnsInARowThemselvesAndThoseOfTheUserAreNotCounted) {
  for (int i = 0; i < 15; ++i) EXPECT_EQ(turn(R"(,"cause":"user")"), "one, ") << i;
  for (int i = 0; i < 12; ++i) EXPECT_EQ(turn(R"(,"cause":"model")"), "one, ") << i;
  EXPECT_EQ(turn(R"(,"cause":"model")"), "") << "12 turns of the session";
  EXPECT_EQ(turn(R"(,"cause":"user")"), "one, ") << "what waits does not hold it up";
}

TEST_F(Watchers, AreNotHeldUpByPausedInjectsOfTheirParty) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(turn(""), "one, ") << i;
  EXPECT_EQ(turn(""), "");
  EXPECT_EQ(turn(R"(,"cause":"user")"), "one, ");
}

TEST_F(Watchers, AreTheOnlyOnesToSayThat) {
  tap.say(other, push("inject", "one", R"(,"display":"all is well","cause":"user")"));
  EXPECT_NE(tap.expect<protocol::Inject>(session).display.find("one"), std::string::npos);
  tap.send(session, protocol::ActivityChanged{protocol::Activity::Busy});
  tap.say(other, push("inject", "two", R"(,"immediate":true)"));
  EXPECT_EQ(tap.count<protocol::Inject>(session), 0u);
}

TEST_F(Watchers, HearThatTheUserHasSpoken) {
  tap.send(session, protocol::ActivityChanged{protocol::Activity::UserPrompt});
  EXPECT_EQ(tap.take(feature, "session.lifecycle").get("state"), "busy");
  EXPECT_EQ(tap.take(feature, "session.lifecycle").get("state"), "prompted");
  EXPECT_EQ(tap.count(other, "session.lifecycle"), 0u);
}

}  // namespace
}  // namespace tap::gateway::test
