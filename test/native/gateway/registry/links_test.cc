// A session's link: registration, refusals, the linger time, the outbox, takeover, grace and drain.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

std::string refusal(Harness& tap, PeerId peer) {
  const auto refused = tap.find<protocol::Refused>(peer);
  EXPECT_TRUE(tap.closed(peer));
  return refused ? refused->code : "none";
}

TEST(Link, IsWelcomedAndGetsItsTools) {
  Harness tap;
  const PeerId peer = tap.link("s");
  const auto welcome = tap.expect<protocol::Welcome>(peer);
  EXPECT_EQ(welcome.linkVersion, protocol::kLinkVersion);
  EXPECT_EQ(welcome.version, "1.2.3");
  EXPECT_EQ(welcome.pid, 77);
  EXPECT_EQ(welcome.port, 9400);
  const auto first = tap.expect<protocol::Tools>(peer);
  EXPECT_FALSE(first.reload);
  EXPECT_TRUE(first.set.empty());
  EXPECT_TRUE(tap.quiet(peer));
}

TEST(Link, NeedsTheSecret) {
  Harness tap({}, "s3cret");
  const PeerId wrong = tap.link("s", [](auto& r) { r.secret = "s3crex"; });
  EXPECT_EQ(refusal(tap, wrong), "SECRET");
  const PeerId none = tap.link("s");
  EXPECT_EQ(refusal(tap, none), "SECRET");
  EXPECT_EQ(tap.logged().find("s3cre"), std::string::npos);
  EXPECT_EQ(tap.toldCount(), 0u);
  const PeerId right = tap.link("s", [](auto& r) { r.secret = "s3cret"; });
  EXPECT_EQ(tap.count<protocol::Welcome>(right), 1u);
}

TEST(Link, NeedsTheSameVersion) {
  Harness tap({}, "s3cret");
  for (const int64_t version : {0, 1, 99}) {
    const PeerId peer = tap.link("s", [&](auto& r) {
      r.secret = "s3cret";
      r.linkVersion = version;
    });
    EXPECT_EQ(refusal(tap, peer), "LINK_VERSION");
  }
  const PeerId stranger = tap.link("s", [](auto& r) { r.linkVersion = 99; });
  EXPECT_EQ(refusal(tap, stranger), "SECRET");
}

TEST(Link, BeginsWithRegister) {
  const std::vector<protocol::LinkMessage> others{
      protocol::Update{},
      protocol::ActivityChanged{},
      protocol::Call{"1", "t", {}},
      protocol::CancelCall{},
      protocol::Synced{},
      protocol::SyncFailed{},
      protocol::EndSession{},
      protocol::Ping{},
      protocol::ShowPairings{},
      protocol::UseProvider{},
      protocol::EventOccurred{},
      protocol::HookCheck{},
      protocol::PromptSubmitted{},
      protocol::SectionBuild{},
      protocol::HooksState{},
      protocol::Inspect{},
      protocol::Trace{},
      protocol::ListCalls{},
  };
  for (const protocol::LinkMessage& message : others) {
    Harness tap;
    const PeerId peer = tap.newPeer();
    tap.send(peer, message);
    EXPECT_EQ(refusal(tap, peer), "NOT_REGISTERED") << protocol::encode(message).head;
  }
}

// shows: P-CONN-14
TEST(Link, OnceClosedIsNeverHeardAgain) {
  Harness tap({}, "s3cret");
  const PeerId peer = tap.link("s");
  ASSERT_EQ(refusal(tap, peer), "SECRET");
  auto right = Harness::registration("s");
  right.secret = "s3cret";
  tap.send(peer, right);
  tap.send(peer, protocol::Ping{});
  EXPECT_TRUE(tap.quiet(peer));
  EXPECT_EQ(tap.state().sessions.find("s"), nullptr);
  tap.cut(peer);
}

TEST(Link, OfASessionThatDrainsWithAWrongSecretIsClosed) {
  Harness tap({}, "s3cret");
  const PeerId session = tap.session("s", [](auto& r) { r.secret = "s3cret"; });
  const PeerId peer = tap.bound("p", "s");
  tap.clear();
  tap.send(session, protocol::Drain{"wrong", "9"});
  EXPECT_EQ(refusal(tap, session), "SECRET");
  tap.say(peer, push("inject", "into the outbox"));
  EXPECT_TRUE(tap.quiet(session));
}

TEST(Link, IsAnsweredWhenItPings) {
  Harness tap;
  const PeerId peer = tap.session("s");
  tap.send(peer, protocol::Ping{});
  EXPECT_EQ(tap.count<protocol::Pong>(peer), 1u);
}

// shows: P-SESSION-11
TEST(Link, ServesSixtyFourSessions) {
  Harness tap;
  for (int i = 0; i < 64; ++i) tap.session("s" + std::to_string(i));
  const PeerId one = tap.link("one more");
  EXPECT_EQ(refusal(tap, one), "TOO_MANY_SESSIONS");
  const PeerId known = tap.link("s7");
  EXPECT_EQ(tap.count<protocol::Welcome>(known), 1u);
}

// shows: P-SESSION-10
TEST(Linger, ProvidersHearNothingOfAReload) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"greet"});
  tap.cut(session);
  tap.advance(9'999);
  const PeerId back = tap.link("s");
  EXPECT_TRUE(tap.quiet(peer));
  const auto first = tap.expect<protocol::Tools>(back);
  ASSERT_EQ(first.set.size(), 1u);
  EXPECT_EQ(first.set[0].provider, "p");
  tap.advance(60'000);
  EXPECT_TRUE(tap.quiet(peer));
  tap.call(back, "1", "greet");
  EXPECT_EQ(tap.take(peer).type(), "tool.call");
}

// shows: P-SESSION-10
TEST(Linger, EndsTheSessionAfterTenSeconds) {
  Harness tap;
  tap.cut(tap.session("s"));
  const PeerId peer = tap.bound("p", "s");
  tap.advance(9'999);
  EXPECT_TRUE(tap.quiet(peer));
  tap.advance(1);
  EXPECT_EQ(tap.take(peer).get("state"), "shutdown.pending");
  EXPECT_EQ(tap.take(peer).text(), R"({"type":"sessions.updated","active":[]})");
}

TEST(Linger, ASessionThatComesBackWhileItEndsIsANewOne) {
  Harness tap;
  tap.cut(tap.session("s"));
  const PeerId peer = tap.bound("p", "s", {"greet"});
  tap.advance(10'000);
  tap.clear();
  const PeerId back = tap.link("s");
  EXPECT_TRUE(tap.expect<protocol::Tools>(back).set.empty());
  EXPECT_EQ(tap.take(peer).get("active.0.id"), "s");
  tap.say(peer, hello("p", "s", tools({"greet"})));
  EXPECT_EQ(tap.take(peer).type(), "hello.ack");
  tap.advance(60'000);
  EXPECT_EQ(tap.count(peer, "session.lifecycle"), 1u);
}

// shows: P-PUSH-19
TEST(Linger, TheOutboxKeepsTheOrder) {
  Harness tap;
  const PeerId session = tap.session("s");
  tap.cut(session);
  const PeerId peer = tap.bound("p", "s");
  tap.say(peer, push("surface", "one"));
  tap.say(peer, push("surface", "two"));
  EXPECT_TRUE(tap.quiet(session));
  const PeerId back = tap.link("s");
  EXPECT_EQ(tap.timeline(back), "tap: p: one\ntap: p: two\n");
  EXPECT_EQ(tap.timeline(tap.link("s")), "");
}

// shows: P-PUSH-20
TEST(Linger, TheOutboxHoldsAHundredEvents) {
  Harness tap(manyPushes());
  const PeerId peer = [&] {
    const PeerId session = tap.session("s");
    const PeerId bound = tap.bound("p", "s");
    tap.cut(session);
    return bound;
  }();
  for (int i = 0; i < 150; ++i) tap.say(peer, push("surface", std::to_string(i)));
  const PeerId back = tap.link("s");
  EXPECT_EQ(tap.count<protocol::Timeline>(back), 100u);
  EXPECT_EQ(tap.expect<protocol::Timeline>(back).text, "tap: p: 50");
}

TEST(Takeover, TheFormerProcessIsRefusedAndClosed) {
  Harness tap;
  const PeerId old = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"greet"});
  tap.callTo(old, peer, "1", "greet");
  tap.clear();
  const PeerId young = tap.link("s");
  EXPECT_EQ(refusal(tap, old), "REPLACED");
  EXPECT_EQ(tap.take(peer).type(), "tool.cancel");
  EXPECT_TRUE(tap.quiet(peer));
  tap.send(old, protocol::EndSession{"late"});
  tap.cut(old);
  tap.advance(60'000);
  EXPECT_EQ(tap.count<protocol::Welcome>(young), 1u);
  EXPECT_TRUE(tap.quiet(peer));
  EXPECT_NE(tap.state().sessions.find("s"), nullptr);
}

TEST(Takeover, ALinkMayRegisterAgain) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"greet"});
  tap.callTo(session, peer, "1", "greet");
  tap.send(session, Harness::registration("s"));
  EXPECT_FALSE(tap.closed(session));
  EXPECT_EQ(tap.outcome(session), "1 CANCELLED");
  EXPECT_EQ(tap.count<protocol::Welcome>(session), 1u);
}

TEST(Takeover, ALinkMayTurnToAnotherSession) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s");
  tap.send(session, Harness::registration("t"));
  EXPECT_FALSE(tap.closed(session));
  EXPECT_EQ(tap.take(peer).get("active.0.id"), "t");
  tap.advance(10'000);
  EXPECT_EQ(tap.take(peer, "session.lifecycle").get("state"), "shutdown.pending");
  tap.advance(60'000);
  EXPECT_NE(tap.state().sessions.find("t"), nullptr);
}

TEST(Takeover, ANewSessionOfTheSameCliReplacesTheOneThatLeft) {
  Harness tap;
  const auto ofCli = [](int64_t pid) { return [pid](auto& r) { r.cliPid = pid; }; };
  const PeerId old = tap.session("old", ofCli(10));
  const PeerId peer = tap.bound("p", "old");
  tap.cut(tap.session("elsewhere", ofCli(11)));
  tap.cut(tap.session("unknown"));
  tap.cut(old);
  tap.clear();
  tap.session("new", ofCli(10));
  EXPECT_EQ(tap.take(peer).get("state"), "shutdown.pending");
  EXPECT_EQ(tap.take(peer).size("active"), 3u);
  EXPECT_FALSE(tap.state().sessions.find("elsewhere")->ending);
  EXPECT_FALSE(tap.state().sessions.find("unknown")->ending);
}

TEST(Takeover, SessionsOfOneCliThatLiveSideBySideStay) {
  Harness tap;
  const auto ofCli = [](auto& r) { r.cliPid = 10; };
  const PeerId one = tap.session("one", ofCli);
  const PeerId two = tap.session("two", ofCli);
  EXPECT_FALSE(tap.state().sessions.find("one")->ending);
  // Both links break; the first that is back does not end the other.
  tap.cut(one);
  tap.cut(two);
  tap.session("two", ofCli);
  ASSERT_NE(tap.state().sessions.find("one"), nullptr);
  EXPECT_FALSE(tap.state().sessions.find("one")->ending);
}

// shows: P-HOST-3
TEST(Grace, ExitsThirtySecondsAfterTheStart) {
  Harness tap;
  tap.advance(29'999);
  EXPECT_FALSE(tap.told(HostAction::Exit));
  tap.advance(1);
  EXPECT_TRUE(tap.told(HostAction::Exit));
}

// shows: P-HOST-3
TEST(Grace, ASessionStopsItAndTheLastOnesEndStartsIt) {
  Harness tap;
  tap.advance(29'000);
  const PeerId a = tap.session("a");
  const PeerId b = tap.session("b");
  tap.advance(600'000);
  tap.send(a, protocol::EndSession{""});
  tap.advance(600'000);
  EXPECT_FALSE(tap.told(HostAction::Exit));
  tap.cut(b);
  tap.advance(39'999);
  EXPECT_FALSE(tap.told(HostAction::Exit));
  tap.advance(1);
  EXPECT_TRUE(tap.told(HostAction::Exit));
}

// shows: P-HOST-4
TEST(Grace, ASessionThatComesInTimeKeepsTheGateway) {
  Harness tap;
  tap.send(tap.session("a"), protocol::EndSession{""});
  tap.advance(29'999);
  tap.session("b");
  tap.advance(600'000);
  EXPECT_FALSE(tap.told(HostAction::Exit));
}

TEST(Drain, WithoutCallsIsDoneAtOnce) {
  Harness tap;
  const PeerId session = tap.session("s");
  tap.send(session, protocol::Drain{"", "9.9"});
  tap.advance(0);
  EXPECT_EQ(tap.count<protocol::Draining>(session), 1u);
  EXPECT_TRUE(tap.told(HostAction::Exit));
}

// shows: P-HOST-6
TEST(Drain, WaitsForCallsAndTakesNoMore) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"greet"});
  const std::string id = tap.callTo(session, peer, "1", "greet");
  tap.send(tap.newPeer(), protocol::Drain{"", "9.9"});
  tap.advance(1'000);
  EXPECT_FALSE(tap.told(HostAction::Exit));
  tap.call(session, "2", "greet");
  EXPECT_EQ(tap.outcome(session), "2 DISCONNECTED");
  EXPECT_TRUE(tap.closed(tap.accept()));
  tap.say(peer, result(id));
  EXPECT_EQ(tap.outcome(session), "1 ok \"done\"");
  tap.advance(0);
  EXPECT_TRUE(tap.told(HostAction::Exit));
  EXPECT_EQ(tap.count<protocol::Draining>(session), 1u);
}

// shows: P-HOST-6
TEST(Drain, WaitsFourSecondsAtMost) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"greet"});
  tap.callTo(session, peer, "1", "greet");
  tap.send(session, protocol::Drain{"", "9.9"});
  tap.send(session, protocol::Drain{"", "9.9"});
  tap.advance(3'999);
  EXPECT_FALSE(tap.told(HostAction::Exit));
  tap.advance(1);
  EXPECT_TRUE(tap.told(HostAction::Exit));
  EXPECT_EQ(tap.toldCount(), 2u);
}

TEST(Drain, NeedsTheSecret) {
  Harness tap({}, "s3cret");
  const PeerId peer = tap.newPeer();
  tap.send(peer, protocol::Drain{"guess", "9.9"});
  EXPECT_EQ(refusal(tap, peer), "SECRET");
  tap.advance(10'000);
  EXPECT_FALSE(tap.told(HostAction::Exit));
  tap.send(tap.newPeer(), protocol::Drain{"s3cret", "9.9"});
  tap.advance(0);
  EXPECT_TRUE(tap.told(HostAction::Exit));
}

}  // namespace
}  // namespace tap::gateway::test
