// hello.concurrency: how many calls run at once, who waits for whom, and when a place is free.
#include <gtest/gtest.h>

#include "gateway/calls/call_slots.h"
#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

std::string limited(std::string_view name, std::string_view session, std::string_view concurrency,
                    std::string_view more = "") {
  return R"({"type":"hello","protocolVersion":2,"name":)" + quote(name) + R"(,"session":)" +
         quote(session) + R"(,"tools":[{"name":"greet","timeout":1000},{"name":"other"}])" +
         R"(,"concurrency":)" + std::string(concurrency) + std::string(more) + "}";
}

struct Concurrency : ::testing::Test {
  Harness tap;
  PeerId session = tap.session("s");

  PeerId bind(std::string_view concurrency, std::string_view session = "s",
              std::string_view more = "") {
    const PeerId peer = tap.authed();
    tap.say(peer, limited("p", session, concurrency, more));
    EXPECT_EQ(tap.take(peer).type(), "hello.ack");
    tap.clear();
    return peer;
  }
  void call(int number, const std::string& tool = "greet") {
    tap.call(session, std::to_string(number), tool);
  }
  // The ids of the calls that the provider has got since the last look.
  std::vector<std::string> got(PeerId peer) {
    tap.advance(0);
    std::vector<std::string> ids;
    while (tap.count(peer, "tool.call") > 0) ids.push_back(tap.take(peer, "tool.call").get("id"));
    return ids;
  }
};

// shows: P-RUN-3
TEST_F(Concurrency, LetsAsManyCallsThroughAsItSays) {
  const PeerId peer = bind(R"({"max":3})");
  for (int i = 1; i <= 2; ++i) call(i);
  EXPECT_EQ(got(peer).size(), 2u);
  call(3);
  EXPECT_EQ(got(peer).size(), 1u);
  call(4);
  EXPECT_EQ(got(peer).size(), 0u);
}

// shows: P-RUN-8
TEST_F(Concurrency, IsWithoutLimitWhereNoneIsSaid) {
  for (const char* none : {"null", "{}", R"({"scope":"tool"})", R"({"max":null})"}) {
    Harness fresh;
    const PeerId in = fresh.session("s");
    const PeerId peer = fresh.authed();
    fresh.say(peer, limited("p", "s", none));
    for (int i = 0; i < 100; ++i) fresh.call(in, std::to_string(i), "greet");
    EXPECT_EQ(fresh.count(peer, "tool.call"), 100u) << none;
    EXPECT_TRUE(fresh.state().queue.empty());
  }
}

// shows: P-RUN-3
TEST_F(Concurrency, StartsWhoWaitsInOrderAsPlacesBecomeFree) {
  const PeerId peer = bind(R"({"max":1})");
  for (int i = 1; i <= 3; ++i) call(i);
  for (int i = 1; i <= 3; ++i) {
    const auto ids = got(peer);
    ASSERT_EQ(ids.size(), 1u);
    tap.say(peer, result(ids[0], std::to_string(i)));
    EXPECT_EQ(tap.outcome(session), std::to_string(i) + " ok " + std::to_string(i));
  }
  EXPECT_EQ(tap.outcome(session), "none");
  EXPECT_TRUE(tap.state().queue.empty());
}

// shows: P-RUN-3
TEST_F(Concurrency, LetsNobodyOvertakeTheLine) {
  const PeerId peer = bind(R"({"max":1})");
  call(1);
  call(2);
  tap.say(peer, result(tap.take(peer).get("id")));
  // The place is free, but it is the second call's.
  call(3);
  EXPECT_EQ(tap.count(peer, "tool.call"), 0u);
  const auto ids = got(peer);
  ASSERT_EQ(ids.size(), 1u);
  tap.say(peer, result(ids[0]));
  EXPECT_EQ(tap.outcome(session), "1 ok \"done\"");
  EXPECT_EQ(tap.outcome(session), "2 ok \"done\"");
}

// shows: P-RUN-4
TEST_F(Concurrency, LetsTenCallsWaitAndNoMore) {
  const PeerId peer = bind(R"({"max":1})");
  for (int i = 0; i <= 10; ++i) call(i);
  EXPECT_EQ(tap.outcome(session), "none");
  call(11);
  const auto refused = tap.expect<protocol::CallResult>(session);
  EXPECT_EQ(refused.callId, "11");
  EXPECT_EQ(refused.code, protocol::ErrorCode::RateLimited);
  EXPECT_NE(refused.text.find("busy"), std::string::npos) << refused.text;
  tap.say(peer, result(got(peer).at(0)));
  EXPECT_EQ(got(peer).size(), 1u);
  tap.clear();
  call(12);
  EXPECT_EQ(tap.outcome(session), "none");
  call(13);
  EXPECT_EQ(tap.outcome(session), "13 RATE_LIMITED");
}

// shows: P-RUN-2
TEST_F(Concurrency, CountsTheCallsOfAllSessionsOfAConnection) {
  const PeerId second = tap.session("t");
  const PeerId peer = bind(R"({"max":1})", "all");
  call(1);
  tap.call(second, "2", "greet");
  const auto first = got(peer);
  ASSERT_EQ(first.size(), 1u);
  tap.say(peer, result(first[0]));
  EXPECT_EQ(got(peer).size(), 1u);
}

// shows: P-RUN-2
TEST_F(Concurrency, OfATool_CountsEachToolByItself) {
  const PeerId peer = bind(R"({"max":1,"scope":"tool"})");
  call(1);
  call(2, "other");
  EXPECT_EQ(got(peer).size(), 2u);
  call(3);
  call(4, "other");
  EXPECT_EQ(got(peer).size(), 0u);
}

// shows: P-RUN-2
TEST_F(Concurrency, OfAnInstance_CountsEachInstanceByItself) {
  const PeerId one = bind(R"({"max":1,"scope":"instance"})", "s", R"(,"instance":"1")");
  const PeerId two = bind(R"({"max":1,"scope":"instance"})", "s", R"(,"instance":"2")");
  tap.call(session, "1", "greet", R"({"target":"1"})");
  tap.call(session, "2", "greet", R"({"target":"2"})");
  EXPECT_EQ(got(one).size(), 1u);
  EXPECT_EQ(got(two).size(), 1u);
}

// shows: P-RUN-2
TEST_F(Concurrency, OfAProvider_CountsAllItsInstances) {
  const PeerId one = bind(R"({"max":1,"scope":"provider"})", "s", R"(,"instance":"1")");
  const PeerId two = bind(R"({"max":1,"scope":"provider"})", "s", R"(,"instance":"2")");
  tap.call(session, "1", "greet", R"({"target":"1"})");
  tap.call(session, "2", "greet", R"({"target":"2"})");
  const auto first = got(one);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(got(two).size(), 0u);
  tap.say(one, result(first[0]));
  EXPECT_EQ(got(two).size(), 1u);
}

TEST_F(Concurrency, OfAProvider_IsFreeWhenTheInstanceThatHasThePlaceGoes) {
  const PeerId one = bind(R"({"max":1,"scope":"provider"})", "s", R"(,"instance":"1")");
  const PeerId two = bind(R"({"max":1,"scope":"provider"})", "s", R"(,"instance":"2")");
  tap.call(session, "1", "greet", R"({"target":"1"})");
  tap.send(session, protocol::CancelCall{"1", ""});
  tap.call(session, "2", "greet", R"({"target":"2"})");
  EXPECT_EQ(got(two).size(), 0u);
  tap.lose(one);
  EXPECT_EQ(got(two).size(), 1u);
}

TEST_F(Concurrency, OfAProvider_IsNotSharedWithAStrangerOfThatName) {
  Provider paired(PeerId{77}, Limits());
  paired.name = "p";
  paired.concurrency = {1, protocol::Concurrency::Scope::Provider};
  paired.credentials = {protocol::Trust::External, "t", "ext-tok"};
  Provider ours(PeerId{78}, Limits());
  ours.name = "p";
  ours.concurrency = paired.concurrency;
  EXPECT_NE(slotKey(paired, "greet"), slotKey(ours, "greet"));
}

// shows: P-RUN-7
TEST_F(Concurrency, ACancelledCallKeepsItsPlaceUntilTheProviderReplies) {
  for (const char* reply : {R"("errorCode":"CANCELLED")", R"("data":"late")", R"("error":5)"}) {
    Harness fresh;
    const PeerId in = fresh.session("s");
    const PeerId peer = fresh.authed();
    fresh.say(peer, limited("p", "s", R"({"max":1})"));
    fresh.clear();
    const std::string id = fresh.callTo(in, peer, "1", "greet");
    fresh.call(in, "2", "greet");
    fresh.send(in, protocol::CancelCall{"1", ""});
    fresh.advance(4'999);
    EXPECT_EQ(fresh.count(peer, "tool.call"), 0u);
    fresh.say(peer, R"({"type":"tool.result","id":")" + id + "\"," + reply + "}");
    fresh.advance(0);
    EXPECT_EQ(fresh.count(peer, "tool.call"), 1u) << reply;
    EXPECT_EQ(fresh.outcome(in), "none");
  }
}

// shows: P-RUN-7
TEST_F(Concurrency, ACancelledCallLosesItsPlaceAfterFiveSeconds) {
  const PeerId peer = bind(R"({"max":1})");
  const std::string id = tap.callTo(session, peer, "1", "greet");
  call(2);
  tap.send(session, protocol::CancelCall{"1", ""});
  tap.advance(4'999);
  EXPECT_EQ(got(peer).size(), 0u);
  tap.advance(1);
  EXPECT_EQ(got(peer).size(), 1u);
  call(3);
  tap.say(peer, result(id));  // frees no second place
  EXPECT_EQ(got(peer).size(), 0u);
}

// shows: P-RUN-7
TEST_F(Concurrency, NobodyElseCanFreeTheHeldPlace) {
  const PeerId peer = bind(R"({"max":1})");
  const PeerId thief = tap.bound("thief", "s");
  const std::string id = tap.callTo(session, peer, "1", "greet");
  call(2);
  tap.send(session, protocol::CancelCall{"1", ""});
  tap.say(thief, result(id));
  EXPECT_EQ(got(peer).size(), 0u);
}

// shows: P-RUN-7
TEST_F(Concurrency, ATimedOutCallKeepsItsPlaceForAWhile) {
  const PeerId peer = bind(R"({"max":1})");
  call(1);
  EXPECT_EQ(got(peer).size(), 1u);
  call(2);
  tap.advance(1'000);
  EXPECT_EQ(tap.outcome(session), "1 TIMEOUT");
  EXPECT_EQ(tap.take(peer, "tool.cancel").get("reason"), "timeout");
  EXPECT_EQ(got(peer).size(), 0u);
  tap.advance(5'000);
  EXPECT_EQ(got(peer).size(), 1u);
  EXPECT_EQ(tap.outcome(session), "none");
}

// shows: P-RUN-6
TEST_F(Concurrency, ACallHasItsWholeTimeoutOnceItHasBegun) {
  const PeerId peer = bind(R"({"max":1})");
  const std::string id = tap.callTo(session, peer, "1", "greet");
  call(2);
  tap.advance(900);
  tap.say(peer, result(id));
  EXPECT_EQ(got(peer).size(), 1u);
  EXPECT_EQ(tap.expect<protocol::CallProgress>(session).callId, "2");
  EXPECT_EQ(tap.outcome(session), "1 ok \"done\"");
  tap.advance(999);
  EXPECT_EQ(tap.outcome(session), "none");
  tap.advance(1);
  EXPECT_EQ(tap.outcome(session), "2 TIMEOUT");
}

TEST_F(Concurrency, TheSessionHearsThatAWaitingCallIsNotForgotten) {
  const PeerId peer = bind(R"({"max":1})");
  call(1, "other");
  EXPECT_EQ(got(peer).size(), 1u);
  call(2);
  tap.advance(3'500);
  EXPECT_EQ(tap.count<protocol::CallProgress>(session), 3u);
  EXPECT_EQ(tap.outcome(session), "none");
}

// shows: P-RUN-5
TEST_F(Concurrency, NoCallWaitsForever) {
  const PeerId peer = bind(R"({"max":1})");
  const std::string id = tap.callTo(session, peer, "1", "other");
  call(2);
  for (int minute = 0; minute < 59; ++minute) {
    tap.advance(60'000);
    tap.say(peer, R"({"type":"tool.progress","message":"m","id":")" + id + "\"}");
  }
  EXPECT_EQ(tap.outcome(session), "none");
  tap.advance(60'000);
  EXPECT_EQ(tap.outcome(session), "1 TIMEOUT");
  const auto waited = tap.expect<protocol::CallResult>(session);
  EXPECT_EQ(waited.callId, "2");
  EXPECT_EQ(waited.code, protocol::ErrorCode::Timeout);
  EXPECT_NE(waited.text.find("stood in line"), std::string::npos) << waited.text;
  EXPECT_EQ(tap.count(peer, "tool.cancel"), 1u);
  tap.advance(5'000);
  EXPECT_EQ(got(peer).size(), 0u);
  EXPECT_TRUE(tap.state().queue.empty());
}

// shows: P-RUN-5
TEST_F(Concurrency, AWaitingCallCanBeCancelledAndItsProviderNeverHearsOfIt) {
  const PeerId peer = bind(R"({"max":1})");
  const std::string id = tap.callTo(session, peer, "1", "greet");
  call(2);
  call(3);
  tap.send(session, protocol::CancelCall{"2", ""});
  EXPECT_TRUE(tap.quiet(peer));
  tap.say(peer, result(id));
  const auto third = got(peer);
  ASSERT_EQ(third.size(), 1u);
  tap.say(peer, result(third[0]));
  EXPECT_EQ(tap.outcome(session), "1 ok \"done\"");
  EXPECT_EQ(tap.outcome(session), "3 ok \"done\"");
  EXPECT_TRUE(tap.state().queue.empty());
}

// shows: P-RUN-5
TEST_F(Concurrency, WaitingCallsFailWhenTheProviderGoes) {
  const PeerId peer = bind(R"({"max":1})");
  for (int i = 0; i < 3; ++i) call(i);
  tap.lose(peer);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(tap.expect<protocol::CallResult>(session).code, protocol::ErrorCode::Disconnected);
  }
  EXPECT_EQ(tap.outcome(session), "none");
  tap.advance(0);
  EXPECT_TRUE(tap.state().queue.empty());
}

// shows: P-RUN-5
TEST_F(Concurrency, AGoodbyeStartsNoneOfTheWaitingCalls) {
  const PeerId peer = bind(R"({"max":1})", "all");
  const PeerId second = tap.session("t");
  tap.say(peer, R"({"type":"session.ready","sessionId":"t"})");
  call(1);
  tap.call(second, "2", "greet");
  EXPECT_EQ(got(peer).size(), 1u);
  tap.say(peer, kGoodbye);
  EXPECT_EQ(tap.count(peer, "tool.call"), 0u);
  EXPECT_EQ(tap.outcome(session), "1 DISCONNECTED");
  EXPECT_EQ(tap.outcome(second), "2 DISCONNECTED");
}

// shows: P-RUN-5
TEST_F(Concurrency, WaitingCallsFailWhenTheProviderBindsItselfAnew) {
  const PeerId peer = bind(R"({"max":1})");
  const std::string id = tap.callTo(session, peer, "1", "greet");
  call(2);
  tap.say(peer, limited("p", "s", R"({"max":2})"));
  EXPECT_EQ(tap.count<protocol::CallResult>(session), 2u);
  EXPECT_EQ(tap.count(peer, "tool.cancel"), 1u);
  tap.clear();
  call(3);
  call(4);
  EXPECT_EQ(got(peer).size(), 2u);
  tap.say(peer, result(id));
  call(5);
  EXPECT_EQ(got(peer).size(), 0u);
}

// shows: P-RUN-5
TEST_F(Concurrency, WaitingCallsEndWithTheirSession) {
  const PeerId peer = bind(R"({"max":1})", "all");
  const PeerId second = tap.session("t");
  tap.say(peer, R"({"type":"session.ready","sessionId":"t"})");
  call(1);
  call(2);
  tap.call(second, "3", "greet");
  const auto first = got(peer);
  ASSERT_EQ(first.size(), 1u);
  tap.cut(session);
  tap.say(peer, failure(first[0], "CANCELLED", "Cancelled"));
  const auto third = got(peer);
  ASSERT_EQ(third.size(), 1u);
  tap.say(peer, result(third[0]));
  EXPECT_EQ(tap.outcome(second), "3 ok \"done\"");
  EXPECT_TRUE(tap.state().queue.empty());
}

TEST_F(Concurrency, SomethingUnreadableIsAnAnswerToTheCallThatRuns) {
  const PeerId peer = bind(R"({"max":1})");
  for (int i = 1; i <= 3; ++i) call(i);
  EXPECT_EQ(got(peer).size(), 1u);
  tap.say(peer, "{");
  EXPECT_EQ(tap.outcome(session), "1 INVALID_JSON");
  EXPECT_FALSE(tap.closed(peer));
  EXPECT_EQ(got(peer).size(), 1u);
}

// shows: P-RUN-1
TEST_F(Concurrency, IsRefusedInAnotherShape) {
  const PeerId peer = tap.authed();
  for (const char* bad : {"1", R"({"max":0})", R"({"max":-1})", R"({"max":1.5})", R"({"max":"1"})",
                          R"({"max":1000001})", R"({"max":1,"scope":"session"})",
                          R"({"max":1,"scope":""})", R"({"max":1,"scope":1})"}) {
    tap.say(peer, limited("p", "s", bad));
    const Message error = tap.take(peer, "error");
    EXPECT_EQ(error.get("code"), "INVALID_JSON") << bad;
    EXPECT_NE(error.get("message").find("hello.concurrency"), std::string::npos) << bad;
    tap.advance(7'000);  // not too many hellos
  }
}

}  // namespace
}  // namespace tap::gateway::test
