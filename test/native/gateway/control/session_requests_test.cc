// Requests of tap's features to a session: each is answered once, whatever becomes of the session
// (docs/session-link.md, "session.request").
#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

struct SessionRequestTest : testing::Test {
  explicit SessionRequestTest(const Limits& limits = {}) : tap(limits) {}

  Harness tap;
  PeerId session = tap.session("s");

  std::string asked() {
    const auto request = tap.find<protocol::SessionRequest>(session);
    if (!request) return "none";
    return request->requestId + " " + request->request + " " + request->params;
  }
  void answer(PeerId from, const std::string& id, const std::string& result) {
    tap.linkText(from, R"({"type":"session.result","requestId":")" + id + "\"," + result + "}");
  }
  std::string answers() {
    std::string all;
    for (const SessionAnswered& one : tap.sessionAnswers()) {
      all += std::to_string(static_cast<uint64_t>(one.number)) + one.json + " ";
    }
    return all;
  }
};

struct FewSessionRequests : SessionRequestTest {
  FewSessionRequests() : SessionRequestTest(limits()) {}
  static Limits limits() {
    Limits few;
    few.set(Limit::SessionRequestsPerSession, 2);
    few.set(Limit::SessionAnswerBytes, 1024);
    return few;
  }
};

TEST_F(SessionRequestTest, GoesToTheProcessOfItsSessionAndComesBackAsItIs) {
  tap.session("other");
  tap.requestFromSession("s", "mode.set", R"({"mode":"plan"})");
  EXPECT_EQ(asked(), R"(1 mode.set {"mode":"plan"})");
  EXPECT_EQ(answers(), "");
  answer(session, "1", R"("result": {"mode": "plan"})");
  EXPECT_EQ(answers(), R"(1{"result":{"mode": "plan"}} )");
}

TEST_F(SessionRequestTest, PassesTheRefusalOfTheSessionOn) {
  tap.requestFromSession("s", "nothing");
  answer(session, "1", R"("error":{"code":"UNKNOWN_REQUEST","message":"no"})");
  EXPECT_EQ(answers(), R"(1{"error":{"code":"UNKNOWN_REQUEST","message":"no"}} )");
}

TEST_F(SessionRequestTest, IsAnsweredOnceAndOnlyByThatSession) {
  const PeerId other = tap.session("other");
  tap.requestFromSession("s", "state.read");
  answer(other, "1", R"("result":"forged")");
  for (const char* id : {"0", "2", "1x", "-1", "", "99999999999999999999999"}) {
    if (*id != '\0') answer(session, id, R"("result":"of none")");
  }
  EXPECT_EQ(answers(), "");
  answer(session, "1", R"("result":1)");
  answer(session, "1", R"("result":2)");
  EXPECT_EQ(answers(), R"(1{"result":1} )");
  EXPECT_TRUE(tap.state().sessionRequests.empty());
}

TEST_F(SessionRequestTest, ThatIsNotAnsweredFailsInTime) {
  tap.requestFromSession("s", "state.read");
  tap.advance(89'999);
  EXPECT_EQ(answers(), "");
  tap.advance(1);
  EXPECT_EQ(answers().rfind(R"(1{"error":{"code":"TIMEOUT","message":"the session did not)", 0),
            0u);
  answer(session, "1", R"("result":"late")");
  EXPECT_EQ(tap.sessionAnswers().size(), 1u);
}

TEST_F(SessionRequestTest, ToNoSessionFailsAtOnce) {
  tap.requestFromSession("nobody", "state.read");
  tap.send(session, protocol::EndSession{"over"});
  tap.requestFromSession("s", "state.read");
  EXPECT_EQ(tap.sessionAnswers().size(), 2u);
  for (const SessionAnswered& one : tap.sessionAnswers()) {
    EXPECT_NE(one.json.find("NO_SESSION"), std::string::npos) << one.json;
  }
}

TEST_F(SessionRequestTest, ToASessionWhoseProcessIsGoneFailsAtOnce) {
  tap.requestFromSession("s", "state.read");
  tap.cut(session);
  EXPECT_NE(answers().find("DISCONNECTED"), std::string::npos) << answers();
  tap.requestFromSession("s", "state.read");
  EXPECT_EQ(tap.sessionAnswers().size(), 2u);
  EXPECT_NE(tap.sessionAnswers()[1].json.find("gone for the moment"), std::string::npos);
  tap.advance(200'000);
  EXPECT_EQ(tap.sessionAnswers().size(), 2u);
}

TEST_F(SessionRequestTest, OfASessionThatEndsFails) {
  tap.requestFromSession("s", "ask");
  tap.send(session, protocol::EndSession{"over"});
  EXPECT_NE(answers().find("the session has ended"), std::string::npos) << answers();
  answer(session, "1", R"("result":"yes")");
  EXPECT_EQ(tap.sessionAnswers().size(), 1u);
}

TEST_F(FewSessionRequests, BeyondTheLimitAreRefusedUntilOneIsAnswered) {
  tap.session("other");
  tap.requestFromSession("s", "state.read");
  tap.requestFromSession("s", "state.read");
  tap.requestFromSession("s", "state.read");
  EXPECT_EQ(answers().rfind(R"(3{"error":{"code":"RATE_LIMITED")", 0), 0u) << answers();
  tap.requestFromSession("other", "state.read");
  EXPECT_EQ(tap.sessionAnswers().size(), 1u) << "each session has its own";
  answer(session, "1", R"("result":1)");
  tap.requestFromSession("s", "state.read");
  EXPECT_EQ(tap.sessionAnswers().size(), 2u);
}

TEST_F(FewSessionRequests, WithALargeAnswerFail) {
  tap.requestFromSession("s", "state.read");
  answer(session, "1", R"("result":")" + std::string(1023, 'x') + "\"");
  EXPECT_NE(answers().find("PAYLOAD_TOO_LARGE"), std::string::npos);
  tap.requestFromSession("s", "state.read");
  answer(session, "2", R"("result":")" + std::string(1022, 'x') + "\"");
  EXPECT_EQ(tap.sessionAnswers()[1].json.size(), 1024 + std::string(R"({"result":})").size());
}

TEST_F(SessionRequestTest, OfALinkThatIsNoSessionsIsRefused) {
  const PeerId stranger = tap.newPeer();
  answer(stranger, "1", R"("result":1)");
  EXPECT_TRUE(tap.closed(stranger));
}

TEST_F(SessionRequestTest, TheModeOfTheAgentIsInTheInspectionAndItsChangesAreRecords) {
  const auto learn = [&](const char* mode, const char* by) {
    protocol::Update update;
    update.agentMode = mode;
    update.agentModeBy = by;
    tap.send(session, update);
  };
  tap.record();
  learn("interactive", "start");
  EXPECT_EQ(tap.inspect().get("sessions.0.agentMode"), "interactive");
  EXPECT_EQ(tap.inspect().get("sessions.0.agentModeBy"), "start");
  learn("plan", "user");
  learn("plan", "tap");
  std::string reasons;
  for (const Stored& one : tap.records()) {
    if (one.body.get("event") == "mode") reasons += one.body.text();
  }
  EXPECT_NE(reasons.find("plan, after interactive, by user"), std::string::npos) << reasons;
  EXPECT_EQ(reasons.find("by tap"), std::string::npos) << "it did not change";
  learn("\x1b[2J and much more than thirty-two bytes", "user");
  EXPECT_EQ(tap.inspect().text().find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace tap::gateway::test
