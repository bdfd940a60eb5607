#include <gtest/gtest.h>

#include <string>

#include "protocol/provider/provider_codec.h"

namespace tap::protocol {
namespace {

// shows: P-SESSION-1, P-HELLO-7, P-ERROR-1
TEST(ProviderEncoder, WritesEveryMessageAsTheProtocolPageShowsIt) {
  EXPECT_EQ(
      encodeSessions("sessions", {{"abc123", "PR #42", "/code/foo", true}}).view(),
      R"({"type":"sessions","active":[{"id":"abc123","label":"PR #42","cwd":"/code/foo","foreground":true}]})");
  EXPECT_EQ(
      encodeSessions("sessions", {{"abc123", "PR #42", {}, false}}, "ext-tok-1").view(),
      R"({"type":"sessions","token":"ext-tok-1","active":[{"id":"abc123","label":"PR #42","foreground":false}]})");
  EXPECT_EQ(encodeSessions("sessions", {}).view(), R"({"type":"sessions","active":[]})");
  EXPECT_EQ(encodeAuthPairing("Type it").view(), R"({"type":"auth.pairing","prompt":"Type it"})");
  EXPECT_EQ(
      encodeHelloAck({"p-8f3a", "abc123", "tok-1", "/home/u/p/"}).view(),
      R"({"type":"hello.ack","protocolVersion":2,"providerId":"p-8f3a","sessionId":"abc123","reconnectToken":"tok-1","persistDir":"/home/u/p/"})");
  EXPECT_EQ(encodeHelloAck({"p", "all", "t", ""}).view().find("persistDir"),
            std::string_view::npos);
  EXPECT_EQ(encodeAck({"req-42", "abc123", 3, {}}).view(),
            R"({"type":"ack","requestId":"req-42","sessionId":"abc123","revision":3})");
  EXPECT_EQ(
      encodeAck({"r", "s", 3, "dropped", 1}).view(),
      R"({"type":"ack","requestId":"r","sessionId":"s","revision":3,"outcome":"dropped","rule":1})");
  EXPECT_EQ(
      encodeSessionEvent("s", "user.message", R"({"content":"hi"})").view(),
      R"({"type":"session.event","sessionId":"s","event":"user.message","data":{"content":"hi"}})");
  const TraceContext trace{10, 11, 12, 1};
  const std::string parent =
      R"("traceparent":"00-000000000000000a000000000000000b-000000000000000c-01",)";
  EXPECT_EQ(encodeToolCall("c", "s", "greet", trace, R"({"name":"Alice"})").view(),
            R"({"type":"tool.call","id":"c","sessionId":"s","tool":"greet",)" + parent +
                R"("args":{"name":"Alice"}})");
  EXPECT_EQ(encodeToolCall("c", "s\"", "gr\neet", trace, "[]").view(),
            R"({"type":"tool.call","id":"c","sessionId":"s\"","tool":"gr\neet",)" + parent +
                R"("args":[]})");
  EXPECT_EQ(
      encodeToolCall("c", "s", "greet", trace, "").view(),
      R"({"type":"tool.call","id":"c","sessionId":"s","tool":"greet",)" + parent + R"("args":{}})");
  EXPECT_EQ(encodeToolCancel("c", "s", "timeout").view(),
            R"({"type":"tool.cancel","id":"c","sessionId":"s","reason":"timeout"})");
  EXPECT_EQ(encodeLifecycle("s", "started").view(),
            R"({"type":"session.lifecycle","sessionId":"s","state":"started"})");
  EXPECT_EQ(
      encodeShutdownPending("s", Millis(10'000)).view(),
      R"({"type":"session.lifecycle","sessionId":"s","state":"shutdown.pending","deadline":10000})");
  EXPECT_EQ(
      encodeError({ErrorCode::InvalidSession, "m", "hello"}, "p-1", "").view(),
      R"({"type":"error","code":"INVALID_SESSION","message":"m","replyTo":"hello","providerId":"p-1"})");
  EXPECT_EQ(
      encodeError({ErrorCode::InvalidJson, "m", "", "r"}, "", "s").view(),
      R"({"type":"error","code":"INVALID_JSON","message":"m","requestId":"r","sessionId":"s"})");
}

}  // namespace
}  // namespace tap::protocol
