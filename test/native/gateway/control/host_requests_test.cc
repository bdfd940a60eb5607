// Requests to the process around the gateway: checked, numbered, bounded, and answered once
// (docs/session-link.md, "host.request").
#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

struct HostRequesting : testing::Test {
  explicit HostRequesting(const Limits& limits = {}) : tap(limits, "s3cret") {}

  Harness tap;
  PeerId control = open("s3cret");

  PeerId open(std::string_view secret) {
    const PeerId peer =
        tap.openLink(R"({"type":"control.open","secret":)" + quote(secret) + "}", false);
    EXPECT_EQ(tap.count<protocol::Welcome>(peer), 1U);
    tap.clear();
    return peer;
  }
  void ask(PeerId peer, std::string_view id, std::string_view method = "records.query",
           std::string_view params = R"({"limit":3})") {
    tap.linkText(peer, R"({"type":"host.request","requestId":)" + quote(id) + R"(,"method":)" +
                           quote(method) + R"(,"params":)" + std::string(params) + "}");
  }
  std::string answer(PeerId peer) {
    const auto result = tap.find<protocol::HostResult>(peer);
    if (!result) return "none";
    return result->requestId + (result->failed ? " failed " : " ") + result->value;
  }
  // "requestId CODE" of a failure.
  std::string failure(PeerId peer) {
    const auto result = tap.find<protocol::HostResult>(peer);
    if (!result || !result->failed) return "none";
    return result->requestId + " " + Message(result->value).get("code");
  }
};

TEST_F(HostRequesting, GoesToTheHostAndComesBack) {
  ask(control, "7");
  ASSERT_EQ(tap.requests().size(), 1U);
  const RequestHost& request = tap.requests().front();
  EXPECT_EQ(request.method + " " + request.params, R"(records.query {"limit":3})");
  EXPECT_FALSE(request.fromFeature);
  tap.answerRequest(request.number, R"({"result":[1,{"a":2}]})");
  EXPECT_EQ(answer(control), R"(7 [1,{"a":2}])");
  tap.answerRequest(request.number, R"({"result":2})");
  tap.answerRequest(RequestNumber{4711}, R"({"result":3})");
  EXPECT_EQ(answer(control), "none") << "each is answered once";
}

TEST_F(HostRequesting, MayBeRefusedByTheHost) {
  ask(control, "7");
  tap.answerRequest(tap.requests().front().number,
                    R"({"error":{"code":"UNKNOWN_METHOD","message":"no"}})");
  EXPECT_EQ(answer(control), R"(7 failed {"code":"UNKNOWN_METHOD","message":"no"})");
}

TEST_F(HostRequesting, WithoutParamsHasNone) {
  tap.linkText(control, R"({"type":"host.request","requestId":"1","method":"records.stats"})");
  EXPECT_EQ(tap.requests().front().params, "{}");
}

TEST_F(HostRequesting, OfAFeatureSaysSo) {
  const PeerId feature = open(tap.featureToken());
  ask(feature, "1");
  EXPECT_TRUE(tap.requests().front().fromFeature);
}

TEST_F(HostRequesting, AFeatureTokenAllowsNeitherALookNorAProvidersMove) {
  const std::string token = tap.featureToken();
  const std::vector<std::string> others{
      R"({"type":"inspect"})",
      R"({"type":"trace"})",
      R"({"type":"calls.list","after":0})",
      R"({"type":"provider.use","provider":"p"})",
  };
  for (const std::string& text : others) {
    const PeerId feature = open(token);
    tap.linkText(feature, R"({"type":"ping"})");
    EXPECT_EQ(tap.count<protocol::Pong>(feature), 1U);
    tap.linkText(feature, text);
    EXPECT_EQ(tap.expect<protocol::Refused>(feature).code, "UNAUTHORIZED") << text;
    EXPECT_TRUE(tap.closed(feature));
  }
}

TEST_F(HostRequesting, NeedsAnOpenLink) {
  const PeerId peer =
      tap.openLink(R"({"type":"host.request","requestId":"1","method":"records.stats"})", false);
  EXPECT_EQ(tap.expect<protocol::Refused>(peer).code, "NOT_REGISTERED");
  EXPECT_TRUE(tap.requests().empty());
}

TEST_F(HostRequesting, WithAHostileMethodNeverReachesTheHost) {
  for (const std::string method : {"__proto__", "a b", "A.b", "a\n"}) {
    ask(control, "1", method);
    EXPECT_EQ(failure(control), "1 UNKNOWN_METHOD") << method;
  }
  EXPECT_TRUE(tap.requests().empty());
}

TEST_F(HostRequesting, ThatCannotBeReadIsAnsweredAtOnce) {
  ask(control, "1", "records.query", "[1]");
  EXPECT_EQ(failure(control), "1 INVALID_JSON");
  ask(control, "2", std::string(65, 'a'));
  EXPECT_EQ(failure(control), "2 INVALID_JSON");
  EXPECT_TRUE(tap.requests().empty());
}

TEST_F(HostRequesting, OfALinkThatHasEndedIsForgotten) {
  ask(control, "1");
  tap.cut(control);
  EXPECT_TRUE(tap.state().requests.waiting.empty());
  tap.answerRequest(tap.requests().front().number, R"({"result":1})");
}

TEST_F(HostRequesting, WithAnUnusableAnswerFails) {
  for (const std::string text : {"", "[1]", "{", R"({"error":7)"}) {
    ask(control, "1");
    tap.answerRequest(tap.requests().back().number, text);
    EXPECT_EQ(failure(control), "1 INTERNAL") << text;
  }
  ask(control, "2");
  tap.answerRequest(tap.requests().back().number, "{}");
  EXPECT_EQ(answer(control), "2 null");
}

struct FewRequests : HostRequesting {
  FewRequests() : HostRequesting(limits()) {}
  static Limits limits() {
    Limits few;
    few.set(Limit::HostRequestsPerLink, 2);
    few.set(Limit::LinkFrameBytes, 65536);
    return few;
  }
};

TEST_F(FewRequests, BeyondTheLimitAreRefusedUntilOneIsAnswered) {
  ask(control, "1");
  ask(control, "2");
  ask(control, "3");
  EXPECT_EQ(failure(control), "3 RATE_LIMITED");
  const PeerId other = open("s3cret");
  ask(other, "1");
  EXPECT_EQ(tap.requests().size(), 3U) << "each link has its own";
  tap.answerRequest(tap.requests().front().number, R"({"result":1})");
  ask(control, "4");
  EXPECT_EQ(tap.requests().size(), 4U);
}

TEST_F(FewRequests, WithAnAnswerLongerThanAFrameFail) {
  ask(control, "1");
  tap.answerRequest(tap.requests().front().number,
                    R"({"result":")" + std::string(65536, 'x') + "\"}");
  EXPECT_EQ(failure(control), "1 PAYLOAD_TOO_LARGE");
}

}  // namespace
}  // namespace tap::gateway::test
