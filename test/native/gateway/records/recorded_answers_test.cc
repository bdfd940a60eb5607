// Answers to a session with texts of features: texts for a prompt, and before a tool is used, are
// recorded first. No other way from a feature to the model is open.
#include <gtest/gtest.h>

#include <optional>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

using protocol::Collection;

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
  EXPECT_EQ(rows[0].source, "builtin:freeze");
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
    const std::vector<Stored> left = tap.records(Collection::Push);
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].get("provider"), "tap-freeze");
    EXPECT_EQ(left[0].get("stream"), "context");
    EXPECT_EQ(left[0].get("outcome"), "not recorded");
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
  EXPECT_FALSE(prompt()) << "the other text is not durable yet";
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

// The process may still run: it gets an answer, and a denial remains a denial.
TEST_F(RecordedAnswersOfFeatures, AreGivenWithoutTheTextsWhenTheSessionEnds) {
  declare(feature, R"([{"match":{"tool":"bash"},"action":"deny","reason":"until Friday"}])");
  context(feature, "a freeze is on");
  context(other, "be brief");
  tap.send(session, protocol::PromptSubmitted{"p"});
  use();
  const std::vector<Stored> rows = commits();
  ASSERT_EQ(rows.size(), 2u);
  tap.send(session, protocol::EndSession{"exit"});
  tap.advance(60'000);
  const auto answer = prompt();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->context.find("a freeze is on"), std::string::npos);
  const auto denied = verdict();
  ASSERT_TRUE(denied);
  EXPECT_EQ(denied->deny, "tap provider \"tap-freeze\" does not allow this");
  for (const Stored& row : rows) tap.committed(row.commit, true);
  EXPECT_FALSE(prompt() || verdict()) << "each is answered once";
}

TEST_F(RecordedAnswersOfFeatures, AreForTheProcessThatHasAskedAndNoOther) {
  declare(feature, R"([{"match":{"tool":"bash"},"action":"deny","reason":"until Friday"}])");
  for (const bool replaced : {true, false}) {
    use();
    const uint64_t number = commits().at(0).commit;
    const PeerId former = session;
    if (!replaced) tap.cut(session);
    session = tap.session("s");
    (void)tap.records();
    tap.committed(number, true);
    tap.advance(60'000);
    EXPECT_FALSE(verdict());
    EXPECT_FALSE(tap.find<protocol::HookVerdict>(former));
    EXPECT_TRUE(tap.state().answers.waiting.empty());
  }
}

TEST_F(RecordedAnswersOfFeatures, SeveralChecksEachGetTheirOwn) {
  declare(feature, R"([{"match":{"tool":"bash"},"action":"deny","reason":"until Friday"}])");
  for (const char* id : {"1", "2", "3"})
    tap.send(session, protocol::HookCheck{id, "bash", Slice()});
  const std::vector<Stored> rows = commits();
  ASSERT_EQ(rows.size(), 3u);
  tap.committed(rows[2].commit, true);
  EXPECT_EQ(verdict().value().checkId, "3");
  tap.committed(rows[0].commit, false);
  const auto first = verdict();
  ASSERT_TRUE(first && first->deny);
  EXPECT_EQ(first->checkId, "1");
  tap.advance(400);
  const auto last = verdict();
  ASSERT_TRUE(last && last->deny);
  EXPECT_EQ(last->checkId, "2");
  EXPECT_FALSE(verdict());
}

TEST_F(RecordedAnswersOfFeatures, BeyondAllMeasureDoNotWait) {
  declare(feature, R"([{"match":{"tool":"bash"},"action":"deny","reason":"until Friday"}])");
  for (int i = 0; i < 256; ++i) use();
  EXPECT_FALSE(verdict());
  use();
  const auto answer = verdict();
  ASSERT_TRUE(answer && answer->deny);
  EXPECT_EQ(answer->deny->find("until Friday"), std::string::npos);
  EXPECT_NE(tap.timeline(session).find("too many wait for the record store"), std::string::npos);
}

TEST_F(RecordedAnswersOfFeatures, AReasonOfOneThatWasLostIsRecorded) {
  const std::string token = tap.featureToken();
  const PeerId hosted = tap.boundFeature(token, "tap-hosted", "[]");
  tap.say(hosted, R"({"type":"session.ready","sessionId":"s"})");
  declare(hosted, R"([{"match":{"tool":"bash"},"action":"deny","reason":"until Friday"}])");
  tap.lose(hosted);
  tap.clear();
  use();
  EXPECT_FALSE(verdict());
  const std::vector<Stored> rows = commits();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].source, "builtin:hosted");
  tap.committed(rows[0].commit, true);
  const auto answer = verdict();
  ASSERT_TRUE(answer && answer->deny);
  EXPECT_NE(answer->deny->find("until Friday"), std::string::npos);
}

// The gateway's own texts are not a feature's.
TEST_F(RecordedAnswersOfFeatures, DenialsWithoutWordsOfTheFeatureLeaveAtOnce) {
  declare(feature, R"([{"match":{"tool":"bash"},"action":"deny"}])");
  use();
  EXPECT_TRUE(verdict());
  declare(feature, R"([{"match":{"tool":"bash"},"action":"gate","gateId":"g"}])");
  use();
  EXPECT_FALSE(verdict());
  tap.advance(5'000);
  const auto answer = verdict();
  ASSERT_TRUE(answer && answer->deny);
  EXPECT_NE(answer->deny->find("did not respond in time"), std::string::npos);
  EXPECT_EQ(commits().size(), 0u);
}

// The CLI builds the system message again and again: no row says when the model has had it.
TEST_F(RecordedAnswersOfFeatures, ATextInTheSystemMessageIsRefused) {
  for (const char* transform :
       {R"({"action":"append","content":"x"})", R"({"action":"callback"})"}) {
    tap.say(feature, R"({"type":"hooks.update","requestId":"1","transforms":{"tone":)" +
                         std::string(transform) + "}}");
    const Message error = tap.take(feature, "error");
    EXPECT_EQ(error.get("code"), "UNAUTHORIZED");
    EXPECT_NE(error.get("message").find("no record would explain"), std::string::npos);
  }
  EXPECT_EQ(tap.count<protocol::Hooks>(session), 0u);
}

// The push of a feature in the gateway's own process, like that of the feature host.
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
