// A party's budgets belong to the party behind its connections, not to a connection.
#include "gateway/party.h"

#include <gtest/gtest.h>

#include <string>

namespace tap::gateway::test {
namespace {

using protocol::Activity;

class PartyBudget : public PartyTest {};

// shows: P-PUSH-16
TEST_F(PartyBudget, OfAPageSurvivesAReconnectAndAGoodbye) {
  const std::string token = pair();
  PeerId peer = bind(page(token), "page");
  use(peer, 3);
  tap.lose(peer);
  peer = bind(page(token), "page");
  EXPECT_EQ(pushed(peer), "queued");
  tap.say(peer, kGoodbye);
  peer = bind(page(token), "page");
  EXPECT_EQ(pushed(peer), "queued");
  tap.advance(120'000);
  EXPECT_EQ(pushed(peer), "queued");
}

// shows: P-PUSH-16
TEST_F(PartyBudget, OfAPageIsTheSameUnderEveryNameInstanceAndStream) {
  const std::string token = pair();
  const PeerId peer = bind(page(token), "one");
  use(peer, 3);
  bind(peer, "two");
  EXPECT_EQ(pushed(peer), "queued");
  EXPECT_EQ(pushed(bind(page(token), "three")), "queued");
  EXPECT_EQ(pushed(bind(page(token), "two", R"("instance":"tab")")), "queued");
  EXPECT_EQ(pushed(peer, "inject", R"(,"stream":"other")"), "queued");
}

// shows: P-PUSH-16
TEST_F(PartyBudget, OfAPageIsTheSameForAllItsConnections) {
  const std::string token = pair();
  const PeerId one = bind(page(token), "page", R"("instance":"1")");
  const PeerId two = bind(page(token), "page", R"("instance":"2")");
  EXPECT_EQ(pushed(one), "injected");
  EXPECT_EQ(pushed(two), "queued") << "only one at a time";
  turn();
  turn();
  EXPECT_EQ(pushed(one, "inject", R"(,"stream":"other")"), "injected");
  turn();
  EXPECT_EQ(pushed(two), "queued");
  EXPECT_EQ(started(), 3u);
}

// shows: P-PUSH-16
TEST_F(PartyBudget, OfAPageIsTheSameAfterItIsPairedAgain) {
  use(bind(page(pair()), "page"), 3);
  EXPECT_EQ(pushed(bind(page(pair()), "again")), "queued");
}

// shows: P-PUSH-16
TEST_F(PartyBudget, HeldInjectsBelongToTheParty) {
  const std::string token = pair();
  const PeerId one = bind(page(token), "one");
  EXPECT_EQ(pushed(one), "injected");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pushed(one), "queued") << i;
  tap.say(one, kGoodbye);
  EXPECT_EQ(pushed(bind(page(token), "two")), "RATE_LIMITED");
}

// shows: P-PUSH-16
TEST_F(PartyBudget, AnotherPartyHasItsOwn) {
  use(bind(page(pair()), "page"), 3);
  EXPECT_EQ(pushed(bind(page(pair("https://other.example"), "https://other.example"), "other")),
            "injected");
  EXPECT_EQ(pushed(bind(page(pair(std::nullopt), std::nullopt), "program")), "injected");
  EXPECT_EQ(pushed(tap.bound("mine", "s")), "injected");
}

// shows: P-PUSH-16
TEST_F(PartyBudget, OfAProgramSurvivesAGoodbyeAndTheReconnectWindow) {
  PeerId peer = tap.bound("ci", "s");
  use(peer, 3);
  tap.say(peer, kGoodbye);
  peer = tap.bound("ci", "s");
  EXPECT_EQ(pushed(peer), "queued");
  tap.lose(peer);
  tap.advance(60'000);
  EXPECT_EQ(pushed(tap.bound("ci", "s")), "queued");
}

// shows: P-PUSH-16
TEST_F(PartyBudget, OfAProgramFollowsItToAnotherName) {
  PeerId peer = tap.bound("a", "s");
  use(peer, 3);
  bind(peer, "b");
  EXPECT_EQ(pushed(peer), "queued");
  tap.bound("taken", "s", {"tool"});
  tap.say(peer, hello("c", "s", tools({"tool"})));
  EXPECT_EQ(tap.errorCode(peer), "TOOL_CONFLICT");
  bind(peer, "d");
  EXPECT_EQ(pushed(peer), "queued") << "a hello that was refused in between does not help";
  tap.say(peer, kGoodbye);
  for (const char* name : {"a", "b", "c", "d"}) {
    EXPECT_EQ(pushed(tap.bound(name, "s")), "queued") << name;
  }
}

// shows: P-PUSH-16
TEST_F(PartyBudget, TheUserResetsIt) {
  const std::string token = pair();
  use(bind(page(token), "page"), 3);
  becomes(Activity::UserPrompt);
  turn();
  use(bind(page(token), "other"), 3);
}

// shows: P-PUSH-16
TEST_F(PartyBudget, ATurnThatAReloadInterruptsCounts) {
  const PeerId peer = tap.bound("ci", "s");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(pushed(peer), "injected") << i;
    tap.cut(session);
    session = tap.session("s");
  }
  EXPECT_EQ(pushed(peer), "queued");
}

// shows: P-PUSH-17
TEST_F(PartyBudget, AllProvidersOfASessionTogetherStartTwelveTurns) {
  size_t injected = 0;
  for (int i = 0; i < 6; ++i) {
    const PeerId peer = tap.bound("p" + std::to_string(i), "s");
    for (int j = 0; j < 3; ++j) {
      if (pushed(peer) == "injected") ++injected;
      turn();
    }
    tap.say(peer, kGoodbye);
  }
  EXPECT_EQ(injected, 12u);
  const std::string lines = tap.timeline(session);
  EXPECT_NE(lines.find("tap: providers have started 12 turns since you last said something"),
            std::string::npos)
      << lines;
  started();
  EXPECT_EQ(pushed(tap.bound("new", "s")), "queued");
  EXPECT_EQ(tap.timeline(session).find("providers have started"), std::string::npos);
  const PeerId other = tap.session("t");
  tap.say(tap.bound("p0", "t"), push("inject", "go on"));
  EXPECT_EQ(tap.count<protocol::Inject>(other), 1u) << "a different session has its own budget";
  becomes(Activity::UserPrompt);
  becomes(Activity::Idle);
  EXPECT_GE(started(), 3u) << "held injects continue";
}

// shows: P-PUSH-18
TEST_F(PartyBudget, WhatIsHeldOutlivesAGoodbye) {
  EXPECT_EQ(pushed(tap.bound("a", "s")), "injected");
  tap.say(tap.bound("b", "s"), push("inject", "go on"));
  const PeerId peer = bind(tap.authed(), "b", R"("instance":"2")");
  EXPECT_EQ(pushed(peer), "queued");
  tap.say(peer, kGoodbye);
  started();
  turn();
  EXPECT_EQ(started(), 1u);
}

// shows: P-PUSH-18
TEST_F(PartyBudget, ARevokedPagesHeldInjectsAreDropped) {
  const PeerId peer = bind(page(pair()), "page");
  EXPECT_EQ(pushed(peer), "injected");
  EXPECT_EQ(pushed(peer), "queued");
  started();
  tap.send(tap.newPeer(), protocol::RevokePaired{"", "page"});  // there is no secret here
  EXPECT_TRUE(tap.closed(peer));
  turn();
  EXPECT_EQ(started(), 0u);
}

TEST_F(PartyBudget, ARevokedProgramThatHasLeftHasItsHeldInjectsDroppedToo) {
  const PeerId peer = bind(page(pair()), "page");
  EXPECT_EQ(pushed(peer), "injected");
  EXPECT_EQ(pushed(peer), "queued");
  started();
  tap.lose(peer);
  tap.send(tap.newPeer(), protocol::RevokePaired{"", "page"});
  turn();
  EXPECT_EQ(started(), 0u);
}

TEST_F(PartyBudget, ARevokeLeavesWhatAnotherTokenOfThatPageHasHeld) {
  const std::string kept = pair(kPartyApp, "kept");
  const std::string revoked = pair(kPartyApp, "revoked");
  const PeerId first = bind(page(kept), "one");
  const PeerId second = bind(page(revoked), "two");
  EXPECT_EQ(pushed(first), "injected");
  EXPECT_EQ(pushed(second), "queued");
  EXPECT_EQ(pushed(first), "queued");
  started();
  tap.send(tap.newPeer(), protocol::RevokePaired{"", "revoked"});
  turn();
  EXPECT_EQ(started(), 1u);
  turn();
  EXPECT_EQ(started(), 0u);
}

TEST_F(PartyBudget, AHelloThatIsRefusedBurdensNobodyElse) {
  const PeerId honest = tap.bound("honest", "s");
  const PeerId loud = tap.bound("loud", "s");
  EXPECT_EQ(pushed(loud), "injected");
  EXPECT_EQ(pushed(loud), "queued");
  tap.say(loud, hello("honest", "s"));
  EXPECT_EQ(tap.errorCode(loud), "DUPLICATE_INSTANCE");
  EXPECT_EQ(pushed(honest), "injected") << "its own budget";
}

// shows: P-PUSH-17
TEST_F(PartyBudget, ManyNamesShareOneInTheEnd) {
  Limits limits = manyPushes();
  limits.set(Limit::SessionInjectCycles, 1'000);
  Harness many(limits);
  const PeerId linked = many.session("s");
  size_t injected = 0;
  for (int i = 0; i < 100; ++i) {
    const PeerId peer = many.bound("p" + std::to_string(i), "s");
    many.say(peer, push("inject", "go on"));
    many.say(peer, kGoodbye);
  }
  while (many.find<protocol::Inject>(linked)) ++injected;
  EXPECT_EQ(injected, PushBudgets::kMaxAccounts + 1);
  EXPECT_EQ(many.state().sessions.find("s")->budgets.size(), PushBudgets::kMaxAccounts + 1);
}

class PartyRate : public PartyTest {
 protected:
  PartyRate() : PartyTest(Limits()) {}
};

// shows: P-PUSH-12
TEST_F(PartyRate, IsOfThePartyWhateverItDoes) {
  const std::string token = pair();
  PeerId peer = bind(page(token), "one");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(pushed(peer, "keep"), "stored") << i;
  const PeerId second = bind(page(token), "two");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(pushed(second, "keep"), "stored") << i;
  EXPECT_EQ(pushed(second, "keep"), "RATE_LIMITED");
  EXPECT_EQ(pushed(peer, "keep"), "RATE_LIMITED");
  tap.say(peer, kGoodbye);
  EXPECT_EQ(pushed(bind(page(token), "one"), "keep"), "RATE_LIMITED");
  EXPECT_EQ(pushed(bind(page(token), "three"), "keep"), "RATE_LIMITED");
  tap.advance(1'000);
  EXPECT_EQ(pushed(second, "keep"), "stored");
}

// shows: P-PUSH-12
TEST_F(PartyRate, OfAProgramSurvivesAGoodbye) {
  PeerId peer = tap.bound("ci", "s");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pushed(peer, "keep"), "stored") << i;
  tap.say(peer, kGoodbye);
  EXPECT_EQ(pushed(tap.bound("ci", "s"), "keep"), "RATE_LIMITED");
}

}  // namespace
}  // namespace tap::gateway::test
