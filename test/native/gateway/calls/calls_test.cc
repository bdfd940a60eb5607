// A tool call's way there and back, and its single outcome: result, cancel, timeout, disconnect.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

struct Calls : ::testing::Test {
  Harness tap;
  PeerId session = tap.session("s");
  PeerId peer = tap.bound("p", "s", {"greet", "other"});

  std::string open(const std::string& callId, const std::string& name = "greet") {
    return tap.callTo(session, peer, callId, name);
  }
};

// shows: P-CALL-1
TEST_F(Calls, GoToTheProviderWithTheirArgumentsUntouched) {
  tap.call(session, "1", "greet", R"({ "name" : "Al\u0069ce", "n": 1.0 })");
  const Message call = tap.take(peer);
  EXPECT_EQ(call.type(), "tool.call");
  EXPECT_EQ(call.get("sessionId"), "s");
  EXPECT_EQ(call.get("tool"), "greet");
  EXPECT_EQ(call.get("args"), R"({ "name" : "Al\u0069ce", "n": 1.0 })");
  EXPECT_EQ(call.get("id").size(), 36u);
}

// shows: P-CALL-2
TEST_F(Calls, ComeBackWithTheirDataUntouched) {
  for (const char* data : {R"("Hello, Alice!")", R"({ "a": [1, 2.50] })", "null", "true", "[]"}) {
    tap.say(peer, result(open("1"), data));
    EXPECT_EQ(tap.outcome(session), "1 ok " + std::string(data));
    EXPECT_TRUE(tap.quiet(peer));
  }
}

TEST_F(Calls, FailWhereTheirResultDoesNotFitIntoAFrameOfTheLink) {
  Limits limits;
  limits.set(Limit::LinkFrameBytes, 100'000);
  for (const size_t over : {0u, 1u}) {
    Harness small(limits);
    const PeerId in = small.session("s");
    const PeerId from = small.bound("p", "s", {"greet"});
    const std::string id = small.callTo(in, from, "1", "greet");
    small.say(from, result(id, std::string(100'000 - 1'024 + over, '1')));
    const auto settled = small.expect<protocol::CallResult>(in);
    EXPECT_EQ(settled.failed, over == 1);
    if (!settled.failed) continue;
    EXPECT_EQ(settled.code, protocol::ErrorCode::PayloadTooLarge);
    EXPECT_NE(settled.text.find("link-frame-bytes"), std::string::npos) << settled.text;
  }
}

TEST_F(Calls, ComeBackWithTheImageBesideTheRestOfTheirData) {
  tap.say(peer, result(open("1"), R"({"w":7,"image":"data:image/png;base64,iVBORw0KGgo="})"));
  const auto settled = tap.expect<protocol::CallResult>(session);
  EXPECT_FALSE(settled.failed);
  EXPECT_EQ(settled.data.view(), R"({"w":7})");
  EXPECT_EQ(settled.binary.mimeType, "image/png");
  EXPECT_EQ(settled.binary.base64.view(), "iVBORw0KGgo=");
}

// shows: P-CALL-2
TEST_F(Calls, WithoutDataSucceedWithNothing) {
  tap.say(peer, R"({"type":"tool.result","id":")" + open("1") + "\"}");
  EXPECT_EQ(tap.outcome(session), "1 ok ");
}

// shows: P-CALL-3
TEST_F(Calls, FailWithTheProvidersCodeAndReason) {
  tap.say(peer, failure(open("1"), "NOT_FOUND", "no such person"));
  const auto settled = tap.expect<protocol::CallResult>(session);
  EXPECT_TRUE(settled.failed);
  EXPECT_EQ(settled.code, protocol::ErrorCode::NotFound);
  EXPECT_EQ(settled.text,
            "Provider \"p\" failed with NOT_FOUND: no such person. Check the arguments, or whether "
            "the thing asked for exists.");
}

// shows: P-CALL-5
TEST_F(Calls, ThatDoNotFitTheParametersAdviseToCheckTheArgumentsAlone) {
  tap.say(peer, failure(open("1"), "INVALID_ARGUMENTS", "forecast needs \"city\" (text)"));
  const auto settled = tap.expect<protocol::CallResult>(session);
  EXPECT_EQ(settled.code, protocol::ErrorCode::InvalidArguments);
  EXPECT_EQ(
      settled.text,
      "Provider \"p\" failed with INVALID_ARGUMENTS: forecast needs \"city\" (text). Check the "
      "arguments, then call again.");
}

// shows: P-CALL-3
TEST_F(Calls, ThatTheToolItselfFailedHaveItsWordsAlone) {
  tap.say(peer, failure(open("1"), "TOOL_ERROR", "first line\nsecond line"));
  const auto settled = tap.expect<protocol::CallResult>(session);
  EXPECT_TRUE(settled.failed);
  EXPECT_EQ(settled.code, protocol::ErrorCode::ToolError);
  EXPECT_EQ(settled.text, "greet failed: first line\nsecond line");
}

// shows: P-CALL-6
TEST_F(Calls, FailAsInternalWhereTheCodeIsUnknown) {
  tap.say(peer, failure(open("1"), "EPIPE", "broken"));
  EXPECT_EQ(tap.outcome(session), "1 INTERNAL");
  tap.say(peer, R"({"type":"tool.result","id":")" + open("2") + R"(","errorCode":"TIMEOUT"})");
  EXPECT_EQ(tap.outcome(session), "2 TIMEOUT");
}

// shows: P-CALL-3
TEST_F(Calls, FailWithEveryCodeThatAProviderMaySend) {
  for (const protocol::ErrorRow& error : protocol::kErrorTable) {
    const std::string code(error.name);
    tap.say(peer, failure(open("1"), code, "no"));
    EXPECT_EQ(tap.outcome(session), "1 " + code);
  }
}

TEST_F(Calls, ShowControlCharactersOfAFailure) {
  tap.say(peer, failure(open("1"), "INTERNAL", "\x1b[2Jgone"));
  const auto settled = tap.expect<protocol::CallResult>(session);
  EXPECT_EQ(settled.text.find('\x1b'), std::string::npos);
  EXPECT_NE(settled.text.find("\\x1b[2Jgone"), std::string::npos);
}

// shows: P-CALL-7
TEST_F(Calls, MayOvertakeEachOther) {
  const std::string first = open("1");
  const std::string second = open("2", "other");
  tap.say(peer, result(second, "2"));
  tap.say(peer, result(first, "1"));
  EXPECT_EQ(tap.outcome(session), "2 ok 2");
  EXPECT_EQ(tap.outcome(session), "1 ok 1");
}

// shows: P-CALL-1
TEST_F(Calls, OfSeveralSessionsMayShareTheirIds) {
  const PeerId otherSession = tap.session("t");
  const PeerId other = tap.bound("p", "t", {"greet"});
  const std::string here = open("1");
  const std::string there = tap.callTo(otherSession, other, "1", "greet");
  EXPECT_NE(here, there);
  tap.say(other, result(there, "2"));
  tap.say(peer, result(here, "1"));
  EXPECT_EQ(tap.outcome(session), "1 ok 1");
  EXPECT_EQ(tap.outcome(otherSession), "1 ok 2");
}

// shows: P-CALL-8
TEST_F(Calls, IgnoreASecondResult) {
  const std::string id = open("1");
  tap.say(peer, result(id, "1"));
  tap.say(peer, result(id, "2"));
  tap.say(peer, failure(id, "INTERNAL", "late"));
  EXPECT_EQ(tap.outcome(session), "1 ok 1");
  EXPECT_EQ(tap.outcome(session), "none");
  EXPECT_TRUE(tap.quiet(peer));
}

// shows: P-CALL-9
TEST_F(Calls, IgnoreAResultNobodyAskedForAlsoWhileOthersArePending) {
  const std::string first = open("1");
  const std::string second = open("2");
  tap.say(peer, result("never-called"));
  EXPECT_EQ(tap.outcome(session), "none");
  EXPECT_TRUE(tap.quiet(peer));
  EXPECT_FALSE(tap.closed(peer));
  tap.say(peer, result(first));
  tap.say(peer, result(second));
}

// shows: P-CALL-10
TEST_F(Calls, IgnoreAResultByAnotherProvider) {
  const PeerId thief = tap.bound("thief", "s");
  const std::string id = open("1");
  tap.say(thief, result(id, "\"forged\""));
  tap.say(thief, R"({"type":"tool.result","id":")" + id + R"(","error":{}})");
  EXPECT_EQ(tap.outcome(session), "none");
  tap.say(peer, result(id, "\"true\""));
  EXPECT_EQ(tap.outcome(session), "1 ok \"true\"");
}

// shows: P-CALL-12, P-CALL-13
TEST_F(Calls, ThatAreCancelledTellTheProviderAndNobodyElse) {
  const std::string id = open("1");
  tap.send(session, protocol::CancelCall{"1", "aborted by the user"});
  EXPECT_EQ(tap.take(peer).text(), R"({"type":"tool.cancel","id":")" + id +
                                       R"(","sessionId":"s","reason":"aborted by the user"})");
  EXPECT_EQ(tap.outcome(session), "none");
  tap.say(peer, failure(id, "CANCELLED", "Cancelled"));
  tap.say(peer, result(id, "\"late\""));
  EXPECT_EQ(tap.outcome(session), "none");
  EXPECT_TRUE(tap.quiet(peer));
}

TEST_F(Calls, ThatAreCancelledWithoutAReasonWereAborted) {
  open("1");
  tap.send(session, protocol::CancelCall{"1", ""});
  EXPECT_EQ(tap.take(peer, "tool.cancel").get("reason"), "aborted");
}

TEST_F(Calls, ThatAreSettledCannotBeCancelled) {
  tap.say(peer, result(open("1")));
  tap.send(session, protocol::CancelCall{"1", ""});
  tap.send(session, protocol::CancelCall{"never", ""});
  EXPECT_TRUE(tap.quiet(peer));
}

// shows: P-CALL-11, P-CALL-13
TEST_F(Calls, TimeOutAfterFiveMinutes) {
  const std::string id = open("1");
  tap.advance(299'999);
  EXPECT_EQ(tap.outcome(session), "none");
  tap.advance(1);
  EXPECT_EQ(tap.outcome(session), "1 TIMEOUT");
  const Message cancel = tap.take(peer);
  EXPECT_EQ(cancel.type(), "tool.cancel");
  EXPECT_EQ(cancel.get("id"), id);
  EXPECT_EQ(cancel.get("reason"), "timeout");
  tap.say(peer, result(id, "\"late\""));
  EXPECT_EQ(tap.outcome(session), "none");
  EXPECT_FALSE(tap.closed(peer));
}

// shows: P-CALL-11
TEST_F(Calls, TimeOutAsTheirToolSays) {
  tap.boundWith("quick", "s", R"([{"name":"quick","timeout":250}])");
  tap.call(session, "1", "quick");
  tap.advance(249);
  EXPECT_EQ(tap.outcome(session), "none");
  tap.advance(1);
  EXPECT_EQ(tap.outcome(session), "1 TIMEOUT");
}

// shows: P-CALL-11
TEST_F(Calls, DoNotTimeOutOnceTheyAreSettled) {
  tap.say(peer, result(open("1")));
  EXPECT_EQ(tap.outcome(session), "1 ok \"done\"");
  tap.advance(600'000);
  EXPECT_EQ(tap.outcome(session), "none");
  EXPECT_EQ(tap.count(peer, "tool.cancel"), 0u);
}

TEST_F(Calls, LeaveNoTimerBehind) {
  tap.advance(200);
  (void)tap.confirmTools(session);
  ASSERT_EQ(tap.timers(), 0u);
  tap.say(peer, result(open("1")));
  tap.say(peer, failure(open("2"), "INTERNAL", "no"));
  open("3");
  tap.send(session, protocol::CancelCall{"3", ""});
  open("4");
  tap.say(peer, "{");
  EXPECT_EQ(tap.timers(), 0u);
}

// shows: P-CALL-15
TEST_F(Calls, FailWithDisconnectedWhenTheProviderGoes) {
  open("1");
  open("2");
  tap.lose(peer);
  const auto first = tap.expect<protocol::CallResult>(session);
  EXPECT_EQ(first.code, protocol::ErrorCode::Disconnected);
  EXPECT_NE(first.text.find("Provider \"p\" failed with DISCONNECTED"), std::string::npos);
  EXPECT_NE(tap.outcome(session).find("DISCONNECTED"), std::string::npos);
  EXPECT_EQ(tap.outcome(session), "none");
  tap.advance(600'000);
  EXPECT_EQ(tap.outcome(session), "none");
}

// shows: P-CALL-15
TEST_F(Calls, FailWithDisconnectedAtGoodbye) {
  open("1");
  tap.say(peer, kGoodbye);
  EXPECT_EQ(tap.outcome(session), "1 DISCONNECTED");
}

// shows: P-CALL-16
TEST_F(Calls, AreNotReplayedWhenTheProviderComesBack) {
  const std::string id = open("1");
  tap.lose(peer);
  tap.outcome(session);
  const PeerId back = tap.bound("p", "s", {"greet"});
  EXPECT_TRUE(tap.quiet(back));
  tap.say(back, result(id));
  EXPECT_EQ(tap.outcome(session), "none");
}

// shows: P-CALL-17
TEST_F(Calls, OfAToolWhoseProviderIsGoneSayWhatToDo) {
  tap.lose(peer);
  tap.call(session, "1", "greet");
  const auto settled = tap.expect<protocol::CallResult>(session);
  EXPECT_EQ(settled.code, protocol::ErrorCode::Disconnected);
  EXPECT_NE(settled.text.find("Tool \"greet\""), std::string::npos);
}

// shows: P-CALL-14
TEST_F(Calls, AreCancelledWhenTheSessionsProcessGoes) {
  open("1");
  tap.cut(session);
  EXPECT_EQ(tap.take(peer, "tool.cancel").get("reason"), "the session's process is gone");
  tap.advance(600'000);
  EXPECT_EQ(tap.count(peer, "tool.cancel"), 0u);
}

// shows: P-CALL-14
TEST_F(Calls, AreSettledWhenTheSessionEnds) {
  const std::string id = open("1");
  tap.send(session, protocol::EndSession{"over"});
  EXPECT_EQ(tap.take(peer).type(), "tool.cancel");
  EXPECT_EQ(tap.outcome(session), "1 CANCELLED");
  tap.say(peer, failure(id, "CANCELLED", "Cancelled"));
  EXPECT_EQ(tap.outcome(session), "none");
}

// shows: P-CALL-17
TEST_F(Calls, OfASessionThatHasEndedFailAtOnce) {
  tap.send(session, protocol::EndSession{"over"});
  tap.call(session, "1", "greet");
  EXPECT_EQ(tap.outcome(session), "1 DISCONNECTED");
  EXPECT_EQ(tap.count(peer, "tool.call"), 0u);
  tap.advance(10'000);
  tap.call(session, "2", "greet");
  EXPECT_EQ(tap.outcome(session), "2 DISCONNECTED");
}

// shows: P-CALL-18
TEST_F(Calls, AreBoundedPerSession) {
  for (int i = 0; i < 1024; ++i) open(std::to_string(i));
  tap.call(session, "1024", "greet");
  EXPECT_EQ(tap.outcome(session), "1024 RATE_LIMITED");
  tap.send(session, protocol::CancelCall{"0", ""});
  tap.clear();
  tap.call(session, "1025", "greet");
  EXPECT_EQ(tap.take(peer).type(), "tool.call");
}

TEST_F(Calls, MayUseAnIdAgainOnceItIsSettled) {
  tap.say(peer, result(open("1")));
  tap.say(peer, result(open("1")));
  EXPECT_EQ(tap.outcome(session), "1 ok \"done\"");
  EXPECT_EQ(tap.outcome(session), "1 ok \"done\"");
}

TEST_F(Calls, AreCountedInTheInspection) {
  EXPECT_EQ(tap.inspect().get("providers.0.callsInFlight"), "0");
  open("2");
  EXPECT_EQ(tap.inspect().get("providers.0.callsInFlight"), "1");
}

}  // namespace
}  // namespace tap::gateway::test
