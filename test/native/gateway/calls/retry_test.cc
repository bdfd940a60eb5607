// tool.result with `retryable`: a different instance may answer, or the model may try again.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

std::string retryable(std::string_view id, std::string_view error = "the tab is asleep") {
  return R"({"type":"tool.result","errorCode":"INTERNAL","retryable":true,"id":)" + quote(id) +
         R"(,"error":)" + quote(error) + "}";
}

constexpr std::string_view kHint = "may be tried again";

struct Retry : ::testing::Test {
  Harness tap;
  PeerId session = tap.session("s");

  PeerId tab(const std::string& instance, std::string_view more = "") {
    const PeerId peer = tap.authed();
    tap.say(peer, R"({"type":"hello","protocolVersion":2,"name":"web","session":"s","instance":)" +
                      quote(instance) + R"(,"tools":[{"name":"shot","timeout":1000}])" +
                      std::string(more) + "}");
    EXPECT_EQ(tap.take(peer).type(), "hello.ack");
    tap.clear();
    return peer;
  }
  protocol::CallResult settled() { return tap.expect<protocol::CallResult>(session); }
};

// shows: P-RUN-13
TEST_F(Retry, GoesToTheNextMostRecentlyActiveInstance) {
  const PeerId one = tab("1");
  const PeerId two = tab("2");
  const PeerId three = tab("3");
  tap.call(session, "c", "shot", R"({"x":1})");
  const Message first = tap.take(three, "tool.call");
  tap.say(three, retryable(first.get("id")));
  const Message second = tap.take(two, "tool.call");
  EXPECT_EQ(second.get("args"), R"({"x":1})");
  EXPECT_NE(second.get("id"), first.get("id"));
  EXPECT_EQ(tap.outcome(session), "none");
  EXPECT_EQ(tap.expect<protocol::CallProgress>(session).callId, "c");
  tap.say(two, result(second.get("id")));
  EXPECT_EQ(tap.outcome(session), "c ok \"done\"");
  EXPECT_TRUE(tap.quiet(one));
}

// shows: P-RUN-13
TEST_F(Retry, IsDoneOnceAndThenLeftToTheModel) {
  const PeerId one = tab("1");
  const PeerId two = tab("2");
  const PeerId three = tab("3");
  const std::string first = tap.callTo(session, three, "c", "shot");
  tap.say(three, retryable(first));
  tap.say(two, retryable(tap.take(two, "tool.call").get("id"), "asleep, too"));
  const auto failed = settled();
  EXPECT_NE(failed.text.find("asleep, too"), std::string::npos) << failed.text;
  EXPECT_NE(failed.text.find(kHint), std::string::npos) << failed.text;
  EXPECT_TRUE(tap.quiet(one));
  tap.say(three, result(first));
  EXPECT_EQ(tap.outcome(session), "none");
}

// shows: P-RUN-13
TEST_F(Retry, IsNotDoneWhereTheCallerNamedAnInstance) {
  const PeerId one = tab("1");
  const PeerId two = tab("2");
  tap.call(session, "c", "shot", R"({"target":"1"})");
  tap.say(one, retryable(tap.take(one, "tool.call").get("id")));
  EXPECT_NE(settled().text.find(kHint), std::string::npos);
  EXPECT_TRUE(tap.quiet(two));
}

TEST_F(Retry, IsNotDoneWhereTheFailureIsFinal) {
  tab("1");
  const PeerId two = tab("2");
  tap.say(two, failure(tap.callTo(session, two, "c", "shot"), "NOT_FOUND", "no such page"));
  EXPECT_EQ(settled().text.find(kHint), std::string::npos);
}

// shows: P-RUN-13
TEST_F(Retry, OfAProviderWithoutOtherInstancesIsTheModels) {
  const PeerId alone = tab("1");
  tap.say(alone, retryable(tap.callTo(session, alone, "c", "shot")));
  EXPECT_NE(settled().text.find(kHint), std::string::npos);
  const PeerId plain = tap.bound("plain", "s", {"greet"});
  tap.say(plain, retryable(tap.callTo(session, plain, "d", "greet")));
  EXPECT_NE(settled().text.find(kHint), std::string::npos);
}

TEST_F(Retry, PassesAnInstanceByThatDoesNotServeTheTool) {
  const PeerId one = tab("1");
  const PeerId two = tab("2");
  const PeerId three = tab("3");
  tap.say(two, update("[]"));
  tap.say(three, retryable(tap.callTo(session, three, "c", "shot")));
  EXPECT_TRUE(tap.quiet(two));
  EXPECT_EQ(tap.count(one, "tool.call"), 1u);
}

TEST_F(Retry, HasItsWholeTimeoutAgain) {
  const PeerId one = tab("1");
  const PeerId two = tab("2");
  const std::string id = tap.callTo(session, two, "c", "shot");
  tap.advance(900);
  tap.say(two, retryable(id));
  tap.advance(999);
  EXPECT_EQ(tap.outcome(session), "none");
  tap.advance(1);
  EXPECT_EQ(tap.outcome(session), "c TIMEOUT");
  EXPECT_EQ(tap.count(one, "tool.cancel"), 1u);
  EXPECT_EQ(tap.count(two, "tool.cancel"), 0u);
}

TEST_F(Retry, CanBeCancelledLikeAnyCall) {
  const PeerId one = tab("1");
  const PeerId two = tab("2");
  tap.say(two, retryable(tap.callTo(session, two, "c", "shot")));
  tap.send(session, protocol::CancelCall{"c", ""});
  EXPECT_EQ(tap.count(one, "tool.cancel"), 1u);
  EXPECT_EQ(tap.outcome(session), "none");
}

TEST_F(Retry, WaitsWhereTheOtherInstanceIsBusyAndIsNotDoneWhereItsLineIsFull) {
  const PeerId one = tab("1", R"(,"concurrency":{"max":1})");
  const PeerId two = tab("2");
  tap.call(session, "busy", "shot", R"({"target":"1"})");
  const std::string running = tap.take(one, "tool.call").get("id");
  tap.say(two, push("keep", "the last to be active"));
  for (int i = 0; i < 10; ++i) {
    const std::string id = tap.callTo(session, two, "c" + std::to_string(i), "shot");
    tap.say(two, retryable(id));
    EXPECT_EQ(tap.outcome(session), "none");
  }
  tap.say(two, retryable(tap.callTo(session, two, "late", "shot"), "no luck"));
  const auto late = settled();
  EXPECT_EQ(late.callId, "late");
  EXPECT_EQ(late.code, protocol::ErrorCode::Internal);
  EXPECT_NE(late.text.find("no luck"), std::string::npos) << late.text;
  EXPECT_EQ(tap.count(one, "tool.call"), 0u);
  tap.say(one, result(running));
  EXPECT_EQ(tap.outcome(session), "busy ok \"done\"");
  tap.advance(0);
  EXPECT_EQ(tap.count(one, "tool.call"), 1u);
}

}  // namespace
}  // namespace tap::gateway::test
