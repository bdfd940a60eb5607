// What a trusted provider puts before the model is recorded first.
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
  // The prompts that the session has got, without what is around them: "one, two, ".
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
  ASSERT_EQ(first.size(), 1u) << "the second one waits for the session to be idle";
  tap.committed(first[0], false);
  const auto second = commits();
  ASSERT_EQ(second.size(), 1u);
  tap.committed(second[0], true);
  EXPECT_EQ(injected(), "two, ");
}

// Another way to the session: from the queue of those that wait for it to be idle.
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

// Another: by a filter rule that raises it, and by an event that has a prompt.
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

// ---- Answers to the session: what features say with a prompt, and before a tool is used.

struct RecordedAnswersOfFeatures : ::testing::Test {
  Harness tap;
  PeerId session = start();
  PeerId feature = in("tap-freeze", true);
  PeerId other = in("mine", false);

  PeerId start() {
    tap.record();
    return tap.session("s");
  }
  PeerId in(std::string_view name, bool isFeature) {
    const PeerId peer = tap.admitted(isFeature);
    tap.say(peer, hello(name, "s"));
    EXPECT_EQ(tap.take(peer, "hello.ack").type(), "hello.ack");
    return peer;
  }
  void declare(PeerId peer, const std::string& rules) {
    tap.say(peer, R"({"type":"hooks.update","onPreToolUse":)" + rules + "}");
    tap.clear();
    (void)tap.records();
  }
  void context(PeerId peer, std::string_view text) {
    tap.say(peer, R"({"type":"context.update","context":")" + std::string(text) + "\"}");
    tap.clear();
    (void)tap.records();
  }
  void use() {
    tap.send(session, protocol::HookCheck{"c", "bash", Slice(R"({"command":"git push"})")});
  }
  // The rows that are to be durable first.
  std::vector<Stored> commits() {
    std::vector<Stored> rows = tap.records(Collection::Notify);
    for (const Stored& row : rows) EXPECT_NE(row.commit, 0u);
    return rows;
  }
  std::optional<protocol::HookVerdict> verdict() {
    return tap.find<protocol::HookVerdict>(session);
  }
  std::optional<protocol::PromptContext> prompt() {
    return tap.find<protocol::PromptContext>(session);
  }
};

TEST_F(RecordedAnswersOfFeatures, AContextGoesWithThePromptOnceItIsDurable) {
  context(feature, "a freeze is on");
  context(other, "be brief");
  tap.send(session, protocol::PromptSubmitted{"p"});
  EXPECT_FALSE(prompt());
  const std::vector<Stored> rows = commits();
  ASSERT_EQ(rows.size(), 1u) << "those of others are not recorded";
  EXPECT_EQ(rows[0].source, "tap-freeze");
  EXPECT_EQ(rows[0].get("stream"), "context");
  EXPECT_NE(rows[0].payloads.at("prompt").find("a freeze is on"), std::string::npos);
  tap.committed(rows[0].commit, true);
  const auto answer = prompt();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->promptId, "p");
  EXPECT_NE(answer->context.find("a freeze is on"), std::string::npos);
  EXPECT_NE(answer->context.find("be brief"), std::string::npos);
  EXPECT_EQ(tap.timers(), 0u);
}

TEST_F(RecordedAnswersOfFeatures, AContextThatCannotBeRecordedIsLeftOut) {
  context(feature, "a freeze is on");
  context(other, "be brief");
  for (const bool late : {false, true}) {
    tap.send(session, protocol::PromptSubmitted{"p"});
    (void)tap.timeline(session);
    const uint64_t number = commits().at(0).commit;
    if (late) {
      tap.advance(1'999);
      EXPECT_FALSE(prompt());
      tap.advance(1);
    } else {
      tap.committed(number, false);
    }
    const auto answer = prompt();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->context.find("a freeze is on"), std::string::npos);
    EXPECT_NE(answer->context.find("be brief"), std::string::npos);
    EXPECT_NE(tap.timeline(session).find("a text of tap-freeze for the model is left out"),
              std::string::npos);
    tap.committed(number, true);
    EXPECT_FALSE(prompt()) << "too late";
  }
}

TEST_F(RecordedAnswersOfFeatures, ThoseOfEachFeatureAreAllRecorded) {
  const PeerId second = in("tap-second", true);
  context(feature, "one");
  context(second, "two");
  tap.send(session, protocol::PromptSubmitted{"p"});
  const std::vector<Stored> rows = commits();
  ASSERT_EQ(rows.size(), 2u);
  tap.committed(rows[1].commit, true);
  EXPECT_FALSE(prompt()) << "the other one is not durable yet";
  tap.committed(rows[0].commit, true);
  EXPECT_TRUE(prompt());
}

TEST_F(RecordedAnswersOfFeatures, ARulesReasonIsRecordedAndItDeniesInAnyCase) {
  declare(feature, R"([{"match":{"tool":"bash"},"action":"deny","reason":"until Friday"}])");
  for (const bool durable : {true, false}) {
    use();
    EXPECT_FALSE(verdict());
    const std::vector<Stored> rows = commits();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].get("stream"), "rule");
    tap.committed(rows[0].commit, durable);
    const auto answer = verdict();
    ASSERT_TRUE(answer);
    ASSERT_TRUE(answer->deny);
    EXPECT_EQ(answer->deny->find("until Friday") != std::string::npos, durable);
  }
}

TEST_F(RecordedAnswersOfFeatures, AVerdictWaitsForItsRecordForLessThanTheSessionDoes) {
  declare(feature, R"([{"match":{"tool":"bash"},"action":"context","content":"careful"}])");
  use();
  tap.advance(399);
  EXPECT_FALSE(verdict());
  tap.advance(1);
  const auto answer = verdict();
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->deny);
  EXPECT_EQ(answer->context, "");
}

TEST_F(RecordedAnswersOfFeatures, ANoteIsLeftOutWhereItCannotBeRecordedAndThoseOfOthersStay) {
  declare(feature, R"([{"match":{"tool":"bash"},"action":"context","content":"careful"}])");
  declare(other, R"([{"match":{"tool":"bash"},"action":"context","content":"slowly"}])");
  for (const bool durable : {true, false}) {
    use();
    const std::vector<Stored> rows = commits();
    ASSERT_EQ(rows.size(), 1u);
    tap.committed(rows[0].commit, durable);
    const auto answer = verdict();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->context.find("careful") != std::string::npos, durable);
    EXPECT_NE(answer->context.find("slowly"), std::string::npos);
  }
}

TEST_F(RecordedAnswersOfFeatures, AGatesWordsAreRecorded) {
  declare(feature, R"([{"match":{"tool":"bash"},"action":"gate","gateId":"g"}])");
  for (const char* decision : {"deny", "context"}) {
    use();
    const std::string callId = tap.take(feature, "gate.check").get("callId");
    tap.say(feature, R"({"type":"gate.result","gateId":"g","callId":")" + callId +
                         R"(","decision":")" + decision + R"(","reason":"not now"})");
    EXPECT_FALSE(verdict());
    const std::vector<Stored> rows = commits();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_NE(rows[0].payloads.at("prompt").find("not now"), std::string::npos);
    tap.committed(rows[0].commit, true);
    const auto answer = verdict();
    ASSERT_TRUE(answer);
    EXPECT_NE((answer->deny.value_or("") + answer->context).find("not now"), std::string::npos);
  }
}

TEST_F(RecordedAnswersOfFeatures, WithoutAWordOfAFeatureAnswersLeaveAtOnce) {
  declare(other, R"([{"match":{"tool":"bash"},"action":"deny","reason":"no"}])");
  use();
  EXPECT_TRUE(verdict());
  tap.send(session, protocol::PromptSubmitted{"p"});
  EXPECT_TRUE(prompt());
  EXPECT_EQ(commits().size(), 0u);
}

TEST_F(RecordedAnswersOfFeatures, EndWithTheSession) {
  context(feature, "a freeze is on");
  tap.send(session, protocol::PromptSubmitted{"p"});
  const uint64_t number = commits().at(0).commit;
  tap.send(session, protocol::EndSession{"exit"});
  tap.advance(60'000);
  tap.committed(number, true);
  EXPECT_FALSE(prompt());
}

// A push of one in the gateway's own process, as of one in the feature host.
TEST_F(RecordedAnswersOfFeatures, AnInjectInTheGatewaysProcessIsRecordedFirst) {
  tap.say(feature, push("inject", "go on", R"(,"sessionId":"s")"));
  EXPECT_EQ(tap.count<protocol::Inject>(session), 0u);
  const std::vector<Stored> rows = commits();
  ASSERT_EQ(rows.size(), 1u);
  tap.committed(rows[0].commit, true);
  EXPECT_EQ(tap.count<protocol::Inject>(session), 1u);
  tap.say(other, push("inject", "go on", R"(,"sessionId":"s")"));
  EXPECT_EQ(commits().size(), 0u) << "a program's own provider is not a feature";
}

}  // namespace
}  // namespace tap::gateway::test
