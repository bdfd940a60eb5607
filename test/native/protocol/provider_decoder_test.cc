#include <gtest/gtest.h>

#include <string>

#include "protocol/provider_decoding.h"

namespace tap::protocol {
namespace {

// shows: P-CONN-5
TEST(ProviderDecoder, RefusesWhatIsNoJson) {
  Decoding decoding;
  for (const char* text : {"", "{", "nope", R"({"type":"auth",})", "{'type':'auth'}"}) {
    const Refusal refusal = decoding.refused(text);
    EXPECT_EQ(refusal.code, ErrorCode::InvalidJson) << text;
    EXPECT_EQ(refusal.replyTo, "") << text;
  }
}

// shows: P-CONN-5
TEST(ProviderDecoder, RefusesWhatIsNoObjectWithAType) {
  Decoding decoding;
  for (const char* text : {"[]", "1", "null", R"("auth")", "{}", R"({"type":1})",
                           R"({"type":null})", R"({"type":["auth"]})"}) {
    EXPECT_EQ(decoding.refused(text).code, ErrorCode::InvalidJson) << text;
  }
}

// shows: P-ERROR-4
TEST(ProviderDecoder, RefusesUnknownTypesAndGatewayTypes) {
  Decoding decoding;
  for (const char* type : {"wave", "sessions", "hello.ack", "tool.call", "tool.cancel",
                           "session.lifecycle", "error", "AUTH", ""}) {
    const Refusal refusal = decoding.refused(R"({"type":")" + std::string(type) + "\"}");
    EXPECT_EQ(refusal.code, ErrorCode::UnknownType) << type;
    EXPECT_EQ(refusal.replyTo, type);
  }
}

TEST(ProviderDecoder, ShowsAnUnknownTypeWithoutItsControlCharacters) {
  Decoding decoding;
  EXPECT_EQ(decoding.refused(R"({"type":"a\u001b[2Jb"})").replyTo, "a\\x1b[2Jb");
}

// shows: P-CONN-6
TEST(ProviderDecoder, ReadsTheTypeThroughEscapesAndTakesTheLastOfTwo) {
  Decoding decoding;
  (void)decoding.as<Goodbye>(R"({"\u0074ype":"goodb\u0079e"})");
  (void)decoding.as<Goodbye>(R"({"type":"auth","type":"goodbye"})");
}

// shows: P-ERROR-5
TEST(ProviderDecoder, IgnoresUnknownFieldsEverywhere) {
  Decoding decoding;
  EXPECT_EQ(decoding.as<Auth>(R"({"x":{},"type":"auth","token":"t","y":[1]})").token, "t");
  const auto hello = decoding.as<Hello>(
      R"({"type":"hello","name":"n","protocolVersion":2,"session":"s","unheardOf":1,
          "tools":[{"name":"a","hint":"?"}]})");
  EXPECT_EQ(hello.tools.size(), 1u);
  EXPECT_EQ(hello.tools[0].json.find("hint"), std::string::npos);
}

// shows: P-PUSH-5
TEST(ProviderDecoder, ReadsPush) {
  Decoding decoding;
  const auto push = decoding.as<Push>(
      R"({"type":"push","level":"inject","event":"hi","stream":"s","sessionId":"i",
          "metadata":{"a":1}})");
  EXPECT_EQ(push.level, PushLevel::Inject);
  EXPECT_EQ(push.event, "hi");
  EXPECT_EQ(push.stream, "s");
  EXPECT_EQ(push.sessionId, "i");
  EXPECT_EQ(push.metadata.view(), R"({"a":1})");
  EXPECT_EQ(decoding.as<Push>(R"({"type":"push","level":"keep","event":"e"})").level,
            PushLevel::Keep);
  EXPECT_EQ(
      decoding.as<Push>(R"({"type":"push","level":"surface","event":"e","stream":null})").level,
      PushLevel::Surface);
}

// shows: P-PUSH-5
TEST(ProviderDecoder, RefusesAPushOfAnotherShape) {
  Decoding decoding;
  for (const char* more :
       {R"("event":"e")", R"("level":"loud","event":"e")", R"("level":3,"event":"e")",
        R"("level":"keep")", R"("level":"keep","event":"")", R"("level":"keep","event":{})",
        R"("level":"keep","event":"e","stream":"")", R"("level":"keep","event":"e","stream":1)",
        R"("level":"keep","event":"e","stream":"a\u0007")",
        R"("level":"keep","event":"e","sessionId":1)",
        R"("level":"keep","event":"e","metadata":[])",
        R"("level":"keep","event":"e","metadata":"m")"}) {
    const Refusal refusal = decoding.refused(R"({"type":"push",)" + std::string(more) + "}");
    EXPECT_EQ(refusal.code, ErrorCode::InvalidJson) << more;
    EXPECT_EQ(refusal.replyTo, "push");
    EXPECT_EQ(refusal.message.substr(0, 5), "push.");
  }
}

// shows: P-UPDATE-1
TEST(ProviderDecoder, ToolsUpdateNeedsAList) {
  Decoding decoding;
  EXPECT_EQ(decoding.complaint(R"({"type":"tools.update"})"),
            "tools.update.tools: expected an array, but it is missing");
  EXPECT_TRUE(decoding.as<ToolsUpdate>(R"({"type":"tools.update","tools":[]})").tools.empty());
  EXPECT_EQ(
      decoding.as<ToolsUpdate>(R"({"type":"tools.update","tools":[],"sessionId":"s"})").sessionId,
      "s");
}

// shows: P-UPDATE-2
TEST(ProviderDecoder, ToolsUpdateWithRemoveIsADelta) {
  Decoding decoding;
  const auto delta =
      decoding.as<ToolsUpdate>(R"({"type":"tools.update","remove":["a","b"],"requestId":"r"})");
  EXPECT_TRUE(delta.delta);
  EXPECT_EQ(delta.remove, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(delta.tools.empty());
  EXPECT_EQ(delta.requestId, "r");
  EXPECT_FALSE(decoding.as<ToolsUpdate>(R"({"type":"tools.update","tools":[]})").delta);
  EXPECT_EQ(decoding.complaint(R"({"type":"tools.update","remove":["a",1]})").substr(0, 20),
            "tools.update.remove:");
}

// shows: P-PROGRESS-4
TEST(ProviderDecoder, ReadsTheSmallMessages) {
  Decoding decoding;
  const auto progress =
      decoding.as<ToolProgress>(R"({"type":"tool.progress","id":"c","message":"60%"})");
  EXPECT_EQ(progress.id, "c");
  EXPECT_EQ(progress.message, "60%");
  EXPECT_EQ(decoding.as<SessionReady>(R"({"type":"session.ready","sessionId":"s"})").sessionId,
            "s");
  EXPECT_EQ(decoding.as<ShutdownReady>(R"({"type":"shutdown.ready","sessionId":"s"})").sessionId,
            "s");
  const auto withdraw = decoding.as<Withdraw>(R"({"type":"withdraw","key":"k","sessionId":"s"})");
  EXPECT_EQ(withdraw.key, "k");
  EXPECT_EQ(withdraw.sessionId, "s");
  EXPECT_EQ(decoding.refused(R"({"type":"withdraw","key":")" + std::string(129, 'k') + "\"}").code,
            ErrorCode::InvalidJson);
  for (const char* type : {"tool.progress", "withdraw", "session.ready", "shutdown.ready"}) {
    EXPECT_EQ(decoding.refused(R"({"type":")" + std::string(type) + "\"}").code,
              ErrorCode::InvalidJson);
  }
}

// shows: P-LIFE-6
TEST(ProviderDecoder, GoodbyeMaySayWhy) {
  Decoding decoding;
  EXPECT_EQ(decoding.as<Goodbye>(R"({"type":"goodbye","reason":"done"})").reason, "done");
  EXPECT_EQ(decoding.as<Goodbye>(R"({"type":"goodbye"})").reason, "");
  EXPECT_EQ(decoding.refused(R"({"type":"goodbye","reason":7})").code, ErrorCode::InvalidJson);
}

// shows: P-LIMIT-1
TEST(ProviderDecoder, AResultMayBeFiveMegabytesLong) {
  Decoding decoding;
  const std::string head = R"({"type":"tool.result","id":"c","data":")";
  const size_t cap = 5 * 1024 * 1024;
  EXPECT_FALSE(decoding.as<ToolResult>(padded(head, cap - 1, "\"}")).failed);
  EXPECT_FALSE(decoding.as<ToolResult>(padded(head, cap, "\"}")).failed);
  const Refusal refusal = decoding.refused(padded(head, cap + 1, "\"}"));
  EXPECT_EQ(refusal.code, ErrorCode::PayloadTooLarge);
  EXPECT_EQ(refusal.replyTo, "tool.result");
  EXPECT_EQ(decoding.decoder().callId(), "c");
}

// shows: P-LIMIT-1
TEST(ProviderDecoder, AnyOtherMessageMayBeTwoMegabytesLong) {
  Decoding decoding;
  const std::string head = R"({"type":"push","level":"keep","event":")";
  const size_t cap = 2 * 1024 * 1024;
  EXPECT_FALSE(decoding.as<Push>(padded(head, cap - 1, "\"}")).event.empty());
  EXPECT_FALSE(decoding.as<Push>(padded(head, cap, "\"}")).event.empty());
  EXPECT_EQ(decoding.refused(padded(head, cap + 1, "\"}")).code, ErrorCode::PayloadTooLarge);
  for (const char* type : {"auth", "hello", "tools.update", "goodbye"}) {
    const std::string start = R"({"type":")" + std::string(type) + R"(","pad":")";
    EXPECT_EQ(decoding.refused(padded(start, cap + 1, "\"}")).code, ErrorCode::PayloadTooLarge)
        << type;
  }
}

// shows: P-CONN-17
TEST(ProviderDecoder, ReplacesLoneSurrogatesWhereverTheyStand) {
  Decoding decoding;
  const std::string result =
      R"({"type":"tool.result","id":"c","data":{"a":["caf\udce9","\ud83d"]}})";
  EXPECT_EQ(decoding.as<ToolResult>(result).data.view(), R"({"a":["caf\ufffd","\ufffd"]})");
  const std::string update =
      R"({"type":"tools.update","tools":[{"name":"a","description":"\ud800",)"
      R"("parameters":{"type":"object","title":"\ud801","properties":)"
      R"({"p":{"enum":["\udc00","\ud83d\ude00"]}}}}]})";
  const std::string tool = decoding.as<ToolsUpdate>(update).tools.at(0).json;
  EXPECT_EQ(tool.find("\\ud80"), std::string::npos) << tool;
  EXPECT_NE(tool.find(R"("enum":["\ufffd","\ud83d\ude00"])"), std::string::npos) << tool;
  EXPECT_NE(tool.find(R"("title":"\ufffd")"), std::string::npos) << tool;
}

}  // namespace
}  // namespace tap::protocol
