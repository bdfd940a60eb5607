// Terminal semantics 4: an unreadable message may have been an answer.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

struct FailFast : ::testing::Test {
  Harness tap;
  PeerId session = tap.session("s");
  PeerId peer = tap.bound("p", "s", {"greet"});

  std::string open(const std::string& callId) { return tap.callTo(session, peer, callId, "greet"); }
};

// Texts whose id cannot be read, and the code that answers each.
const std::vector<std::pair<std::string, std::string>> kUncorrelated{
    {"{", "INVALID_JSON"},
    {R"({"type":"tool.result","id":"x",})", "INVALID_JSON"},
    {"[1]", "INVALID_JSON"},
    {R"({"id":"x","data":1})", "INVALID_JSON"},
    {R"({"type":5})", "INVALID_JSON"},
    {R"({"type":"tool.result"})", "INVALID_JSON"},
    {R"({"type":"tool.result","id":7})", "INVALID_JSON"},
    {R"({"type":"tool.result","id":""})", "INVALID_JSON"},
    {R"({"type":"tool.result","id":null,"data":1})", "INVALID_JSON"},
};

// shows: P-INPUT-3
TEST_F(FailFast, WithNothingPendingOnlyTheMessageIsRefused) {
  for (const auto& [text, code] : kUncorrelated) {
    tap.say(peer, text);
    EXPECT_EQ(tap.errorCode(peer), code) << text;
    EXPECT_FALSE(tap.closed(peer)) << text;
  }
  tap.oversize(peer, 6'000'000);
  EXPECT_EQ(tap.errorCode(peer), "PAYLOAD_TOO_LARGE");
  EXPECT_FALSE(tap.closed(peer));
}

// shows: P-INPUT-1
TEST_F(FailFast, WithOnePendingThatCallFails) {
  for (const auto& [text, code] : kUncorrelated) {
    const std::string id = open("1");
    tap.say(peer, text);
    EXPECT_EQ(tap.errorCode(peer), code) << text;
    EXPECT_EQ(tap.outcome(session), "1 " + code) << text;
    EXPECT_FALSE(tap.closed(peer)) << text;
    tap.say(peer, result(id));
    EXPECT_EQ(tap.outcome(session), "none") << text;
    EXPECT_EQ(tap.count(peer, "tool.cancel"), 0u);
  }
}

// shows: P-INPUT-2
TEST_F(FailFast, WithTwoPendingTheProviderIsDisconnected) {
  for (const auto& [text, code] : kUncorrelated) {
    Harness fresh;
    const PeerId in = fresh.session("s");
    const PeerId from = fresh.bound("p", "s", {"greet"});
    fresh.callTo(in, from, "1", "greet");
    fresh.callTo(in, from, "2", "greet");
    fresh.say(from, text);
    EXPECT_EQ(fresh.errorCode(from), code) << text;
    EXPECT_EQ(fresh.closeCode(from), 1008) << text;
    EXPECT_EQ(fresh.expect<protocol::CallResult>(in).code, protocol::ErrorCode::Disconnected);
    EXPECT_EQ(fresh.expect<protocol::CallResult>(in).code, protocol::ErrorCode::Disconnected);
    EXPECT_EQ(fresh.outcome(in), "none");
  }
}

// shows: P-INPUT-1
TEST_F(FailFast, AnOversizeMessageFailsTheOnePendingCall) {
  open("1");
  tap.oversize(peer, 6'000'000);
  const Message error = tap.take(peer);
  EXPECT_EQ(error.get("code"), "PAYLOAD_TOO_LARGE");
  EXPECT_EQ(error.get("replyTo"), kAbsent);
  EXPECT_EQ(tap.outcome(session), "1 PAYLOAD_TOO_LARGE");
  EXPECT_FALSE(tap.closed(peer));
}

// shows: P-INPUT-2
TEST_F(FailFast, AnOversizeMessageWithTwoPendingDisconnects) {
  open("1");
  open("2");
  tap.oversize(peer, 6'000'000);
  EXPECT_EQ(tap.errorCode(peer), "PAYLOAD_TOO_LARGE");
  EXPECT_TRUE(tap.closed(peer));
  EXPECT_EQ(tap.count<protocol::CallResult>(session), 2u);
}

// shows: P-INPUT-4
TEST_F(FailFast, ABadResultFailsTheCallThatItNames) {
  const std::string first = open("1");
  const std::string second = open("2");
  tap.say(peer, R"({"type":"tool.result","id":")" + first + R"(","error":{"no":"text"}})");
  const Message error = tap.take(peer);
  EXPECT_EQ(error.get("code"), "INVALID_JSON");
  EXPECT_EQ(error.get("replyTo"), "tool.result");
  EXPECT_EQ(tap.outcome(session), "1 INVALID_JSON");
  EXPECT_FALSE(tap.closed(peer));
  tap.say(peer, result(second));
  EXPECT_EQ(tap.outcome(session), "2 ok \"done\"");
}

// shows: P-INPUT-4
TEST_F(FailFast, ABadResultForNoCallInFlightIsRefusedOnly) {
  open("1");
  open("2");
  tap.say(peer, R"({"type":"tool.result","id":"gone","errorCode":5})");
  EXPECT_EQ(tap.errorCode(peer), "INVALID_JSON");
  EXPECT_EQ(tap.outcome(session), "none");
  EXPECT_FALSE(tap.closed(peer));
}

TEST_F(FailFast, AResultOverItsCapFailsTheCallThatItNames) {
  const std::string first = open("1");
  open("2");
  tap.say(peer, result(first, "\"" + std::string(5 * 1024 * 1024, 'x') + "\""));
  EXPECT_EQ(tap.errorCode(peer), "PAYLOAD_TOO_LARGE");
  EXPECT_EQ(tap.outcome(session), "1 PAYLOAD_TOO_LARGE");
  EXPECT_FALSE(tap.closed(peer));
}

TEST_F(FailFast, AResultAtItsCapIsAnAnswer) {
  const size_t envelope = result(std::string(36, 'i'), "\"\"").size();
  for (const int over : {-1, 0}) {
    const std::string id = open("1");
    const std::string data(5 * 1024 * 1024 - envelope + static_cast<size_t>(1 + over) - 1, 'x');
    tap.say(peer, result(id, "\"" + data + "\""));
    EXPECT_EQ(tap.expect<protocol::CallResult>(session).data.size(), data.size() + 2);
    EXPECT_TRUE(tap.quiet(peer));
  }
}

// shows: P-INPUT-5
TEST_F(FailFast, AMessageThatCannotBeAnAnswerCostsNoCall) {
  open("1");
  open("2");
  const std::string large(2 * 1024 * 1024, 'x');
  const std::vector<std::pair<std::string, std::string>> messages{
      {push("loud", "e"), "INVALID_JSON"},
      {push("keep", large), "PAYLOAD_TOO_LARGE"},
      {update("5"), "INVALID_JSON"},
      {R"({"type":"goodbye","reason":1})", "INVALID_JSON"},
      {R"({"type":"wave"})", "UNKNOWN_TYPE"},
      {R"({"type":""})", "UNKNOWN_TYPE"},
      {auth(), "UNAUTHORIZED"},
  };
  for (const auto& [text, code] : messages) {
    tap.say(peer, text);
    EXPECT_EQ(tap.errorCode(peer), code);
    EXPECT_EQ(tap.outcome(session), "none");
    EXPECT_FALSE(tap.closed(peer));
  }
}

// shows: P-INPUT-5
TEST_F(FailFast, CountsOnlyTheCallsOfThatProvider) {
  const PeerId other = tap.bound("q", "s", {"wave"});
  open("1");
  const std::string theirs = tap.callTo(session, other, "2", "wave");
  tap.say(peer, "{");
  EXPECT_EQ(tap.outcome(session), "1 INVALID_JSON");
  EXPECT_FALSE(tap.closed(peer));
  tap.say(other, result(theirs));
  EXPECT_EQ(tap.outcome(session), "2 ok \"done\"");
}

// shows: P-INPUT-5
TEST_F(FailFast, ACancelledCallIsNoLongerPending) {
  open("1");
  open("2");
  tap.send(session, protocol::CancelCall{"2", ""});
  tap.say(peer, "{");
  EXPECT_EQ(tap.outcome(session), "1 INVALID_JSON");
  EXPECT_FALSE(tap.closed(peer));
}

TEST_F(FailFast, AfterTheDisconnectionTheToolsAreGone) {
  tap.advance(200);
  (void)tap.confirmTools(session);
  open("1");
  open("2");
  tap.say(peer, "{");
  tap.advance(200);
  EXPECT_EQ(tap.expect<protocol::Tools>(session).drop, std::vector<std::string>{"p"});
}

}  // namespace
}  // namespace tap::gateway::test
