// Providers of the gateway's own process: admitted without a word, bound to every session, and
// nobody's concern there (docs/decisions.md D-1).
#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

struct Internal : testing::Test {
  Harness tap;

  PeerId internal(std::string_view name, std::string_view toolArray = "[]") {
    const PeerId peer = tap.admitted();
    EXPECT_EQ(tap.take(peer).type(), "sessions");
    tap.say(peer, hello(name, "all", toolArray));
    EXPECT_EQ(tap.take(peer, "hello.ack").get("sessionId"), "all");
    return peer;
  }
};

// shows: P-PROJECT-7
TEST_F(Internal, HasItsToolsInTheJoinOfEachNewSession) {
  const PeerId peer = internal("tap", tools({"tap_status"}));
  const PeerId session = tap.link("s");
  EXPECT_EQ(tap.count<protocol::Welcome>(session), 1u);
  const auto first = tap.confirmTools(session);
  ASSERT_EQ(first->set.size(), 1u);
  EXPECT_EQ(first->set[0].provider, "tap");
  EXPECT_EQ(tap.take(peer, "session.lifecycle").get("state"), "started");
  tap.call(session, "1", "tap_status");
  tap.say(peer, result(tap.take(peer, "tool.call").get("id"), R"("fine")"));
  EXPECT_EQ(tap.outcome(session), "1 ok \"fine\"");
  tap.advance(60'000);
  EXPECT_EQ(tap.count<protocol::Tools>(session), 0u);
}

TEST_F(Internal, IsNotAnnouncedNorMissed) {
  const PeerId peer = internal("tap", tools({"tap_status"}));
  const PeerId session = tap.link("s", [](auto& r) { r.have = {{"tap", "of another gateway"}}; });
  const PeerId late = internal("late");
  tap.say(peer, kGoodbye);
  tap.lose(late);
  tap.advance(60'000);
  EXPECT_EQ(tap.timeline(session), "");
  EXPECT_EQ(tap.inspect().size("providers"), 0U);
}

TEST_F(Internal, IsNotWaitedForWhenASessionEnds) {
  const PeerId peer = internal("tap");
  const PeerId session = tap.session("s");
  tap.clear();
  tap.send(session, protocol::EndSession{"over"});
  EXPECT_EQ(tap.take(peer, "session.lifecycle").get("state"), "shutdown.pending");
  EXPECT_EQ(tap.state().sessions.find("s"), nullptr);
  const PeerId next = tap.session("t");
  const PeerId provider = tap.bound("p", "t");
  tap.send(next, protocol::EndSession{"over"});
  EXPECT_NE(tap.state().sessions.find("t"), nullptr) << "p has its time";
  tap.say(provider, R"({"type":"shutdown.ready","sessionId":"t"})");
  EXPECT_EQ(tap.state().sessions.find("t"), nullptr);
  EXPECT_FALSE(tap.closed(peer));
}

TEST_F(Internal, ServesASessionThatWasThereBefore) {
  const PeerId session = tap.session("s");
  internal("tap", tools({"tap_status"}));
  tap.advance(200);
  EXPECT_EQ(tap.confirmTools(session)->set.size(), 1u);
}

// shows: P-PROJECT-9
TEST_F(Internal, MayBindToOneSession) {
  tap.session("s");
  const PeerId other = tap.session("t");
  const PeerId peer = tap.admitted();
  tap.say(peer, hello("p", "s", tools({"a"})));
  EXPECT_EQ(tap.take(peer, "hello.ack").get("sessionId"), "s");
  tap.session("u");
  tap.call(other, "1", "a");
  EXPECT_EQ(tap.outcome(other), "1 DISCONNECTED");
}

TEST_F(Internal, TakesNoPlaceAmongTheConnectionsAndIsNotSlowed) {
  Limits limits;
  limits.set(Limit::Connections, 1);
  limits.set(Limit::MessageBurst, 1);
  limits.set(Limit::MessagesPerSecond, 1);
  Harness small(limits);
  small.session("s");
  const PeerId peer = small.admitted();
  small.say(peer, hello("p", "all"));
  for (int i = 0; i < 100; ++i) small.say(peer, update(tools({"a"})));
  EXPECT_FALSE(small.paused(peer));
  EXPECT_FALSE(small.closed(small.authed()));
  EXPECT_TRUE(small.closed(small.accept()));
}

TEST_F(Internal, ThatCannotBindHearsWhy) {
  const PeerId first = internal("same", tools({"a"}));
  const PeerId second = internal("same", tools({"b"}));
  tap.session("s");
  EXPECT_EQ(tap.errorCode(second), "DUPLICATE_INSTANCE");
  EXPECT_EQ(tap.count(first, "error"), 0u);
}

TEST_F(Internal, AloneMayServeTheStatus) {
  tap.session("s");
  const PeerId peer = tap.authed();
  tap.say(peer, hello("p", "s", tools({"tap_status"})));
  EXPECT_EQ(tap.errorCode(peer), "TOOL_CONFLICT");
}

// shows: P-PROJECT-8
TEST_F(Internal, ReadsTheStreamsOfOthers) {
  tap.session("s");
  tap.say(tap.bound("p", "s"), push("keep", "red"));
  const PeerId peer = internal("reader");
  tap.say(peer, R"({"type":"stream.query","queryId":"q","sessionId":"s","streams":["p@p"]})");
  EXPECT_EQ(tap.take(peer, "stream.history").get("streams.p@p.0.event"), "red");
}

}  // namespace
}  // namespace tap::gateway::test
