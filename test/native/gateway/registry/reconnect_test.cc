// A provider that disconnects and reconnects: its identity, and the timeline.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

struct Reconnect : ::testing::Test {
  Harness tap;
  PeerId session = tap.session("s");

  // Binds and returns the provider's id.
  std::string bind(const std::string& name, PeerId* peer, const std::string& tool = "greet") {
    *peer = tap.authed();
    tap.say(*peer, hello(name, "s", tools({tool})));
    return tap.take(*peer, "hello.ack").get("providerId");
  }
};

// shows: P-ID-12
TEST_F(Reconnect, WithinThirtySecondsIsTheSameProviderAndGoesUnsaid) {
  PeerId peer{};
  const std::string id = bind("p", &peer);
  EXPECT_EQ(tap.timeline(session), "tap: p is here: greet\n");
  tap.lose(peer);
  tap.advance(29'999);
  EXPECT_EQ(bind("p", &peer), id);
  tap.advance(60'000);
  EXPECT_EQ(tap.timeline(session), "");
}

// shows: P-ID-12
TEST_F(Reconnect, AfterThirtySecondsIsAnotherOne) {
  PeerId peer{};
  const std::string id = bind("p", &peer);
  tap.timeline(session);
  tap.lose(peer);
  tap.advance(29'999);
  EXPECT_EQ(tap.timeline(session), "");
  tap.advance(1);
  EXPECT_EQ(tap.timeline(session), "tap: p left\n");
  EXPECT_NE(bind("p", &peer), id);
  EXPECT_EQ(tap.timeline(session), "tap: p is here: greet\n");
}

TEST_F(Reconnect, AGoodbyeIsSaidAtOnce) {
  PeerId peer{};
  const std::string id = bind("p", &peer);
  tap.timeline(session);
  tap.say(peer, kGoodbye);
  EXPECT_EQ(tap.timeline(session), "tap: p left\n");
  tap.lose(peer);
  tap.advance(60'000);
  EXPECT_EQ(tap.timeline(session), "");
  EXPECT_NE(bind("p", &peer), id);
}

TEST_F(Reconnect, TheWindowStartsAnewWithEachLoss) {
  PeerId peer{};
  const std::string id = bind("p", &peer);
  for (int i = 0; i < 5; ++i) {
    tap.lose(peer);
    tap.advance(20'000);
    EXPECT_EQ(bind("p", &peer), id);
    tap.advance(20'000);
  }
  EXPECT_EQ(tap.timeline(session), "tap: p is here: greet\n");
}

// shows: P-ID-12
TEST_F(Reconnect, BeforeTheDebounceFiresCostsNoSynchronisation) {
  PeerId peer{};
  bind("p", &peer);
  tap.advance(200);
  (void)tap.confirmTools(session);
  tap.lose(peer);
  tap.advance(199);
  bind("p", &peer);
  tap.advance(60'000);
  EXPECT_EQ(tap.count<protocol::Tools>(session), 0u);
}

// shows: P-ID-13
TEST_F(Reconnect, LaterTakesTheToolsAwayAndBringsThemBack) {
  PeerId peer{};
  bind("p", &peer);
  tap.advance(200);
  (void)tap.confirmTools(session);
  tap.lose(peer);
  tap.advance(200);
  EXPECT_EQ(tap.confirmTools(session)->drop, std::vector<std::string>{"p"});
  bind("p", &peer);
  tap.advance(250);
  EXPECT_EQ(tap.confirmTools(session)->set.size(), 1u);
}

TEST_F(Reconnect, IsByName) {
  PeerId peer{};
  const std::string id = bind("p", &peer);
  tap.lose(peer);
  EXPECT_NE(bind("q", &peer), id);
}

// shows: P-HOST-11
TEST_F(Reconnect, AfterAGatewayRestartIsNotAnnouncedAgain) {
  PeerId first{};
  bind("p", &first);
  bind("gone", &first, "other");
  tap.advance(200);
  const auto before = tap.confirmTools(session);

  Harness restarted;
  const PeerId again = restarted.session("s", [&](protocol::Register& r) {
    r.joined = true;
    for (const auto& set : before->set) r.have.push_back({set.provider, set.digest});
  });
  restarted.advance(3'000);
  restarted.bound("p", "s", {"greet"});
  restarted.advance(200);
  EXPECT_EQ(restarted.timeline(again), "");
  EXPECT_EQ(restarted.count<protocol::Tools>(again), 0u);
  restarted.advance(30'000);
  EXPECT_EQ(restarted.timeline(again), "tap: gone left\n");
  EXPECT_EQ(restarted.expect<protocol::Tools>(again).drop, std::vector<std::string>{"gone"});
}

TEST_F(Reconnect, ToANewSessionOfTheSameIdStartsAnew) {
  PeerId peer{};
  bind("p", &peer);
  tap.lose(peer);
  tap.send(session, protocol::EndSession{"over"});
  session = tap.session("s");
  tap.advance(20'000);
  bind("p", &peer);
  EXPECT_EQ(tap.timeline(session), "tap: p is here: greet\n");
  tap.advance(20'000);
  EXPECT_EQ(tap.timeline(session), "");
}

TEST_F(Reconnect, OfTheSessionsLinkDoesNotAnnounceADepartureTwice) {
  PeerId peer{};
  bind("p", &peer);
  tap.advance(200);
  const auto before = tap.confirmTools(session);
  tap.cut(session);
  tap.say(peer, kGoodbye);
  const PeerId back = tap.link("s", [&](protocol::Register& r) {
    r.joined = true;
    r.have.push_back({"p", before->set[0].digest});
  });
  EXPECT_EQ(tap.timeline(back), "tap: p left\n");
  tap.advance(60'000);
  EXPECT_EQ(tap.timeline(back), "");
}

}  // namespace
}  // namespace tap::gateway::test
