// A feature asks whether a use of a tool would be denied in a session: the same rules and gates
// decide as when the session asks (docs/session-link.md, "permission.check").
#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

struct Permissions : testing::Test {
  explicit Permissions(const Limits& limits = {}) : tap(limits, "s3cret") {}

  Harness tap;
  std::string token = tap.featureToken();
  PeerId session = tap.session("s", [](protocol::Register& r) { r.secret = "s3cret"; });
  PeerId feature = open(token);

  PeerId open(std::string_view secret) {
    const PeerId peer =
        tap.openLink(R"({"type":"control.open","secret":)" + quote(secret) + "}", false);
    EXPECT_EQ(tap.count<protocol::Welcome>(peer), 1U);
    tap.clear();
    return peer;
  }
  PeerId with(std::string_view name, std::string_view rules) {
    const PeerId peer = tap.bound(name, "s");
    declare(peer, rules);
    return peer;
  }
  void declare(PeerId peer, std::string_view rules) {
    tap.say(peer, R"({"type":"hooks.update","onPreToolUse":[)" + std::string(rules) + "]}");
    tap.clear();
  }
  void ask(PeerId peer, std::string_view id, std::string_view command = "git push",
           std::string_view in = "s") {
    tap.linkText(peer, R"({"type":"permission.check","requestId":)" + quote(id) +
                           R"(,"sessionId":)" + quote(in) + R"(,"tool":"bash","args":{"command":)" +
                           quote(command) + "}}");
  }
  void judge(PeerId provider, std::string_view decision) {
    const std::string callId = tap.take(provider, "gate.check").get("callId");
    tap.say(provider, R"({"type":"gate.result","gateId":"g","callId":")" + callId +
                          R"(","decision":")" + std::string(decision) + R"(","reason":"not now"})");
  }
  std::string answer() {
    const auto result = tap.find<protocol::HostResult>(feature);
    if (!result) return "none";
    return result->requestId + (result->failed ? " failed " : " ") + result->value;
  }
};

const std::string kDeny =
    R"({"match":{"tool":"shell","args":"git push"},"action":"deny","reason":"ask first"})";
const std::string kGate =
    R"({"match":{"tool":"shell","args":"git push"},"action":"gate","gateId":"g"})";
const std::string kAllowed = R"({"allowed":true})";

TEST_F(Permissions, WithoutRulesIsGiven) {
  ask(feature, "1");
  EXPECT_EQ(answer(), "1 " + kAllowed);
  EXPECT_EQ(tap.count<protocol::HookVerdict>(session), 0U) << "the session has not asked";
}

TEST_F(Permissions, IsDeniedByARuleWithItsReasonAndItsProvider) {
  with("guard", kDeny);
  ask(feature, "1");
  EXPECT_EQ(answer(), R"(1 {"allowed":false,"reason":"tap provider \"guard\": ask first",)"
                      R"("by":"guard"})");
  ask(feature, "2", "ls");
  EXPECT_EQ(answer(), "2 " + kAllowed);
}

TEST_F(Permissions, IsAskedOfGatesAsTheSessionAsksThem) {
  const PeerId guard = with("guard", kGate);
  ask(feature, "1");
  EXPECT_EQ(answer(), "none");
  tap.send(session,
           protocol::HookCheck{"c", "bash", Slice(std::string(R"({"command":"git push"})"))});
  const Message first = tap.take(guard, "gate.check");
  const Message second = tap.take(guard, "gate.check");
  for (const char* field : {"gateId", "sessionId", "tool", "args.command"}) {
    EXPECT_EQ(first.get(field), second.get(field));
  }
  for (const Message& message : {first, second}) {
    tap.say(guard, R"({"type":"gate.result","gateId":"g","decision":"allow","callId":")" +
                       message.get("callId") + "\"}");
  }
  EXPECT_EQ(answer(), "1 " + kAllowed);
  EXPECT_TRUE(tap.find<protocol::HookVerdict>(session));
  ask(feature, "2");
  judge(guard, "deny");
  EXPECT_EQ(answer(), R"(2 {"allowed":false,"reason":"tap provider \"guard\": not now",)"
                      R"("by":"guard"})");
  ask(feature, "3");
  judge(guard, "context");
  EXPECT_EQ(answer(), "3 " + kAllowed) << "a gate's context is for the session's model";
}

TEST_F(Permissions, IsDeniedByAGateThatDoesNotAnswer) {
  const PeerId guard = with("guard", kGate);
  ask(feature, "1");
  tap.advance(4'999);
  EXPECT_EQ(answer(), "none");
  tap.advance(1);
  EXPECT_EQ(answer(), R"(1 {"allowed":false,"reason":"tap provider \"guard\": it did not respond )"
                      R"(in time","by":"guard"})");
  ask(feature, "2");
  tap.lose(guard);
  EXPECT_NE(answer().find(R"("allowed":false)"), std::string::npos);
  ask(feature, "3");
  EXPECT_NE(answer().find("its connection was lost"), std::string::npos) << "its rules are held";
}

TEST_F(Permissions, IsAskedOfAGateOfTheFeaturesOwn) {
  const PeerId own = tap.boundFeature(token, "tap-own", "[]");
  tap.say(own, R"({"type":"session.ready","sessionId":"s"})");
  declare(own, kGate);
  ask(feature, "1");
  judge(own, "deny");
  EXPECT_NE(answer().find(R"("by":"tap-own")"), std::string::npos);
}

// No model gets the text, so it is sent without being recorded first.
TEST_F(Permissions, OfARuleOfAFeatureIsAnsweredAtOnce) {
  tap.record();
  const PeerId own = tap.boundFeature(token, "tap-own", "[]");
  tap.say(own, R"({"type":"session.ready","sessionId":"s"})");
  declare(own, kDeny);
  (void)tap.records();
  ask(feature, "1");
  EXPECT_NE(answer().find("ask first"), std::string::npos);
  const std::vector<Stored> rows = tap.records();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].collection, protocol::Collection::Gate);
}

TEST_F(Permissions, InASessionThatIsNotThereFails) {
  ask(feature, "1", "ls", "other");
  EXPECT_EQ(answer(),
            R"(1 failed {"code":"INVALID_SESSION","message":"there is no session \"other\""})");
  with("guard", kGate);
  ask(feature, "2");
  tap.send(session, protocol::EndSession{"exit"});
  EXPECT_EQ(answer(), R"(2 failed {"code":"INVALID_SESSION","message":"the session has ended"})");
  ask(feature, "3");
  EXPECT_NE(answer().find(R"(3 failed {"code":"INVALID_SESSION")"), std::string::npos);
  EXPECT_TRUE(tap.state().checks.gates.empty());
}

TEST_F(Permissions, InASessionWhoseProcessIsAwayWaitsForItsGates) {
  const PeerId guard = with("guard", kGate);
  ask(feature, "1");
  tap.cut(session);
  EXPECT_EQ(answer(), "none");
  judge(guard, "allow");
  EXPECT_EQ(answer(), "1 " + kAllowed);
}

TEST_F(Permissions, OfALinkThatHasEndedIsForgotten) {
  const PeerId guard = with("guard", kGate);
  ask(feature, "1");
  tap.cut(feature);
  EXPECT_TRUE(tap.state().checks.waiting.empty());
  EXPECT_TRUE(tap.state().checks.gates.empty());
  judge(guard, "allow");
  EXPECT_EQ(answer(), "none");
}

TEST_F(Permissions, IsForNobodyButAFeature) {
  const PeerId client = open("s3cret");
  ask(client, "1");
  EXPECT_EQ(tap.expect<protocol::Refused>(client).code, "UNAUTHORIZED");
  EXPECT_TRUE(tap.closed(client));
  ask(session, "1");
  EXPECT_EQ(tap.expect<protocol::Refused>(session).code, "NOT_REGISTERED");
  const PeerId provider = tap.bound("p", "s");
  tap.say(provider, R"({"type":"permission.check","requestId":"1","sessionId":"s"})");
  EXPECT_NE(tap.errorCode(provider), "none") << "it is no message of the providers' protocol";
}

TEST_F(Permissions, ThatCannotBeReadIsAnsweredAtOnce) {
  tap.linkText(feature,
               R"({"type":"permission.check","requestId":"1","sessionId":"s","tool":"bash",)"
               R"("args":[]})");
  EXPECT_NE(answer().find(R"(1 failed {"code":"INVALID_JSON")"), std::string::npos);
}

struct FewPermissions : Permissions {
  FewPermissions() : Permissions(limits()) {}
  static Limits limits() {
    Limits few;
    few.set(Limit::HostRequestsPerLink, 2);
    few.set(Limit::CallsPerSession, 2);
    return few;
  }
};

TEST_F(FewPermissions, BeyondTheLimitAreRefusedAndTakeNoPlaceOfTheSession) {
  const PeerId guard = with("guard", kGate);
  for (const char* id : {"1", "2", "3"}) ask(feature, id);
  EXPECT_NE(answer().find(R"(3 failed {"code":"RATE_LIMITED")"), std::string::npos);
  tap.send(session,
           protocol::HookCheck{"c", "bash", Slice(std::string(R"({"command":"git push"})"))});
  EXPECT_FALSE(tap.find<protocol::HookVerdict>(session)) << "its gate is asked";
  judge(guard, "allow");
  EXPECT_EQ(answer(), "1 " + kAllowed);
  ask(feature, "4");
  EXPECT_EQ(answer(), "none");
}

}  // namespace
}  // namespace tap::gateway::test
