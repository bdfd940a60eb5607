// The rules of a provider whose connection was lost hold for the reconnect window; those of a
// provider that has left, moved or been revoked end at once.
#include <gtest/gtest.h>

#include <string>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

using protocol::Hooks;

const std::string kHeldDeny =
    R"({"match":{"tool":"bash","args":"rm"},"action":"deny","reason":"No rm."})";
const std::string kHeldGate = R"({"match":{"args":"push"},"action":"gate","gateId":"g"})";
const std::string kLost = "its connection was lost, and it cannot be asked";

std::string ruleList(std::string_view list) {
  return R"("hooks":{"onPreToolUse":[)" + std::string(list) + "]}";
}

class HeldRulesOfAProvider : public testing::Test {
 protected:
  PeerId with(std::string_view name, std::string_view more, std::string_view target = "s") {
    const PeerId peer = tap.authed();
    tap.say(peer, helloWith(name, target, more));
    const Message ack = tap.take(peer);
    EXPECT_EQ(ack.type(), "hello.ack");
    token = ack.get("reconnectToken");
    return peer;
  }
  // The reason of a denial, or "pass".
  std::string check(const std::string& command, PeerId from) {
    tap.send(from,
             protocol::HookCheck{"c", "bash", Slice(R"({"command":)" + quote(command) + "}")});
    const auto verdict = tap.find<protocol::HookVerdict>(from);
    if (!verdict) return "none";
    return verdict->deny.value_or(verdict->context.empty() ? "pass" : verdict->context);
  }
  std::string check(const std::string& command) { return check(command, session); }
  std::optional<Hooks> told() {
    std::optional<Hooks> last;
    while (auto next = tap.find<Hooks>(session)) last = next;
    return last;
  }
  // Reports that the last hooks are in force.
  void settle() {
    const auto last = told();
    ASSERT_TRUE(last);
    tap.send(session, protocol::HooksState{last->revision});
  }
  bool shown(std::string_view text) {
    return tap.timeline(session).find(text) != std::string::npos;
  }

  Harness tap;
  PeerId session = tap.session("s");
  std::string token;  // of the last bound provider
};

// shows: P-HOOK-26
TEST_F(HeldRulesOfAProvider, DenyGoesOnAndAGateCannotBeAsked) {
  const PeerId ci = with("ci", ruleList(kHeldDeny + "," + kHeldGate));
  settle();
  tap.timeline(session);
  tap.lose(ci);
  EXPECT_FALSE(told()) << "the session gets no change";
  EXPECT_EQ(tap.timeline(session),
            "tap: the connection of ci was lost; its rules stay in force for 30 s\n");
  EXPECT_EQ(check("rm x"), "tap provider \"ci\": No rm.");
  EXPECT_NE(check("git push").find(kLost), std::string::npos);
  EXPECT_EQ(check("ls"), "pass");
  tap.advance(29'999);
  EXPECT_EQ(check("rm x"), "tap provider \"ci\": No rm.");
  EXPECT_EQ(tap.timeline(session), "");
  tap.advance(1);
  EXPECT_TRUE(shown("tap: ci has not come back; its rules are no longer in force\n"));
  EXPECT_EQ(check("rm x"), "pass");
  const auto hooks = told();
  ASSERT_TRUE(hooks);
  EXPECT_FALSE(hooks->wanted);
  EXPECT_TRUE(hooks->guards.empty());
}

TEST_F(HeldRulesOfAProvider, NothingIsSaidOfThoseThatAreNotInForce) {
  const PeerId asked = with("asked", ruleList(kHeldDeny));  // the user has not answered
  const auto first = told();
  ASSERT_TRUE(first);
  tap.lose(asked);
  EXPECT_FALSE(shown("stay in force"));
  protocol::HooksState denied{first->revision};
  denied.hooks = protocol::HookOutcome::Denied;
  tap.send(session, denied);
  tap.lose(with("denied", ruleList(kHeldGate)));
  tap.advance(30'000);
  const std::string lines = tap.timeline(session);
  EXPECT_EQ(lines.find("stay in force"), std::string::npos);
  EXPECT_EQ(lines.find("no longer in force"), std::string::npos);
}

TEST_F(HeldRulesOfAProvider, AreNamedToAProcessThatAsksForHooks) {
  tap.lose(with("ci", ruleList(kHeldDeny + "," + kHeldGate)));
  tap.cut(session);
  session = tap.link("s");
  const auto hooks = told();
  ASSERT_TRUE(hooks);
  EXPECT_EQ(hooks->needs, "ci (1 gate, 1 deny rule)");
}

TEST_F(HeldRulesOfAProvider, AnAnswerThatALaterOneHasOvertakenChangesNothing) {
  const PeerId ci = with("ci", ruleList(kHeldDeny));
  const auto first = told();
  with("lint", ruleList(kHeldGate));
  const auto second = told();
  ASSERT_TRUE(first && second);
  tap.send(session, protocol::HooksState{second->revision});
  tap.send(session, protocol::HooksState{first->revision});
  tap.say(ci, R"({"type":"hooks.update","requestId":"r","onPreToolUse":[)" + kHeldDeny + "]}");
  EXPECT_EQ(tap.take(ci, "ack").get("requestId"), "r") << "it is in force already";
}

TEST_F(HeldRulesOfAProvider, LinesOfThoseThatFlapAreBounded) {
  for (int i = 0; i < 60; ++i) {
    const PeerId ci = with("ci" + std::to_string(i), ruleList(kHeldDeny));
    settle();
    tap.lose(ci);
  }
  size_t lines = 0;
  while (tap.find<protocol::Timeline>(session)) ++lines;
  EXPECT_LE(lines, 50u);
}

// shows: P-HOOK-26
TEST_F(HeldRulesOfAProvider, WhatFailsOpenOrOnlyAddsContextPassesAndIsNotAnnounced) {
  const PeerId ci = with("ci", ruleList(R"({"action":"deny","failOpen":true},)"
                                        R"({"action":"gate","gateId":"g","failOpen":true},)"
                                        R"({"action":"context","content":"c"})"));
  tap.timeline(session);
  tap.lose(ci);
  EXPECT_EQ(check("rm x"), "pass");
  EXPECT_EQ(tap.timeline(session), "");
  EXPECT_FALSE(told()->wanted);
}

// shows: P-HOOK-27
TEST_F(HeldRulesOfAProvider, ItsOwnReplaceThemWithoutAGap) {
  const PeerId ci = with("ci", ruleList(kHeldDeny));
  tap.lose(ci);
  (void)told();
  with("ci", ruleList(kHeldGate));
  const auto hooks = told();
  ASSERT_TRUE(hooks);
  EXPECT_TRUE(hooks->wanted);
  ASSERT_EQ(hooks->guards.size(), 1u);
  EXPECT_EQ(hooks->guards[0].rules, std::vector<std::string>{kHeldGate});
  EXPECT_EQ(check("rm x"), "pass");
  EXPECT_EQ(check("git push"), "none") << "it is asked";
  tap.advance(60'000);
  EXPECT_FALSE(shown("no longer in force"));
}

// shows: P-HOOK-27
TEST_F(HeldRulesOfAProvider, AreNeverOutOfForceForTheSessionWhileTheProviderComesBack) {
  const PeerId ci = with("ci", ruleList(kHeldDeny));
  tap.lose(ci);
  with("ci", R"("reconnectToken":)" + quote(token));
  while (const auto hooks = tap.find<Hooks>(session)) {
    EXPECT_TRUE(hooks->wanted);
    EXPECT_EQ(hooks->guards.size(), 1u);
  }
  EXPECT_EQ(check("rm x"), "tap provider \"ci\": No rm.");
}

// shows: P-HOOK-27
TEST_F(HeldRulesOfAProvider, ATakeoverIsNotAnnounced) {
  with("ci", ruleList(kHeldDeny));
  (void)told();
  tap.timeline(session);
  with("ci", R"("reconnectToken":)" + quote(token));
  EXPECT_EQ(tap.timeline(session), "");
  EXPECT_EQ(check("rm x"), "tap provider \"ci\": No rm.");
  tap.advance(60'000);
  EXPECT_EQ(check("rm x"), "tap provider \"ci\": No rm.");
}

// shows: P-HOOK-27
TEST_F(HeldRulesOfAProvider, ATakeoverThatIsRefusedLeavesThemHeld) {
  with("ci", ruleList(kHeldDeny));
  tap.bound("other", "s", {"taken"});
  const PeerId thief = tap.authed();
  tap.say(thief,
          helloWith("ci", "s", R"("tools":[{"name":"taken"}],"reconnectToken":)" + quote(token)));
  EXPECT_EQ(tap.errorCode(thief), "TOOL_CONFLICT");
  EXPECT_EQ(check("rm x"), "tap provider \"ci\": No rm.");
  tap.advance(30'000);
  EXPECT_EQ(check("rm x"), "pass");
}

// shows: P-HOOK-25
TEST_F(HeldRulesOfAProvider, AGoodbyeEndsThemAtOnce) {
  tap.say(with("ci", ruleList(kHeldDeny)), kGoodbye);
  EXPECT_EQ(check("rm x"), "pass");
  EXPECT_FALSE(told()->wanted);
  EXPECT_FALSE(shown("stay in force"));
}

// shows: P-HOOK-25
TEST_F(HeldRulesOfAProvider, ANewHelloEndsThemInTheOldSession) {
  const PeerId other = tap.session("t");
  const PeerId ci = with("ci", ruleList(kHeldDeny));
  tap.say(ci, helloWith("ci", "t", ruleList(kHeldDeny)));
  EXPECT_EQ(check("rm x"), "pass");
  EXPECT_EQ(check("rm x", other), "tap provider \"ci\": No rm.");
  tap.say(ci, helloWith("ci", "s", R"("tools":[])"));
  EXPECT_EQ(check("rm x"), "pass");
  EXPECT_FALSE(shown("stay in force"));
}

// shows: P-HOOK-28
TEST_F(HeldRulesOfAProvider, ComingBackToAnotherSessionLeavesThemInTheFirst) {
  const PeerId other = tap.session("t");
  tap.lose(with("ci", ruleList(kHeldDeny)));
  with("ci", R"("reconnectToken":)" + quote(token) + "," + ruleList(kHeldDeny), "t");
  EXPECT_EQ(check("rm x"), "tap provider \"ci\": No rm.");
  EXPECT_EQ(check("rm x", other), "tap provider \"ci\": No rm.");
  tap.advance(30'000);
  EXPECT_EQ(check("rm x"), "pass");
  EXPECT_EQ(check("rm x", other), "tap provider \"ci\": No rm.");
}

// shows: P-HOOK-28
TEST_F(HeldRulesOfAProvider, OfAllSessionsHoldInEach) {
  const PeerId other = tap.session("t");
  tap.lose(with("ci", ruleList(kHeldDeny), "all"));
  for (const PeerId each : {session, other}) {
    EXPECT_EQ(check("rm x", each), "tap provider \"ci\": No rm.");
  }
  tap.advance(30'000);
  for (const PeerId each : {session, other}) EXPECT_EQ(check("rm x", each), "pass");
}

// shows: P-HOOK-27
TEST_F(HeldRulesOfAProvider, OfOneInstanceAreNotReplacedByAnother) {
  tap.lose(with("ci", R"("instance":"one",)" + ruleList(kHeldDeny)));
  with("ci", R"("instance":"two",)" + ruleList(kHeldGate));
  EXPECT_EQ(check("rm x"), "tap provider \"ci\": No rm.");
  with("ci", R"("instance":"one","tools":[])");
  EXPECT_EQ(check("rm x"), "pass");
}

// shows: P-HOOK-26
TEST_F(HeldRulesOfAProvider, WhoeverClosesTheConnection) {
  const auto held = [&](const std::function<void(PeerId)>& close) {
    close(with("ci", ruleList(kHeldDeny)));
    const bool denied = check("rm x") == "tap provider \"ci\": No rm.";
    tap.advance(30'000);
    return denied && check("rm x") == "pass";
  };
  EXPECT_TRUE(held([&](PeerId peer) { tap.lose(peer); }));
  EXPECT_TRUE(held([&](PeerId peer) { tap.backlog(peer, size_t{1} << 30); }));
  EXPECT_TRUE(held([&](PeerId peer) {
    tap.say(peer, R"({"type":"hello","name":"ci","protocolVersion":1})");
  })) << "a fatal error";
}

// shows: P-HOOK-28
TEST_F(HeldRulesOfAProvider, AGateThatIsBeingAskedDeniesAndThenIsHeld) {
  const PeerId ci = with("ci", ruleList(kHeldGate));
  EXPECT_EQ(check("git push"), "none");
  tap.lose(ci);
  const auto verdict = tap.find<protocol::HookVerdict>(session);
  ASSERT_TRUE(verdict && verdict->deny);
  EXPECT_EQ(*verdict->deny, "tap provider \"ci\": its connection was lost");
  EXPECT_NE(check("git push").find(kLost), std::string::npos);
}

// shows: P-HOOK-28
TEST_F(HeldRulesOfAProvider, ThoseOfAnUpdateThatIsOnItsWayAreHeld) {
  const PeerId ci = with("ci", ruleList(kHeldDeny));
  tap.send(session, protocol::HooksState{told()->revision});
  tap.say(ci, R"({"type":"hooks.update","requestId":"r","onPreToolUse":[)" + kHeldGate + "]}");
  const auto update = told();
  ASSERT_TRUE(update);
  tap.lose(ci);  // before the session has answered
  EXPECT_FALSE(told());
  tap.send(session, protocol::HooksState{update->revision});
  EXPECT_EQ(check("rm x"), "pass");
  EXPECT_NE(check("git push").find(kLost), std::string::npos);
}

// shows: P-HOOK-28
TEST_F(HeldRulesOfAProvider, ANewProcessOfTheSessionIsToldOfThem) {
  tap.lose(with("ci", ruleList(kHeldDeny)));
  tap.cut(session);
  session = tap.link("s");
  const auto hooks = told();
  ASSERT_TRUE(hooks);
  EXPECT_TRUE(hooks->wanted);
  EXPECT_EQ(hooks->guards.size(), 1u);
  EXPECT_EQ(check("rm x"), "tap provider \"ci\": No rm.");
}

// shows: P-HOOK-26
TEST_F(HeldRulesOfAProvider, OutliveNoSession) {
  const PeerId ci = with("ci", ruleList(kHeldDeny));
  tap.send(session, protocol::EndSession{"the end"});
  tap.lose(ci);
  EXPECT_FALSE(shown("stay in force"));
  session = tap.session("s");
  EXPECT_EQ(check("rm x"), "pass");
}

// shows: P-HOOK-26
TEST_F(HeldRulesOfAProvider, ARuleThatRunsOutOfTimeOrHasNotSeenAllDenies) {
  tap.lose(with("ci", ruleList(R"({"match":{"args":"needle"},"action":"deny"})")));
  EXPECT_NE(check(std::string(70'000, 'x')).find(kLost), std::string::npos);
}

// shows: P-HOOK-27
TEST_F(HeldRulesOfAProvider, OfASpawnedProviderHoldUntilItsNextRunIsThere) {
  const auto run = [&] {
    const std::string spawned = tap.spawnToken("s");
    const PeerId peer = tap.open();
    tap.say(peer, auth(spawned));
    tap.say(peer, helloWith("ci", "s", ruleList(kHeldDeny)));
    return std::pair{peer, spawned};
  };
  const auto [first, firstToken] = run();
  tap.forgetSpawnToken(firstToken);  // the process has ended, its connection not yet
  EXPECT_TRUE(tap.closed(first));
  EXPECT_EQ(check("rm x"), "tap provider \"ci\": No rm.");
  const auto [second, secondToken] = run();
  tap.advance(60'000);
  EXPECT_EQ(check("rm x"), "tap provider \"ci\": No rm.");
  tap.lose(second);
  tap.forgetSpawnToken(secondToken);
  EXPECT_EQ(check("rm x"), "tap provider \"ci\": No rm.");
}

// shows: P-HOOK-25
TEST_F(HeldRulesOfAProvider, ARevokedProviderHasNone) {
  const std::string spawned = tap.spawnToken("s");
  const PeerId peer = tap.open();
  tap.say(peer, auth(spawned));
  tap.say(peer, helloWith("ci", "s", ruleList(kHeldDeny)));
  tap.timeline(session);
  tap.forgetSpawnToken(spawned, true);
  EXPECT_TRUE(tap.closed(peer));
  EXPECT_EQ(check("rm x"), "pass");
  EXPECT_EQ(tap.timeline(session), "tap: ci left\n");
}

// shows: P-HOOK-25
TEST_F(HeldRulesOfAProvider, ARevokeEndsWhatARunThatIsOverHasLeft) {
  const std::string spawned = tap.spawnToken("s");
  const PeerId peer = tap.open();
  tap.say(peer, auth(spawned));
  tap.say(peer, helloWith("ci", "s", ruleList(kHeldDeny)));
  tap.lose(with("other", ruleList(kHeldGate)));
  tap.lose(peer);
  tap.forgetSpawnToken(spawned);
  EXPECT_EQ(check("rm x"), "tap provider \"ci\": No rm.");
  tap.forgetSpawnToken(spawned, true);
  EXPECT_EQ(check("rm x"), "pass");
  EXPECT_NE(check("git push").find(kLost), std::string::npos) << "another's stay";
  EXPECT_TRUE(told()->wanted);
}

}  // namespace
}  // namespace tap::gateway::test
