// Tap's own features: providers of the local link, admitted by a token of the host, trusted, and
// nobody's concern in a session's timeline (docs/session-link.md, "provider.open").
#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

std::string providerOpen(std::string_view token) {
  return R"({"type":"provider.open","token":)" + quote(token) + "}";
}

struct Feature : testing::Test {
  Harness tap{Limits(), "s3cret"};
  std::string token = tap.featureToken();

  PeerId session(std::string id) {
    return tap.session(std::move(id), [](auto& r) { r.secret = "s3cret"; });
  }
  std::string refusal(PeerId peer) {
    const auto refused = tap.find<protocol::Refused>(peer);
    EXPECT_TRUE(tap.closed(peer));
    return refused ? refused->code : "none";
  }
};

TEST_F(Feature, IsAProviderFromItsFirstFrameOn) {
  session("s");
  const PeerId peer = tap.feature(token);
  EXPECT_EQ(tap.take(peer).type(), "sessions");
  tap.say(peer, hello("tap-records", "all", tools({"tap_query_records"})));
  EXPECT_EQ(tap.take(peer).get("sessionId"), "all");
  EXPECT_EQ(tap.inspect().get("providers.0.trust"), "builtin");
}

TEST_F(Feature, WithAnotherTokenIsRefused) {
  for (const std::string& wrong : {std::string(), std::string("ftk-"), token + "0",
                                   std::string(kToken), std::string("s3cret")}) {
    EXPECT_EQ(refusal(tap.openLink(providerOpen(wrong), false)), "TOKEN");
  }
  EXPECT_EQ(tap.logged().find(token), std::string::npos);
}

TEST_F(Feature, NeedsTheLink) {
  const PeerId socket = tap.open();
  tap.say(socket, auth(token));
  EXPECT_EQ(tap.errorCode(socket), "AUTH_FAILED");
  EXPECT_TRUE(tap.closed(socket));
}

TEST_F(Feature, OpensALinkOnlyWithItsFirstFrame) {
  const PeerId peer = session("s");
  tap.linkText(peer, providerOpen(token));
  EXPECT_EQ(refusal(peer), "NOT_REGISTERED");
  const PeerId inProcess = session("t");
  tap.send(inProcess, protocol::OpenProvider{token});
  EXPECT_EQ(refusal(inProcess), "NOT_REGISTERED");
  EXPECT_EQ(tap.inspect().size("providers"), 0U);
}

TEST_F(Feature, HasAsManyLinksAsItLikes) {
  session("s");
  for (int i = 0; i < 100; ++i) {
    tap.boundFeature(token, "tap-" + std::to_string(i), tools({"tool_" + std::to_string(i)}));
  }
  EXPECT_EQ(tap.inspect().size("providers"), 100U);
  const PeerId other = tap.bound("p", "s", {"a"});
  EXPECT_FALSE(tap.closed(other)) << "they count as no connections";
}

TEST_F(Feature, IsBoundToASessionBeforeItJoins) {
  const PeerId peer = tap.boundFeature(token, "tap-records", tools({"tap_query_records"}));
  const PeerId session = tap.link("s", [](auto& r) { r.secret = "s3cret"; });
  const auto first = tap.confirmTools(session);
  ASSERT_EQ(first->set.size(), 1U);
  EXPECT_EQ(first->set[0].provider, "tap-records");
  EXPECT_EQ(tap.take(peer, "session.lifecycle").get("state"), "started");
  tap.say(peer, R"({"type":"session.ready","sessionId":"s"})");
  EXPECT_EQ(tap.count(peer, "error"), 0U) << "as its SDK says when it hears of the session";
}

TEST_F(Feature, IsNotAnnouncedNorMissed) {
  const PeerId peer = tap.boundFeature(token, "tap-records", tools({"tap_query_records"}));
  const PeerId session = tap.link("s", [](auto& r) { r.secret = "s3cret"; });
  const PeerId late = tap.boundFeature(token, "tap-plans", tools({"tap_plan"}));
  tap.lose(peer);
  tap.say(late, kGoodbye);
  tap.advance(60'000);
  EXPECT_EQ(tap.timeline(session), "");
}

// shows: P-ID-14
TEST_F(Feature, MayHaveNamesThatNobodyElseMayHave) {
  session("s");
  const PeerId provider = tap.authed();
  for (const char* name : {"TAP-records", "builtin:records", "Builtin:x", "project:ci", "user:x"}) {
    tap.say(provider, hello(name, "s"));
    EXPECT_EQ(tap.errorCode(provider), "UNAUTHORIZED") << name;
  }
  for (const std::string name : {"tap_status", "Tap_Tools"}) {
    tap.say(provider, hello("mine", "s", tools({name})));
    EXPECT_EQ(tap.errorCode(provider), "TOOL_CONFLICT") << name;
  }
  tap.boundFeature(token, "tap-status", tools({"tap_status", "tap_tools"}));
}

TEST_F(Feature, IsSlowedDownLikeOthersWhenItFloods) {
  session("s");
  const PeerId peer = tap.boundFeature(token, "tap-records", "[]");
  for (int i = 0; i < 300; ++i) tap.say(peer, push("keep", "e"));
  EXPECT_TRUE(tap.paused(peer));
}

TEST_F(Feature, ThatDoesNotReadIsClosed) {
  session("s");
  const PeerId peer = tap.boundFeature(token, "tap-records", "[]");
  tap.backlog(peer, Limits().bytes(Limit::OutboundBytes) + 1);
  EXPECT_EQ(tap.closeCode(peer), kPolicyViolation);
}

TEST_F(Feature, ThatDoesNotAnswerIsPinged) {
  const PeerId link = session("s");
  const PeerId peer = tap.boundFeature(token, "tap-records", tools({"tap_query_records"}));
  tap.advance(300);
  (void)tap.confirmTools(link);
  tap.call(link, "1", "tap_query_records");
  tap.advance(20'000);
  EXPECT_GT(tap.pings(peer), 0);
}

TEST_F(Feature, EndsWithItsToken) {
  const PeerId link = session("s");
  const PeerId peer = tap.boundFeature(token, "tap-records", tools({"tap_query_records"}));
  const PeerId control =
      tap.openLink(R"({"type":"control.open","secret":)" + quote(token) + "}", false);
  const std::string others = tap.featureToken();
  const PeerId stays = tap.boundFeature(others, "tap-plans", tools({"tap_plan"}));
  tap.advance(300);
  (void)tap.confirmTools(link);
  tap.call(link, "1", "tap_query_records");
  tap.revokeFeatureToken(token);
  EXPECT_EQ(tap.outcome(link), "1 DISCONNECTED");
  EXPECT_TRUE(tap.closed(peer));
  EXPECT_EQ(refusal(control), "TOKEN");
  EXPECT_FALSE(tap.closed(stays));
  EXPECT_EQ(refusal(tap.openLink(providerOpen(token), false)), "TOKEN");
  tap.revokeFeatureToken("ftk-unknown");
}

TEST_F(Feature, ThatIsBackSoonHasLeftNeitherToolsNorRules) {
  const PeerId link = session("s");
  const std::string more =
      R"("tools":)" + tools({"tap_set_goal"}) + R"(,"hooks":{"onPreToolUse":[{"action":"deny"}]})";
  const auto begin = [&] {
    const PeerId peer = tap.feature(token);
    tap.say(peer, helloWith("tap-goals", "all", more));
    EXPECT_EQ(tap.take(peer, "hello.ack").type(), "hello.ack");
  };
  const auto denied = [&] {
    tap.send(link, protocol::HookCheck{"c", "bash", Slice("{}")});
    const auto verdict = tap.find<protocol::HookVerdict>(link);
    return verdict && verdict->deny.has_value();
  };
  begin();
  tap.advance(300);
  (void)tap.confirmTools(link);
  EXPECT_TRUE(denied());
  const auto end = [&] {  // its host was killed
    tap.revokeFeatureToken(token);
    token = tap.featureToken();
    tap.advance(5'000);
    EXPECT_TRUE(denied());
    EXPECT_FALSE(tap.find<protocol::Tools>(link)) << "the model keeps them";
    tap.call(link, "1", "tap_set_goal");
    EXPECT_EQ(tap.outcome(link), "1 DISCONNECTED");
  };
  end();
  begin();
  tap.advance(5'000);
  EXPECT_FALSE(tap.find<protocol::Tools>(link)) << "they are the same";
  EXPECT_TRUE(denied());
  end();
  tap.advance(1'300);
  const auto change = tap.find<protocol::Tools>(link);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->drop, std::vector<std::string>{"tap-goals"});
  tap.advance(24'000);
  EXPECT_FALSE(denied());
}

TEST_F(Feature, ThatEndsByItselfLeavesAtOnce) {
  const PeerId link = session("s");
  const PeerId peer = tap.boundFeature(token, "tap-records", tools({"tap_query_records"}));
  tap.advance(300);
  (void)tap.confirmTools(link);
  tap.say(peer, kGoodbye);
  tap.advance(300);
  EXPECT_TRUE(tap.find<protocol::Tools>(link));
}

TEST_F(Feature, ThatIsDisabledIsNamedInCallsOfItsTools) {
  const PeerId link = session("s");
  const PeerId peer = tap.boundFeature(token, "tap-records", tools({"tap_query_records"}));
  tap.advance(300);
  (void)tap.confirmTools(link);
  const auto failed = [&] {
    const auto result = tap.find<protocol::CallResult>(link);
    EXPECT_TRUE(result && result->failed);
    EXPECT_EQ(result->code, protocol::ErrorCode::Disconnected);
    return result->text;
  };
  const std::string wanted =
      "Tool \"tap_query_records\" failed with DISCONNECTED: the user has disabled builtin:records, "
      "the feature that it belongs to. The call was not repeated. The user can enable it with: "
      "copilot-tap features enable builtin:records";
  tap.call(link, "1", "tap_query_records");
  tap.gateway().disableTools("builtin:records", {"tap_query_records"});
  tap.say(peer, kGoodbye);
  EXPECT_EQ(failed(), wanted) << "of a call in flight";
  tap.call(link, "2", "tap_query_records");
  EXPECT_EQ(failed(), wanted);
  const PeerId control = tap.openLink(R"({"type":"control.open","secret":"s3cret"})", false);
  tap.call(control, "3", "tap_query_records");
  EXPECT_EQ(tap.find<protocol::CallResult>(control)->text, wanted);
  tap.gateway().disableTools("builtin:records", {});
  tap.call(link, "4", "tap_query_records");
  EXPECT_NE(failed().find("the provider of this tool is not connected now"), std::string::npos);
}

TEST_F(Feature, ThatIsDisabledHasNoSayInTheToolOfAnother) {
  const PeerId link = session("s");
  const PeerId peer = tap.bound("p", "s", {"query"});
  tap.advance(300);
  (void)tap.confirmTools(link);
  tap.gateway().disableTools("builtin:records", {"query"});
  tap.call(link, "1", "query");
  tap.lose(peer);
  const auto result = tap.find<protocol::CallResult>(link);
  ASSERT_TRUE(result);
  EXPECT_NE(result->text.find("Provider \"p\" failed"), std::string::npos) << result->text;
}

TEST_F(Feature, FindsNoGatewayThatIsAboutToExit) {
  session("s");
  tap.openLink(R"({"type":"drain","secret":"s3cret","version":"2"})", false);
  EXPECT_EQ(refusal(tap.openLink(providerOpen(token), false)), "DRAINING");
}

}  // namespace
}  // namespace tap::gateway::test
