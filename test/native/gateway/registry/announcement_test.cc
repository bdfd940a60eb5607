// The timeline announces providers, their tools, and providers in different sessions.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

constexpr std::string_view kAnyGate = R"({"action":"gate","gateId":"g"})";
constexpr std::string_view kAnyDeny = R"({"action":"deny","reason":"no"})";

std::string with(std::string hello, const std::string& fields) {
  hello.pop_back();
  return hello + "," + fields + "}";
}
std::string anyRules(std::string_view list) {
  return R"("onPreToolUse":[)" + std::string(list) + "]";
}

struct Announcement : testing::Test {
  Harness tap;
  PeerId session = tap.session("s");

  PeerId says(const std::string& name, const std::string& tools, const std::string& fields) {
    const PeerId peer = tap.authed();
    tap.say(peer, with(hello(name, "s", tools), fields));
    EXPECT_EQ(tap.take(peer).type(), "hello.ack");
    return peer;
  }
};

// shows: P-HELLO-11
TEST_F(Announcement, AProgramThatOnlyPushesIsOneLine) {
  const PeerId shell = tap.bound("shell", "s");
  tap.say(shell, push("surface", "build 5 is red"));
  tap.say(shell, kGoodbye);
  tap.lose(shell);
  tap.advance(60'000);
  EXPECT_EQ(tap.timeline(session), "tap: shell: build 5 is red\n");
}

// shows: P-HELLO-11
TEST_F(Announcement, ComesWithTheFirstThingThatIsDeclared) {
  const PeerId late = tap.bound("late", "s");
  EXPECT_EQ(tap.timeline(session), "");
  tap.say(late, update(tools({"a"})));
  EXPECT_EQ(tap.timeline(session), "tap: late is here: a\n");
  tap.say(late, update(tools({"a", "b"})));
  EXPECT_EQ(tap.timeline(session), "");
  tap.say(late, kGoodbye);
  EXPECT_EQ(tap.timeline(session), "tap: late left\n");
}

TEST_F(Announcement, NamesTheFirstToolsAndCountsTheOthers) {
  tap.bound("three", "s", {"a", "b", "c"});
  tap.bound("five", "s", {"d", "e", "f", "g", std::string(64, 'x')});
  EXPECT_EQ(tap.timeline(session),
            "tap: three is here: a, b, c\ntap: five is here: d, e, f and 2 more\n");
  tap.bound("long", "s", {std::string(64, 'y')});
  EXPECT_LT(tap.timeline(session).size(), 80U);
}

// shows: P-HELLO-11
TEST_F(Announcement, NeverHidesWhatMayDenyOrRewrite) {
  says("gates", "[]",
       R"("hooks":{)" + anyRules(std::string(kAnyGate) + "," + std::string(kAnyDeny)) + "}");
  EXPECT_EQ(tap.timeline(session), "tap: gates is here: 1 gate, 1 deny rule\n");
  says("both", tools({"t"}),
       R"("context":"c","hooks":{"transforms":{"tone":{"action":"append","content":"x"}}})");
  EXPECT_EQ(tap.timeline(session), "tap: both is here: t; prompt context, 1 system message edit\n");
  says("ears", "[]", R"("subscribe":["user.message"])");
  EXPECT_EQ(tap.timeline(session), "tap: ears is here: listens to session events\n");
}

// shows: P-HELLO-11
TEST_F(Announcement, TellsOnceOfHooksThatComeLater) {
  const PeerId peer = tap.bound("ci", "s", {"t"});
  EXPECT_EQ(tap.timeline(session), "tap: ci is here: t\n");
  tap.say(peer, R"({"type":"hooks.update",)" + anyRules(kAnyDeny) + "}");
  EXPECT_EQ(tap.timeline(session), "tap: ci now has 1 deny rule\n");
  tap.say(peer, R"({"type":"hooks.update",)" + anyRules("") + "}");
  tap.say(peer, R"({"type":"hooks.update",)" + anyRules(kAnyGate) + "}");
  EXPECT_EQ(tap.timeline(session), "");
}

TEST_F(Announcement, TheHooksOfASessionSayWhoNeedsThem) {
  says("ci", "[]", R"("hooks":{)" + anyRules(kAnyGate) + "}");
  says("notes", "[]", R"("context":"c")");
  std::string needs;
  while (const auto event = tap.find<protocol::Hooks>(session)) needs = event->needs;
  EXPECT_EQ(needs, "ci (1 gate), notes (prompt context)");
}

// ---- in a different session
// --------------------------------------------------------------------------

struct Elsewhere : Announcement {
  PeerId die = tap.bound("die", "s", {"roll"});

  PeerId second(const std::string& id, int64_t cliPid = 0, bool joined = false) {
    const PeerId peer = tap.link(id, [&](protocol::Register& r) {
      r.joined = joined;
      r.cliPid = cliPid;
      r.label = id;
    });
    return peer;
  }
};

const std::string kTold = "tap: die serves another session (s); /tap-use die brings it here\n";

// shows: P-SESSION-7
TEST_F(Elsewhere, ANewSessionIsToldAtOnceAndOnce) {
  tap.send(session, protocol::Update{"s", {}, {}, {}});
  const PeerId other = second("t");
  EXPECT_EQ(tap.timeline(other), kTold);
  tap.bound("more", "s", {"x"});
  tap.advance(10'000);
  EXPECT_EQ(tap.timeline(other),
            "tap: more serves another session (s); /tap-use more brings it here\n");
}

// shows: P-SESSION-7
TEST_F(Elsewhere, AnOpenSessionIsToldWhenAProviderChoosesAnother) {
  const PeerId other = second("t");
  tap.timeline(other);
  tap.timeline(session);
  tap.bound("late", "t", {"x"});
  EXPECT_EQ(tap.timeline(session), "");
  tap.advance(2'000);
  EXPECT_EQ(tap.timeline(session),
            "tap: late serves another session (t); /tap-use late brings it here\n");
}

TEST_F(Elsewhere, AClearSaysNothing) {
  Harness fresh;
  const PeerId before = fresh.session("a", [](protocol::Register& r) { r.cliPid = 7; });
  const PeerId die = fresh.bound("die", "a", {"roll"});
  const PeerId after = fresh.link("b", [](protocol::Register& r) { r.cliPid = 7; });
  fresh.send(before, protocol::EndSession{"cleared"});
  fresh.say(die, hello("die", "b", tools({"roll"})));
  fresh.advance(60'000);
  EXPECT_EQ(fresh.timeline(after), "tap: die is here: roll\n");
}

TEST_F(Elsewhere, WhatAnotherGatewayHasToldIsNoNews) {
  const PeerId other = second("t", 0, true);
  tap.advance(10'000);
  EXPECT_EQ(tap.timeline(other), "");
}

TEST_F(Elsewhere, WhoServesAllOrOnlyPushesIsNotMentioned) {
  tap.say(die, kGoodbye);
  tap.lose(die);
  tap.bound("shell", "s");
  const PeerId all = tap.bound("all", "all", {"x"});
  const PeerId other = second("t");
  tap.say(all, R"({"type":"session.ready","sessionId":"t"})");
  tap.advance(10'000);
  EXPECT_EQ(tap.timeline(other), "tap: all is here: x\n");
}

// shows: P-SESSION-7
TEST_F(Elsewhere, UseOffersTheSessionAndSaysThatItCame) {
  const PeerId other = second("t");
  tap.timeline(session);
  tap.clear();
  tap.send(other, protocol::UseProvider{"die", ""});
  EXPECT_EQ(tap.take(die).text(), R"({"type":"session.offer","sessionId":"t"})");
  tap.say(die, hello("die", "t", tools({"roll"})));
  tap.advance(60'000);
  EXPECT_EQ(tap.timeline(other),
            "tap: \"die\" is asked to serve this session\ntap: die is here: roll\n");
  EXPECT_EQ(tap.timeline(session),
            "tap: die serves another session (t); /tap-use die brings it here\n")
      << "and not that it left";
  tap.send(session, protocol::UseProvider{"die", ""});
  tap.say(die, hello("die", "s", tools({"roll"})));
  EXPECT_EQ(tap.timeline(session),
            "tap: \"die\" is asked to serve this session\ntap: die is here: roll\n")
      << "also where it has been before";
}

// shows: P-SESSION-7
TEST_F(Elsewhere, UseSaysWhereNobodyComes) {
  const PeerId other = second("t");
  tap.timeline(other);
  tap.send(other, protocol::UseProvider{"die", ""});
  tap.timeline(other);
  tap.advance(3'000);
  EXPECT_EQ(tap.timeline(other).find("tap: die was asked to serve this session, and did not come"),
            0U);
  tap.send(other, protocol::UseProvider{"nobody", ""});
  EXPECT_NE(tap.timeline(other).find("no provider named \"nobody\""), std::string::npos);
  tap.send(session, protocol::UseProvider{"die", ""});
  EXPECT_NE(tap.timeline(session).find("serves this session already"), std::string::npos);
}

TEST_F(Elsewhere, AControlClientIsAnswered) {
  second("t");
  const PeerId link = tap.newPeer();
  tap.send(link, protocol::OpenControl{"", ""});
  tap.send(link, protocol::UseProvider{"die", "t"});
  EXPECT_EQ(tap.expect<protocol::Used>(link).outcome, "asked");
  tap.send(link, protocol::UseProvider{"die", "s"});
  EXPECT_EQ(tap.expect<protocol::Used>(link).outcome, "here");
  tap.send(link, protocol::UseProvider{"die", "nowhere"});
  EXPECT_EQ(tap.expect<protocol::Used>(link).outcome, "unknown");
}

}  // namespace
}  // namespace tap::gateway::test
