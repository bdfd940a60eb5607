// session.event: subscribers get it, and a session reports only subscribed events.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

std::string subscribing(std::string_view name, std::string_view events) {
  return R"({"type":"hello","protocolVersion":2,"session":"s","name":)" + quote(name) +
         R"(,"subscribe":)" + std::string(events) + "}";
}

struct Events : ::testing::Test {
  Harness tap;
  PeerId session = tap.session("s");

  PeerId open(const std::string& name, const std::string& events) {
    const PeerId peer = tap.authed();
    tap.say(peer, subscribing(name, events));
    EXPECT_EQ(tap.take(peer, "hello.ack").type(), "hello.ack");
    (void)tap.take(peer, "session.lifecycle");
    return peer;
  }
  void happens(const std::string& event) {
    tap.send(session, protocol::EventOccurred{event, Slice(std::string(R"({"content":"hi"})"))});
  }
  // The events that the session must report; "none" if the gateway sent no list.
  std::string wanted(PeerId from) {
    const auto subscribe = tap.find<protocol::Subscribe>(from);
    if (!subscribe) return "none";
    std::string names;
    for (const std::string& event : subscribe->events) names += event + " ";
    return names;
  }
};

// shows: P-LIFE-7
TEST_F(Events, GoToWhoeverSubscribed) {
  const PeerId user = open("user", R"(["user.message"])");
  const PeerId both = open("both", R"(["user.message","assistant.message"])");
  const PeerId deaf = open("deaf", "[]");
  happens("user.message");
  const std::string expected =
      R"({"type":"session.event","sessionId":"s","event":"user.message","data":{"content":"hi"}})";
  EXPECT_EQ(tap.take(user).text(), expected);
  EXPECT_EQ(tap.take(both).text(), expected);
  happens("assistant.message");
  happens("made.up");
  EXPECT_EQ(tap.take(both).get("event"), "assistant.message");
  for (const PeerId peer : {user, both, deaf}) EXPECT_TRUE(tap.quiet(peer));
}

// shows: P-LIFE-7
TEST_F(Events, StayInTheirSession) {
  const PeerId elsewhere = tap.session("t");
  const PeerId peer = open("p", R"(["user.message"])");
  tap.send(elsewhere, protocol::EventOccurred{"user.message", Slice(std::string("{}"))});
  EXPECT_TRUE(tap.quiet(peer));
  EXPECT_EQ(wanted(elsewhere), "none");
}

// shows: P-LIFE-10
TEST_F(Events, AreAskedForOnlyWhenThatChanges) {
  open("deaf", "[]");
  EXPECT_EQ(wanted(session), "none");
  const PeerId one = open("one", R"(["user.message","tool.execution_complete"])");
  EXPECT_EQ(wanted(session), "user.message tool.execution_complete ");
  const PeerId two = open("two", R"(["user.message"])");
  EXPECT_EQ(wanted(session), "none");
  tap.say(one, kGoodbye);
  EXPECT_EQ(wanted(session), "user.message ");
  tap.lose(two);
  EXPECT_EQ(wanted(session), "");
}

// shows: P-LIFE-10
TEST_F(Events, AreAskedForAnewOfANewProcess) {
  open("p", R"(["assistant.intent"])");
  tap.cut(session);
  const PeerId back = tap.link("s");
  EXPECT_EQ(wanted(back), "assistant.intent ");
}

// shows: P-LIFE-10
TEST_F(Events, AChangeWhileTheProcessIsAwayIsToldToTheNextOne) {
  tap.cut(session);
  open("p", R"(["assistant.intent"])");
  const PeerId back = tap.link("s");
  EXPECT_EQ(wanted(back), "assistant.intent ");
  EXPECT_EQ(wanted(back), "none");
}

}  // namespace
}  // namespace tap::gateway::test
