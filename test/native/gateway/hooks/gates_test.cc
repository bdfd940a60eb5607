// Before a tool runs: rules of providers are checked, gates are asked, and the session gets a
// single verdict in every case.
#include <gtest/gtest.h>

#include <string>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

std::string rules(std::string_view list) {
  return R"("hooks":{"onPreToolUse":[)" + std::string(list) + "]}";
}
std::string gateResult(std::string_view callId, std::string_view decision,
                       std::string_view reason = "") {
  return R"({"type":"gate.result","gateId":"g","callId":)" + quote(callId) + R"(,"decision":)" +
         quote(decision) + R"(,"reason":)" + quote(reason) + "}";
}
const std::string kGate =
    R"({"match":{"tool":"shell","args":"git push"},"action":"gate","gateId":"g"})";
const std::string kOpenGate = R"({"action":"gate","gateId":"g","failOpen":true})";
const std::string kPush = R"({"command":"git push"})";

class Gates : public testing::Test {
 protected:
  PeerId with(std::string_view name, std::string_view list) {
    const PeerId peer = tap.authed();
    tap.say(peer, helloWith(name, "s", rules(list)));
    EXPECT_EQ(tap.take(peer).type(), "hello.ack");
    tap.clear();
    return peer;
  }
  void check(std::string id, std::string tool, std::string args = "{}") {
    tap.send(session, protocol::HookCheck{std::move(id), std::move(tool), Slice(std::move(args))});
  }
  // "checkId pass", "checkId deny: reason", "checkId context: text", or "none".
  std::string verdict() {
    const auto found = tap.find<protocol::HookVerdict>(session);
    if (!found) return "none";
    if (found->deny) return found->checkId + " deny: " + *found->deny;
    return found->checkId + (found->context.empty() ? " pass" : " context: " + found->context);
  }
  std::string asked(PeerId provider) { return tap.take(provider, "gate.check").get("callId"); }

  Harness tap;
  PeerId session = tap.session("s");
};

TEST_F(Gates, WithoutRulesEverythingPasses) {
  check("1", "bash");
  EXPECT_EQ(verdict(), "1 pass");
}

// shows: P-HOOK-2
TEST_F(Gates, ADenyRuleBlocksWithItsReasonAndItsProvidersName) {
  with("guard", R"({"match":{"tool":"shell","args":"rm -rf"},"action":"deny","reason":"No."})");
  check("1", "bash", R"({"command":"rm -rf /"})");
  EXPECT_EQ(verdict(), "1 deny: tap provider \"guard\": No.");
  check("2", "bash", R"({"command":"ls"})");
  EXPECT_EQ(verdict(), "2 pass");
}

// shows: P-HOOK-9
TEST_F(Gates, AFileIsJudgedFromTheSessionsFolder) {  // which is /code/s
  with("guard", R"({"match":{"file":"{/code/etc,src}/**"},"action":"deny","reason":"No."})");
  for (const char* path :
       {"/code/s/../etc/hosts", "../etc/hosts", "./src//a.c", "/code/s/src/a.c"}) {
    check(path, "edit", R"({"path":")" + std::string(path) + R"("})");
    EXPECT_EQ(verdict(), std::string(path) + " deny: tap provider \"guard\": No.");
  }
  check("2", "edit", R"({"path":"../src/a.c"})");
  EXPECT_EQ(verdict(), "2 pass");
}

// shows: P-HOOK-2
TEST_F(Gates, ADenyWithoutAReasonSaysWhoDenies) {
  with("guard", R"({"action":"deny"})");
  check("1", "view");
  EXPECT_EQ(verdict(), "1 deny: tap provider \"guard\" does not allow this");
}

// shows: P-HOOK-3
TEST_F(Gates, ContextsAreJoinedInRegistrationOrder) {
  with("zebra", R"({"action":"context","content":"first"})");
  with("ant", R"({"action":"context","content":"second"})");
  check("1", "edit");
  EXPECT_EQ(verdict(),
            "1 context: From tap provider \"zebra\": first\n\nFrom tap provider \"ant\": second");
}

// shows: P-HOOK-2
TEST_F(Gates, ADenyWinsOverAGateThatIsThenNotAsked) {
  const PeerId gate = with("gate", kGate);
  with("guard", R"({"action":"deny","reason":"no"})");
  check("1", "bash", kPush);
  EXPECT_EQ(verdict(), "1 deny: tap provider \"guard\": no");
  EXPECT_EQ(tap.count(gate, "gate.check"), 0u);
}

// shows: P-HOOK-4, P-HOOK-11
TEST_F(Gates, AGateIsAskedWithTheToolItsRuleNamesAndTheArguments) {
  const PeerId gate = with("ci", kGate);
  check("1", "bash", kPush);
  EXPECT_EQ(verdict(), "none");
  const Message message = tap.take(gate, "gate.check");
  EXPECT_EQ(message.get("gateId"), "g");
  EXPECT_EQ(message.get("sessionId"), "s");
  EXPECT_EQ(message.get("tool"), "shell");
  EXPECT_EQ(message.get("args.command"), "git push");
  tap.say(gate, gateResult(message.get("callId"), "allow"));
  EXPECT_EQ(verdict(), "1 pass");
}

// shows: P-HOOK-12
TEST_F(Gates, AGateDeniesWithItsReason) {
  const PeerId gate = with("ci", kGate);
  check("1", "bash", kPush);
  tap.say(gate, gateResult(asked(gate), "deny", "CI is red"));
  EXPECT_EQ(verdict(), "1 deny: tap provider \"ci\": CI is red");
}

// shows: P-HOOK-13
TEST_F(Gates, AGateCanAllowWithContext) {
  const PeerId gate = with("ci", kGate);
  check("1", "bash", kPush);
  tap.say(gate, gateResult(asked(gate), "context", "2 checks run still"));
  EXPECT_EQ(verdict(), "1 context: From tap provider \"ci\": 2 checks run still");
}

// shows: P-HOOK-14
TEST_F(Gates, TheFirstDenialSettlesAndLaterAnswersAreDropped) {
  const PeerId one = with("one", kGate);
  const PeerId two = with("two", kGate);
  check("1", "bash", kPush);
  const std::string first = asked(one);
  const std::string second = asked(two);
  tap.say(two, gateResult(second, "deny", "no"));
  EXPECT_EQ(verdict(), "1 deny: tap provider \"two\": no");
  tap.say(one, gateResult(first, "allow"));
  EXPECT_EQ(verdict(), "none");
  EXPECT_TRUE(tap.state().checks.gates.empty());
}

// shows: P-HOOK-14
TEST_F(Gates, AllGatesMustAllow) {
  const PeerId one = with("one", kGate);
  const PeerId two = with("two", kGate);
  check("1", "bash", kPush);
  tap.say(one, gateResult(asked(one), "allow"));
  EXPECT_EQ(verdict(), "none");
  tap.say(two, gateResult(asked(two), "allow"));
  EXPECT_EQ(verdict(), "1 pass");
}

TEST_F(Gates, AGateThatIsOpenWhenItsSessionEndsDenies) {
  const PeerId gate = with("ci", kGate);
  tap.send(session, protocol::EndSession{"over"});
  check("1", "bash", kPush);
  EXPECT_EQ(verdict(), "none");
  tap.say(gate, R"({"type":"shutdown.ready","sessionId":"s"})");
  EXPECT_EQ(verdict(), "1 deny: tap provider \"ci\": the session has ended");
  EXPECT_TRUE(tap.state().checks.gates.empty());
}

TEST_F(Gates, AGateThatIsOpenWhenItsSessionIsUnboundDenies) {
  Limits limits;
  limits.set(Limit::ShutdownMs, 1'000);
  Harness hasty(limits);
  const PeerId link = hasty.session("s");
  const PeerId gate = hasty.authed();
  hasty.say(gate, helloWith("ci", "s", rules(kGate)));
  hasty.send(link, protocol::EndSession{"over"});
  hasty.send(link, protocol::HookCheck{"1", "bash", Slice(kPush)});
  hasty.advance(1'000);
  EXPECT_EQ(hasty.count<protocol::HookVerdict>(link), 1u);
}

// shows: P-HOOK-17
TEST_F(Gates, AGateThatDoesNotAnswerDeniesAfterFiveSeconds) {
  const PeerId gate = with("ci", kGate);
  check("1", "bash", kPush);
  tap.advance(4'999);
  EXPECT_EQ(verdict(), "none");
  tap.advance(1);
  EXPECT_EQ(verdict(), "1 deny: tap provider \"ci\": it did not respond in time");
  tap.say(gate, gateResult(asked(gate), "allow"));
  EXPECT_EQ(verdict(), "none");
}

// shows: P-HOOK-18
TEST_F(Gates, FailOpenPassesWhereNobodyAnswers) {
  with("ci", kOpenGate);
  check("1", "bash");
  tap.advance(5'000);
  EXPECT_EQ(verdict(), "1 pass");
}

// shows: P-HOOK-18
TEST_F(Gates, FailOpenStillDeniesWhenItSaysSo) {
  const PeerId gate = with("ci", kOpenGate);
  check("1", "bash");
  tap.say(gate, gateResult(asked(gate), "deny", "no"));
  EXPECT_EQ(verdict(), "1 deny: tap provider \"ci\": no");
}

// shows: P-HOOK-19
TEST_F(Gates, ADisconnectDenies) {
  const PeerId gate = with("ci", kGate);
  check("1", "bash", kPush);
  tap.lose(gate);
  EXPECT_EQ(verdict(), "1 deny: tap provider \"ci\": its connection was lost");
}

// shows: P-HOOK-18
TEST_F(Gates, ADisconnectOfAFailOpenGatePasses) {
  const PeerId gate = with("ci", kOpenGate);
  check("1", "bash");
  tap.lose(gate);
  EXPECT_EQ(verdict(), "1 pass");
}

// shows: P-HOOK-20
TEST_F(Gates, ARebindDeniesWhatWasPending) {
  const PeerId gate = with("ci", kGate);
  check("1", "bash", kPush);
  tap.say(gate, hello("ci", "s"));
  EXPECT_NE(verdict().find("1 deny: tap provider \"ci\": it has bound itself again"),
            std::string::npos);
}

// shows: P-HOOK-15
TEST_F(Gates, AnAnswerOutOfShapeDeniesAtOnce) {
  const PeerId gate = with("ci", kGate);
  check("1", "bash", kPush);
  tap.say(gate, gateResult(asked(gate), "perhaps"));
  EXPECT_NE(verdict().find("1 deny: tap provider \"ci\": its answer was not valid"),
            std::string::npos);
  EXPECT_EQ(tap.errorCode(gate), "INVALID_JSON");
}

// shows: P-HOOK-15
TEST_F(Gates, AnAnswerForAnotherGateDenies) {
  const PeerId gate = with("ci", kGate);
  check("1", "bash", kPush);
  tap.say(gate, R"({"type":"gate.result","gateId":"other","decision":"allow","callId":)" +
                    quote(asked(gate)) + "}");
  EXPECT_NE(verdict().find("it answered for another gate"), std::string::npos);
}

// shows: P-HOOK-21
TEST_F(Gates, AProviderCannotAnswerForAnother) {
  const PeerId gate = with("ci", kGate);
  const PeerId thief = tap.bound("thief", "s");
  check("1", "bash", kPush);
  tap.say(thief, gateResult(asked(gate), "allow"));
  EXPECT_EQ(verdict(), "none");
  tap.advance(5'000);
  EXPECT_NE(verdict().find("1 deny"), std::string::npos);
}

// shows: P-HOOK-21
TEST_F(Gates, AnAnswerGivenTwiceCountsOnce) {
  const PeerId gate = with("ci", kGate);
  check("1", "bash", kPush);
  const std::string id = asked(gate);
  tap.say(gate, gateResult(id, "allow"));
  tap.say(gate, gateResult(id, "deny"));
  EXPECT_EQ(verdict(), "1 pass");
  EXPECT_EQ(verdict(), "none");
}

// shows: P-HOOK-37
TEST_F(Gates, ARuleThatRunsOutOfTimeDeniesUnlessItFailsOpen) {
  const std::string slow = R"("match":{"args":"(a+)+$"})";
  const std::string args = R"({"command":")" + std::string(5000, 'a') + R"(!"})";
  const PeerId open =
      with("open", "{" + slow + R"(,"action":"gate","gateId":"g","failOpen":true})");
  check("1", "bash", args);
  EXPECT_EQ(verdict(), "1 pass");
  with("context", "{" + slow + R"(,"action":"context","content":"c"})");
  check("2", "bash", args);
  EXPECT_EQ(verdict(), "2 pass");
  EXPECT_NE(tap.logged().find("ran out of time"), std::string::npos);
  with("closed", "{" + slow + R"(,"action":"gate","gateId":"g"})");
  check("3", "bash", args);
  EXPECT_EQ(verdict(), "3 deny: tap provider \"closed\": its rule ran out of time");
  EXPECT_EQ(tap.count(open, "gate.check"), 0u);
}

// A command behind 64 KB of other text.
std::string padded(std::string_view command) {
  return R"({"command":")" + std::string(70'000, 'a') + std::string(command) + R"("})";
}

// shows: P-HOOK-41
TEST_F(Gates, APaddedArgumentGetsPastNoRuleThatGuards) {
  for (const std::string action : {R"("deny","reason":"No.")", R"("gate","gateId":"g")"}) {
    const PeerId guard = with("guard", R"({"match":{"args":"evil"},"action":)" + action + "}");
    check("1", "bash", padded(" evil"));
    EXPECT_TRUE(verdict().starts_with("1 deny: tap provider \"guard\": its rule looks at 64 KB"));
    EXPECT_EQ(tap.count(guard, "gate.check"), 0u);
    EXPECT_NE(tap.logged().find("looks at 64 KB"), std::string::npos);
    tap.lose(guard);
    tap.clear();
  }
}

TEST_F(Gates, APaddedArgumentPassesWhereTheRuleFailsOpenOrOnlyAddsContext) {
  with("open", R"({"match":{"args":"evil"},"action":"deny","failOpen":true})");
  with("chatty", R"({"match":{"args":"evil"},"action":"context","content":"Careful."})");
  check("1", "bash", padded(" evil"));
  EXPECT_EQ(verdict(), "1 pass");
}

TEST_F(Gates, ManySlowRulesDenyInTheTimeOfAll) {
  std::string slow;
  for (int i = 0; i < 49; ++i)
    slow += R"({"match":{"args":"(a+)+$"},"action":"context","content":"x"},)";
  const std::string all = slow + R"({"match":{"args":"x^"},"action":"deny"})";
  with("first", all);
  with("second", all);
  // The last rule matches no text, but there is no time to decide that.
  check("1", "bash", R"({"command":")" + std::string(5'000, 'a') + R"(!"})");
  const std::string denied = verdict();
  EXPECT_TRUE(denied.starts_with("1 deny: ")) << denied;
  EXPECT_NE(denied.find("ran out of time"), std::string::npos) << denied;
}

// shows: P-HOOK-23
TEST_F(Gates, ARuleHoldsInItsOwnSessionOnly) {
  const PeerId other = tap.session("other");
  with("guard", R"({"action":"deny"})");
  tap.send(other, protocol::HookCheck{"1", "bash", Slice(std::string("{}"))});
  EXPECT_FALSE(tap.expect<protocol::HookVerdict>(other).deny);
}

// shows: P-HOOK-7
TEST_F(Gates, RulesAreScopedToAProvidersTools) {
  with("guard", R"({"match":{"provider":"deployer"},"action":"deny","reason":"not today"})");
  tap.bound("deployer", "s", {"deploy"});
  tap.bound("other", "s", {"build"});
  tap.clear();
  check("1", "deploy");
  EXPECT_EQ(verdict(), "1 deny: tap provider \"guard\": not today");
  check("2", "build");
  EXPECT_EQ(verdict(), "2 pass");
}

// shows: P-HOOK-30, P-TEXT-16
TEST_F(Gates, AnExternalProviderCannotDeclareRules) {
  const PeerId page = tap.open("http://page.example");
  tap.say(page, R"({"type":"auth","mode":"pair","name":"page"})");
  const std::string shown = tap.timeline(session);
  tap.say(page, R"({"type":"auth.confirm","code":)" +
                    quote(shown.substr(shown.find("code: ") + 6, 6)) + "}");
  tap.say(page, helloWith("page", "s", rules(R"({"action":"deny"})")));
  EXPECT_EQ(tap.errorCode(page), "UNAUTHORIZED");
  tap.say(page, helloWith("page", "s", R"("context":"ambient")"));
  EXPECT_EQ(tap.errorCode(page), "UNAUTHORIZED");
  tap.say(page, helloWith("page", "s", R"("tools":[])"));
  tap.say(page, R"({"type":"hooks.update","requestId":"r","onPreToolUse":[{"action":"deny"}]})");
  const Message error = tap.take(page, "error");
  EXPECT_EQ(error.get("code"), "UNAUTHORIZED");
  EXPECT_EQ(error.get("requestId"), "r");
  tap.say(page, R"({"type":"context.update","context":"x"})");
  EXPECT_EQ(tap.errorCode(page), "UNAUTHORIZED");
}

TEST_F(Gates, TheEndOfTheProcessLeavesNothingPending) {
  const PeerId gate = with("ci", kGate);
  check("1", "bash", kPush);
  tap.cut(session);
  EXPECT_TRUE(tap.state().checks.gates.empty());
  EXPECT_TRUE(tap.state().checks.waiting.empty());
  tap.say(gate, gateResult(asked(gate), "allow"));
}

TEST_F(Gates, AReloadIsNotForcedWhileAGateIsPending) {
  const PeerId process = tap.session(
      "r", [](protocol::Register& message) { message.mode = protocol::SyncMode::Reload; });
  const PeerId gate = tap.authed();
  tap.say(gate, helloWith("ci", "r", rules(kGate)));
  tap.send(process, protocol::ActivityChanged{protocol::Activity::Busy});
  tap.bound("late", "r", {"late_tool"});
  tap.advance(1'000);
  tap.send(process, protocol::HookCheck{"1", "bash", Slice(std::string(kPush))});
  tap.advance(4'000);
  EXPECT_EQ(tap.count<protocol::Tools>(process), 0u);
  tap.say(gate, gateResult(asked(gate), "allow"));
  tap.advance(1);
  EXPECT_TRUE(tap.expect<protocol::Tools>(process).reload);
}

// shows: P-HOOK-22
TEST_F(Gates, FiftyRulesAreTakenFiftyOneAreNot) {
  const auto list = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += std::string(i == 0 ? "" : ",") + R"({"action":"deny"})";
    return text;
  };
  for (const int count : {49, 50}) {
    const PeerId peer = tap.authed();
    tap.say(peer, helloWith("p" + std::to_string(count), "s", rules(list(count))));
    EXPECT_EQ(tap.take(peer).type(), "hello.ack");
  }
  const PeerId peer = tap.authed();
  tap.say(peer, helloWith("p51", "s", rules(list(51))));
  EXPECT_EQ(tap.errorCode(peer), "PAYLOAD_TOO_LARGE");
  tap.say(peer, hello("p51", "s"));
  tap.clear();
  tap.say(peer, R"({"type":"hooks.update","requestId":"r","onPreToolUse":[)" + list(51) + "]}");
  const Message error = tap.take(peer, "error");
  EXPECT_EQ(error.get("code"), "PAYLOAD_TOO_LARGE");
  EXPECT_EQ(error.get("requestId"), "r");
}

}  // namespace
}  // namespace tap::gateway::test
