// Providers of several sessions: "all", readiness, rebinding, and which session is in front.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

std::string ready(std::string_view session) {
  return R"({"type":"session.ready","sessionId":)" + quote(session) + "}";
}
std::string shutDown(std::string_view session) {
  return R"({"type":"shutdown.ready","sessionId":)" + quote(session) + "}";
}

struct All : ::testing::Test {
  Harness tap;
  PeerId one = tap.session("one");
  PeerId two = tap.session("two");

  void settle() {
    tap.advance(200);
    for (const PeerId session : {one, two}) (void)tap.confirmTools(session);
    tap.clear();
  }
};

// shows: P-TRUST-1, P-BIND-1
TEST_F(All, BindsEverySessionThatIsThere) {
  const PeerId peer = tap.authed();
  tap.say(peer, hello("p", "all", tools({"greet"})));
  EXPECT_EQ(tap.take(peer, "hello.ack").get("sessionId"), "all");
  EXPECT_EQ(tap.count(peer, "session.lifecycle"), 2u);
  tap.advance(200);
  for (const PeerId session : {one, two}) {
    EXPECT_EQ(tap.timeline(session), "tap: p is here: greet\n");
    EXPECT_EQ(tap.expect<protocol::Tools>(session).set.size(), 1u);
    tap.call(session, "1", "greet");
  }
  EXPECT_EQ(tap.take(peer, "tool.call").get("sessionId"), "one");
  EXPECT_EQ(tap.take(peer, "tool.call").get("sessionId"), "two");
}

// shows: P-BIND-1
TEST_F(All, IsRefusedWholeWhereOneSessionRefuses) {
  tap.bound("other", "two", {"greet"});
  const PeerId peer = tap.authed();
  tap.say(peer, hello("p", "all", tools({"greet"})));
  EXPECT_EQ(tap.errorCode(peer), "TOOL_CONFLICT");
  EXPECT_TRUE(tap.state().providers.find(peer)->bindings.empty());
  tap.say(peer, hello("other", "all"));
  EXPECT_EQ(tap.errorCode(peer), "DUPLICATE_INSTANCE");
  tap.say(peer, hello("p", "all"));
  EXPECT_EQ(tap.take(peer).type(), "hello.ack");
}

// shows: P-BIND-2
TEST_F(All, OfALaterSessionOnlyWhenItIsReady) {
  const PeerId peer = tap.bound("p", "all", {"greet"});
  const PeerId three = tap.session("three");
  EXPECT_EQ(tap.take(peer).type(), "sessions.updated");
  tap.advance(10'000);
  EXPECT_EQ(tap.count<protocol::Tools>(three), 0u);
  tap.say(peer, ready("three"));
  EXPECT_EQ(tap.take(peer).text(),
            R"({"type":"session.lifecycle","sessionId":"three","state":"started"})");
  tap.advance(200);
  EXPECT_EQ(tap.expect<protocol::Tools>(three).set.size(), 1u);
  tap.say(peer, ready("three"));
  EXPECT_TRUE(tap.quiet(peer));
}

// shows: P-BIND-3
TEST_F(All, ReadinessIsCheckedAsAHello) {
  const PeerId peer = tap.bound("p", "all", {"greet"});
  tap.session("three");
  tap.bound("other", "three", {"greet"});
  tap.clear();
  tap.say(peer, ready("three"));
  const Message error = tap.take(peer);
  EXPECT_EQ(error.get("code"), "TOOL_CONFLICT");
  EXPECT_EQ(error.get("replyTo"), "session.ready");
  tap.say(peer, ready("four"));
  EXPECT_EQ(tap.errorCode(peer), "INVALID_SESSION");
}

// shows: P-BIND-1
TEST_F(All, WaitsForTheFirstSession) {
  Harness empty;
  const PeerId peer = empty.authed();
  empty.say(peer, hello("p", "all", tools({"greet"})));
  EXPECT_EQ(empty.take(peer).get("sessionId"), "all");
  const PeerId session = empty.session("s");
  empty.say(peer, ready("s"));
  empty.advance(200);
  EXPECT_EQ(empty.expect<protocol::Tools>(session).set.size(), 1u);
}

// shows: P-BIND-4
TEST_F(All, StaysBoundToTheOthersWhenOneEnds) {
  const PeerId peer = tap.bound("p", "all", {"greet"});
  settle();
  tap.send(one, protocol::EndSession{""});
  const Message pending = tap.take(peer);
  EXPECT_EQ(pending.get("state"), "shutdown.pending");
  EXPECT_EQ(pending.get("sessionId"), "one");
  tap.say(peer, shutDown("one"));
  EXPECT_EQ(tap.state().sessions.find("one"), nullptr);
  tap.clear();
  tap.call(two, "1", "greet");
  EXPECT_EQ(tap.take(peer).type(), "tool.call");
  tap.send(two, protocol::EndSession{""});
  tap.say(peer, shutDown("two"));
  EXPECT_EQ(tap.state().providers.find(peer)->state, protocol::ProviderState::Bound);
}

// shows: P-BIND-4
TEST_F(All, AtTheDeadlineOfOneSessionStaysBoundToTheOthers) {
  const PeerId peer = tap.bound("p", "all", {"greet"});
  tap.send(one, protocol::EndSession{""});
  tap.advance(9'999);
  EXPECT_NE(tap.state().sessions.find("one"), nullptr);
  tap.advance(1);
  EXPECT_EQ(tap.state().sessions.find("one"), nullptr);
  tap.clear();
  tap.call(two, "1", "greet");
  EXPECT_EQ(tap.take(peer).type(), "tool.call");
}

// shows: P-LIFE-4, P-LIFE-5
TEST_F(All, ShutdownReadyIsForSessionsThatEnd) {
  const PeerId peer = tap.bound("p", "one");
  const PeerId other = tap.bound("q", "one");
  tap.say(peer, shutDown("one"));
  EXPECT_EQ(tap.errorCode(peer), "INVALID_SESSION");
  tap.send(one, protocol::EndSession{""});
  tap.clear();
  tap.say(peer, shutDown("one"));
  EXPECT_NE(tap.state().sessions.find("one"), nullptr);  // the other provider has not answered
  tap.say(other, shutDown("one"));
  EXPECT_EQ(tap.state().sessions.find("one"), nullptr);
  tap.say(other, shutDown("one"));  // too late: no effect
  EXPECT_TRUE(tap.quiet(other));
}

// shows: P-PUSH-10
TEST_F(All, PushNamesItsSessionOrIsBroadcast) {
  const PeerId peer = tap.bound("p", "all");
  tap.clear();
  tap.say(peer, push("surface", "e"));
  EXPECT_EQ(tap.errorCode(peer), "INVALID_SESSION");
  tap.say(peer, push("surface", "e", R"(,"sessionId":"two")"));
  EXPECT_EQ(tap.timeline(one) + tap.timeline(two), "tap: p: e\n");
  tap.say(peer, push("surface", "e", R"(,"broadcast":true)"));
  EXPECT_EQ(tap.timeline(one), tap.timeline(two));
}

// shows: P-UPDATE-5
TEST_F(All, ToolsCanBeUpdatedInOneSession) {
  const PeerId peer = tap.bound("p", "all", {"greet"});
  settle();
  tap.say(peer, R"({"type":"tools.update","sessionId":"two","requestId":"r","tools":[]})");
  EXPECT_EQ(tap.take(peer).get("sessionId"), "two");
  tap.advance(200);
  EXPECT_EQ(tap.count<protocol::Tools>(one), 0u);
  EXPECT_EQ(tap.expect<protocol::Tools>(two).drop, std::vector<std::string>{"p"});
}

// shows: P-BIND-5
TEST(Rebinding, MovesTheProvider) {
  Harness tap;
  const PeerId old = tap.session("old");
  const PeerId next = tap.session("next");
  const PeerId peer = tap.authed();
  tap.say(peer, hello("p", "old", tools({"greet"})));
  const Message first = tap.take(peer, "hello.ack");
  tap.advance(200);
  (void)tap.confirmTools(old);
  tap.clear();
  tap.say(peer, hello("p", "next", tools({"greet"})));
  const Message second = tap.take(peer);
  EXPECT_EQ(second.get("sessionId"), "next");
  EXPECT_EQ(second.get("providerId"), first.get("providerId"));
  EXPECT_NE(second.get("reconnectToken"), first.get("reconnectToken"));
  tap.advance(200);
  EXPECT_EQ(tap.expect<protocol::Tools>(old).drop, std::vector<std::string>{"p"});
  EXPECT_EQ(tap.expect<protocol::Tools>(next).set.size(), 1u);
}

// shows: P-BIND-6
TEST(Rebinding, CancelsTheCallsBeforeTheNewBinding) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"greet"});
  const std::string id = tap.callTo(session, peer, "1", "greet");
  tap.say(peer, hello("p", "s", tools({"greet"})));
  const Message cancel = tap.take(peer);
  EXPECT_EQ(cancel.type(), "tool.cancel");
  EXPECT_EQ(cancel.get("id"), id);
  EXPECT_EQ(tap.take(peer).type(), "hello.ack");
  EXPECT_EQ(tap.outcome(session), "1 DISCONNECTED");
  tap.say(peer, result(id));
  EXPECT_EQ(tap.outcome(session), "none");
}

// shows: P-CONN-12, P-BIND-7
TEST(Rebinding, LeavesItUnboundWhereTheNewHelloIsRefused) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"greet"});
  tap.say(peer, hello("p", "nowhere"));
  EXPECT_EQ(tap.errorCode(peer), "INVALID_SESSION");
  tap.say(peer, push("keep", "e"));
  EXPECT_EQ(tap.errorCode(peer), "UNAUTHORIZED");
  tap.call(session, "1", "greet");
  EXPECT_EQ(tap.outcome(session), "1 DISCONNECTED");
  tap.say(peer, hello("p", "s", tools({"greet"})));
  EXPECT_EQ(tap.take(peer).type(), "hello.ack");
}

// shows: P-BIND-5
TEST(Rebinding, OfTheSameToolsCostsNoSynchronisation) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"greet"});
  tap.advance(200);
  (void)tap.confirmTools(session);
  tap.clear();
  tap.say(peer, hello("p", "s", tools({"greet"})));
  tap.advance(60'000);
  EXPECT_EQ(tap.count<protocol::Tools>(session), 0u);
  EXPECT_EQ(tap.timeline(session), "");
}

// shows: P-BIND-8
TEST(Rebinding, TenTimesAMinute) {
  Harness tap;
  tap.session("s");
  const PeerId peer = tap.authed();
  for (int i = 0; i < 10; ++i) {
    tap.say(peer, hello("p", "s"));
    EXPECT_EQ(tap.take(peer).type(), "hello.ack") << i;
    tap.clear();
  }
  tap.say(peer, hello("p", "s"));
  EXPECT_EQ(tap.errorCode(peer), "RATE_LIMITED");
  EXPECT_NE(tap.state().providers.find(peer)->in("s"), nullptr);  // as it was
  tap.advance(59'999);
  tap.say(peer, hello("p", "s"));
  EXPECT_EQ(tap.errorCode(peer), "RATE_LIMITED");
  tap.advance(1);
  tap.say(peer, hello("p", "s"));
  EXPECT_EQ(tap.take(peer).type(), "hello.ack");
}

// shows: P-SESSION-3
TEST(Foreground, IsTheSessionThatTheUserSpokeToLast) {
  Harness tap;
  const PeerId one = tap.session("one");
  const PeerId two = tap.session("two");
  const PeerId peer = tap.authed();
  const auto inFront = [&](PeerId session) {
    tap.send(session, protocol::ActivityChanged{protocol::Activity::UserPrompt});
    const Message list = tap.take(peer, "sessions.updated");
    EXPECT_TRUE(tap.quiet(peer));
    if (list.get("active.0.foreground") != "true") return std::string("not the first");
    return list.get("active.0.id") + " " + list.get("active.1.foreground");
  };
  EXPECT_EQ(inFront(one), "one false");
  EXPECT_EQ(inFront(two), "two false");
  tap.send(two, protocol::ActivityChanged{protocol::Activity::UserPrompt});
  EXPECT_TRUE(tap.quiet(peer));
}

// shows: P-ERROR-1
TEST(Errors, NameTheSessionThatTheMessageNamed) {
  Harness tap;
  tap.session("a");
  tap.session("b");
  const PeerId peer = tap.bound("p", "all");
  tap.say(peer, R"({"type":"tools.update","sessionId":"a","tools":[{"name":"tap_status"}]})");
  EXPECT_EQ(tap.take(peer, "error").get("sessionId"), "a");
  tap.say(peer, R"({"type":"tools.update","sessionId":"nonsuch","tools":[]})");
  EXPECT_EQ(tap.take(peer, "error").get("sessionId"), "nonsuch");
}

// shows: P-LIFE-5
TEST(ShutdownReady, OfASessionThatOneIsNotBoundToIsRefused) {
  Harness tap;
  tap.session("a");
  tap.session("b");
  const PeerId peer = tap.bound("p", "a");
  tap.say(peer, R"({"type":"shutdown.ready","sessionId":"b"})");
  EXPECT_EQ(tap.errorCode(peer), "INVALID_SESSION");
}

}  // namespace
}  // namespace tap::gateway::test
