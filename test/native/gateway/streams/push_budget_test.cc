// How much a provider may push to a session, and how often it may start a turn.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

std::string answered(std::string_view level, std::string_view event) {
  return push(level, event, R"(,"requestId":"r")");
}

// shows: P-PUSH-12
TEST(PushRate, IsTenASecondToEachSession) {
  Harness tap;
  tap.session("s");
  tap.session("t");
  const PeerId peer = tap.bound("p", "all");
  tap.clear();
  const auto refused = [&](std::string_view session) {
    tap.say(peer, push("keep", "e", R"(,"sessionId":)" + quote(session)));
    return tap.errorCode(peer) == "RATE_LIMITED";
  };
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(refused("s")) << i;
  EXPECT_TRUE(refused("s"));
  EXPECT_FALSE(refused("t"));
  tap.advance(999);
  EXPECT_TRUE(refused("s"));
  tap.advance(1);
  EXPECT_FALSE(refused("s"));
}

struct InjectBudget : ::testing::Test {
  Harness tap{manyPushes()};
  PeerId session = tap.session("s");
  PeerId other = tap.session("t");
  PeerId peer = tap.bound("p", "s");

  void SetUp() override { tap.clear(); }
  std::string outcome(const std::string& text) {
    tap.say(peer, text);
    if (tap.count(peer, "error") > 0) return tap.errorCode(peer);
    return tap.take(peer, "ack").get("outcome");
  }
  void becomes(protocol::Activity activity) {
    tap.send(session, protocol::ActivityChanged{activity});
  }
  void speak() { becomes(protocol::Activity::UserPrompt); }
  void idle() { becomes(protocol::Activity::Idle); }
  size_t injected() {
    const size_t count = tap.count<protocol::Inject>(session);
    while (tap.find<protocol::Inject>(session)) continue;
    return count;
  }
};

// shows: P-PUSH-13
TEST_F(InjectBudget, TheNextOneWaitsUntilTheSessionIsIdleInOrder) {
  for (const char* event : {"one", "two", "three"}) tap.say(peer, push("inject", event));
  EXPECT_NE(tap.expect<protocol::Inject>(session).prompt.find("one"), std::string::npos);
  EXPECT_EQ(injected(), 0u);
  becomes(protocol::Activity::Busy);
  EXPECT_EQ(injected(), 0u);
  EXPECT_EQ(tap.timeline(session), "tap: p: two\ntap: p: three\n");
  idle();
  const auto second = tap.expect<protocol::Inject>(session);
  EXPECT_NE(second.prompt.find("two"), std::string::npos);
  EXPECT_EQ(second.display, "tap: for the model, from p") << "it was shown when it came";
  EXPECT_EQ(injected(), 0u);
  becomes(protocol::Activity::Busy);
  idle();
  EXPECT_NE(tap.expect<protocol::Inject>(session).prompt.find("three"), std::string::npos);
}

// shows: P-PUSH-14
TEST_F(InjectBudget, HasTenInLine) {
  EXPECT_EQ(outcome(answered("inject", "e")), "injected");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(outcome(answered("inject", "e")), "queued") << i;
  EXPECT_EQ(outcome(answered("inject", "e")), "RATE_LIMITED");
  EXPECT_EQ(outcome(answered("surface", "e")), "surfaced");
}

// shows: P-PUSH-15
TEST_F(InjectBudget, AfterThreeInARowItPausesUntilTheUserSpeaks) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(outcome(answered("inject", "e")), "injected") << i;
    becomes(protocol::Activity::Busy);
    idle();
  }
  tap.timeline(session);
  EXPECT_EQ(outcome(answered("inject", "e")), "queued");
  const std::string warning = tap.timeline(session);
  EXPECT_NE(warning.find("p has started several turns in a row"), std::string::npos) << warning;
  idle();
  EXPECT_EQ(outcome(answered("inject", "e")), "queued");
  EXPECT_EQ(tap.timeline(session).find("in a row"), std::string::npos);
  injected();
  speak();
  EXPECT_EQ(injected(), 0u);
  idle();
  EXPECT_EQ(injected(), 1u);
}

std::string keyed(std::string_view event, std::string_view key) {
  return push("inject", event, R"(,"requestId":"r","key":)" + quote(key));
}

// shows: P-PUSH-23
TEST_F(InjectBudget, AKeyReplacesWhatWaitsAtItsPlaceAndOfItsOwnPartyOnly) {
  EXPECT_EQ(outcome(answered("inject", "first")), "injected");
  for (const auto& [event, key] : {std::pair{"old", "a"}, {"other", "b"}}) {
    tap.say(peer, keyed(event, key));
    EXPECT_EQ(tap.take(peer, "ack").get("replaced"), kAbsent) << event;
  }
  const PeerId neighbour = tap.bound("q", "s");
  tap.clear();
  tap.say(neighbour, answered("inject", "neighbour"));
  tap.say(neighbour, keyed("neighbour's", "a"));
  EXPECT_EQ(tap.count(neighbour, "ack"), 2u);
  tap.say(peer, keyed("new", "a"));
  const Message ack = tap.take(peer, "ack");
  EXPECT_EQ(ack.get("outcome"), "queued");
  EXPECT_EQ(ack.get("replaced"), "true");
  std::string prompts;
  for (int i = 0; i < 3; ++i) {
    becomes(protocol::Activity::Busy);
    speak();
    idle();
    while (const auto inject = tap.find<protocol::Inject>(session)) prompts += inject->prompt;
  }
  EXPECT_EQ(prompts.find("old"), std::string::npos) << prompts;
  EXPECT_NE(prompts.find("neighbour's"), std::string::npos) << prompts;
  EXPECT_LT(prompts.find("\nnew\n"), prompts.find("\nother\n")) << prompts;
}

// shows: P-PUSH-24
TEST_F(InjectBudget, AWithdrawnInjectIsNotSent) {
  EXPECT_EQ(outcome(answered("inject", "first")), "injected");
  tap.say(peer, keyed("second", "a"));
  tap.clear();
  const std::string withdraw = R"({"type":"withdraw","requestId":"w","key":"a"})";
  tap.say(peer, withdraw);
  EXPECT_EQ(tap.take(peer, "ack").get("withdrawn"), "true");
  tap.say(peer, withdraw);
  EXPECT_EQ(tap.take(peer, "ack").get("withdrawn"), "false");
  becomes(protocol::Activity::Busy);
  idle();
  EXPECT_EQ(injected(), 0u);
  tap.say(peer, R"({"type":"withdraw","requestId":"w","key":"a","sessionId":"t"})");
  EXPECT_EQ(tap.errorCode(peer), "INVALID_SESSION");
}

// shows: P-PUSH-13
TEST_F(InjectBudget, IsOfOneProviderInOneSession) {
  const PeerId neighbour = tap.bound("q", "s");
  tap.clear();
  EXPECT_EQ(outcome(answered("inject", "e")), "injected");
  tap.say(neighbour, answered("inject", "e"));
  EXPECT_EQ(tap.take(neighbour).get("outcome"), "injected");
  const PeerId elsewhere = tap.bound("p", "t");
  tap.clear();
  tap.say(elsewhere, answered("inject", "e"));
  EXPECT_EQ(tap.take(elsewhere).get("outcome"), "injected");
}

// shows: P-PUSH-13
TEST_F(InjectBudget, WhatWasOnItsWayToAProcessThatIsGoneHoldsNothingUp) {
  EXPECT_EQ(outcome(answered("inject", "one")), "injected");
  tap.cut(session);
  session = tap.session("s");
  EXPECT_EQ(outcome(answered("inject", "two")), "injected");
}

// shows: P-PUSH-10
TEST(Broadcast, IsTriedInEverySession) {
  Harness tap;
  tap.session("a");
  const PeerId last = tap.session("b");
  const PeerId peer = tap.bound("p", "all");
  for (int i = 0; i < 10; ++i) tap.say(peer, push("keep", "e", R"(,"sessionId":"a")"));
  tap.clear();
  tap.say(peer, push("surface", "all of you", R"(,"broadcast":true)"));
  EXPECT_EQ(tap.errorCode(peer), "RATE_LIMITED");
  EXPECT_NE(tap.timeline(last).find("all of you"), std::string::npos);
}

}  // namespace
}  // namespace tap::gateway::test
