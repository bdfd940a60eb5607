#include "protocol/provider_codec.h"

#include <gtest/gtest.h>

#include <string>

namespace tap::protocol {
namespace {

class Decoding {
 public:
  explicit Decoding(const Limits& limits = {}) : limits_(limits), decoder_(limits_) {}

  // The message, or fails the test.
  template <class Kind>
  Kind as(const std::string& text) {
    text_ = text;
    auto opened = decoder_.open(Slice::borrow(text_));
    EXPECT_TRUE(opened.ok()) << text;
    if (!opened) return {};
    auto body = decoder_.body();
    EXPECT_TRUE(body.ok()) << body.error().message;
    if (!body || !std::holds_alternative<Kind>(body.value())) return {};
    return std::get<Kind>(body.value());
  }
  // The refusal, or fails the test.
  Refusal refused(const std::string& text) {
    text_ = text;
    auto opened = decoder_.open(Slice::borrow(text_));
    if (!opened) return opened.error();
    auto body = decoder_.body();
    EXPECT_FALSE(body.ok()) << "accepted: " << text;
    return body ? Refusal{} : body.error();
  }
  std::string complaint(const std::string& text) { return refused(text).message; }
  ProviderDecoder& decoder() { return decoder_; }

 private:
  Limits limits_;
  ProviderDecoder decoder_;
  std::string text_;
};

std::string padded(const std::string& head, size_t size, const std::string& tail) {
  return head + std::string(size - head.size() - tail.size(), 'x') + tail;
}

TEST(ProviderDecoder, RefusesWhatIsNoJson) {
  Decoding decoding;
  for (const char* text : {"", "{", "nope", R"({"type":"auth",})", "{'type':'auth'}"}) {
    const Refusal refusal = decoding.refused(text);
    EXPECT_EQ(refusal.code, ErrorCode::InvalidJson) << text;
    EXPECT_EQ(refusal.replyTo, "") << text;
  }
}

TEST(ProviderDecoder, RefusesWhatIsNoObjectWithAType) {
  Decoding decoding;
  for (const char* text : {"[]", "1", "null", R"("auth")", "{}", R"({"type":1})",
                           R"({"type":null})", R"({"type":["auth"]})"}) {
    EXPECT_EQ(decoding.refused(text).code, ErrorCode::InvalidJson) << text;
  }
}

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

TEST(ProviderDecoder, ReadsTheTypeThroughEscapesAndTakesTheLastOfTwo) {
  Decoding decoding;
  (void)decoding.as<Goodbye>(R"({"\u0074ype":"goodb\u0079e"})");
  (void)decoding.as<Goodbye>(R"({"type":"auth","type":"goodbye"})");
}

TEST(ProviderDecoder, IgnoresUnknownFieldsEverywhere) {
  Decoding decoding;
  EXPECT_EQ(decoding.as<Auth>(R"({"x":{},"type":"auth","token":"t","y":[1]})").token, "t");
  const auto hello = decoding.as<Hello>(
      R"({"type":"hello","name":"n","protocolVersion":2,"session":"s","unheardOf":1,
          "tools":[{"name":"a","hint":"?"}]})");
  EXPECT_EQ(hello.tools.size(), 1u);
  EXPECT_EQ(hello.tools[0].json.find("hint"), std::string::npos);
}

TEST(ProviderDecoder, AuthNeedsAToken) {
  Decoding decoding;
  EXPECT_EQ(decoding.complaint(R"({"type":"auth"})"),
            "auth.token: expected a string, but it is missing");
  EXPECT_EQ(decoding.complaint(R"({"type":"auth","token":7})"),
            "auth.token: expected a string, got a number");
  EXPECT_EQ(decoding.refused(R"({"type":"auth","token":""})").code, ErrorCode::InvalidJson);
}

TEST(ProviderDecoder, AuthMayAskToPair) {
  Decoding decoding;
  EXPECT_FALSE(decoding.as<Auth>(R"({"type":"auth","mode":"token","token":"t"})").pair);
  const Auth plain = decoding.as<Auth>(R"({"type":"auth","mode":"pair"})");
  EXPECT_TRUE(plain.pair);
  EXPECT_EQ(plain.name, "");
  EXPECT_FALSE(plain.session);
  const Auth full =
      decoding.as<Auth>(R"({"type":"auth","mode":"pair","name":"browser","session":"s"})");
  EXPECT_EQ(full.name, "browser");
  EXPECT_EQ(full.session, "s");
  EXPECT_EQ(decoding.complaint(R"({"type":"auth","mode":"pair","name":"a\nb"})").substr(0, 10),
            "auth.name:");
  EXPECT_EQ(decoding.as<AuthConfirm>(R"({"type":"auth.confirm","code":"012345"})").code, "012345");
  EXPECT_EQ(decoding.complaint(R"({"type":"auth.confirm","code":12345})"),
            "auth.confirm.code: expected a string, got a number");
}

TEST(ProviderDecoder, ReadsHello) {
  Decoding decoding;
  const auto hello = decoding.as<Hello>(
      R"({"type":"hello","name":"n","protocolVersion":2,"session":"s","tools":[]})");
  EXPECT_EQ(hello.name, "n");
  EXPECT_EQ(hello.protocolVersion, 2);
  EXPECT_EQ(hello.session, "s");
  EXPECT_TRUE(hello.tools.empty());
}

TEST(ProviderDecoder, ReadsTheRestOfHello) {
  Decoding decoding;
  const auto hello = decoding.as<Hello>(
      R"({"type":"hello","name":"n","protocolVersion":2,"instance":"tab-1","reconnectToken":"tok-1",
          "metadata":{"url":"x"},"subscribe":["user.message","tool.execution_complete"]})");
  EXPECT_EQ(hello.instance, "tab-1");
  EXPECT_EQ(hello.reconnectToken, "tok-1");
  EXPECT_EQ(hello.metadata, R"({"url":"x"})");
  EXPECT_EQ(hello.subscribe, 5);
  EXPECT_FALSE(hello.declaresTools);
}

TEST(ProviderDecoder, RefusesTheRestOfHelloInAnotherShape) {
  Decoding decoding;
  for (const char* more :
       {R"("instance":7)", R"("instance":"")", R"("instance":"a\nb")", R"("reconnectToken":7)",
        R"("metadata":[])", R"("subscribe":"user.message")", R"("subscribe":["tool.call"])",
        R"("subscribe":[7])"}) {
    const Refusal refusal = decoding.refused(R"({"type":"hello","name":"n","protocolVersion":2,)" +
                                             std::string(more) + "}");
    EXPECT_EQ(refusal.code, ErrorCode::InvalidJson) << more;
    EXPECT_EQ(refusal.replyTo, "hello");
  }
}

TEST(ProviderDecoder, HelloMayLeaveOutSessionAndTools) {
  Decoding decoding;
  for (const char* more : {"", R"(,"session":null,"tools":null)"}) {
    const auto hello = decoding.as<Hello>(R"({"type":"hello","name":"n","protocolVersion":2)" +
                                          std::string(more) + "}");
    EXPECT_FALSE(hello.session);
    EXPECT_TRUE(hello.tools.empty());
  }
}

TEST(ProviderDecoder, HelloNamesTheFieldThatIsWrong) {
  Decoding decoding;
  EXPECT_EQ(decoding.complaint(R"({"type":"hello","protocolVersion":2})"),
            "hello.name: expected a string, but it is missing");
  EXPECT_EQ(decoding.complaint(R"({"type":"hello","name":"n"})"),
            "hello.protocolVersion: expected a number, but it is missing");
  EXPECT_EQ(decoding.complaint(R"({"type":"hello","name":"n","protocolVersion":"2"})"),
            "hello.protocolVersion: expected a number, got a string");
  EXPECT_EQ(decoding.complaint(R"({"type":"hello","name":"n","protocolVersion":2,"session":5})"),
            "hello.session: expected a string, got a number");
  EXPECT_EQ(decoding.complaint(R"({"type":"hello","name":"n","protocolVersion":2,"tools":{}})"),
            "hello.tools: expected an array, got an object");
}

TEST(ProviderDecoder, ANameIsShowableTextOfAtMost128Bytes) {
  Decoding decoding;
  const auto named = [](const std::string& name) {
    return R"({"type":"hello","protocolVersion":2,"name":")" + name + "\"}";
  };
  EXPECT_EQ(decoding.as<Hello>(named(std::string(127, 'n'))).name.size(), 127u);
  EXPECT_EQ(decoding.as<Hello>(named(std::string(128, 'n'))).name.size(), 128u);
  EXPECT_EQ(decoding.refused(named(std::string(129, 'n'))).code, ErrorCode::InvalidJson);
  EXPECT_EQ(decoding.refused(named("")).code, ErrorCode::InvalidJson);
  EXPECT_EQ(decoding.refused(named("a\\u001b[31m")).code, ErrorCode::InvalidJson);
  EXPECT_EQ(decoding.refused(named("a\\nb")).code, ErrorCode::InvalidJson);
  EXPECT_EQ(decoding.refused(named("a\\u202eb")).code, ErrorCode::InvalidJson);
  EXPECT_EQ(decoding.as<Hello>(named("Größe ✓")).name, "Größe ✓");
}

TEST(ProviderDecoder, AnotherVersionIsReadWhateverElseHelloHolds) {
  Decoding decoding;
  for (const char* version : {"1", "3", "2.5", "-1", "1e999"}) {
    const auto hello = decoding.as<Hello>(R"({"type":"hello","name":"n","protocolVersion":)" +
                                          std::string(version) + R"(,"tools":{"new":1}})");
    EXPECT_NE(hello.protocolVersion, kProtocolVersion) << version;
  }
  EXPECT_EQ(
      decoding.as<Hello>(R"({"type":"hello","name":"n","protocolVersion":2.0})").protocolVersion,
      2);
}

TEST(ProviderDecoder, CountsToolsBeforeItReadsThem) {
  Decoding decoding;
  const auto list = [](const char* type, int count) {
    std::string text =
        R"({"type":")" + std::string(type) + R"(","name":"n","protocolVersion":2,"tools":[)";
    for (int i = 0; i < count; ++i) {
      text += std::string(i > 0 ? "," : "") + R"({"name":"t)" + std::to_string(i) + "\"}";
    }
    return text + "]}";
  };
  EXPECT_EQ(decoding.as<Hello>(list("hello", 99)).tools.size(), 99u);
  EXPECT_EQ(decoding.as<Hello>(list("hello", 100)).tools.size(), 100u);
  EXPECT_EQ(decoding.refused(list("hello", 101)).code, ErrorCode::PayloadTooLarge);
  EXPECT_EQ(decoding.as<ToolsUpdate>(list("tools.update", 100)).tools.size(), 100u);
  EXPECT_EQ(decoding.refused(list("tools.update", 101)).code, ErrorCode::PayloadTooLarge);
}

TEST(ProviderDecoder, ReadsAGoodToolResult) {
  Decoding decoding;
  for (const char* data : {R"("text")", "1", "null", "true", "[1,2]", R"({"a": {"b":1}})"}) {
    const auto result = decoding.as<ToolResult>(R"({"type":"tool.result","id":"c","data":)" +
                                                std::string(data) + "}");
    EXPECT_EQ(result.id.view(), "c");
    EXPECT_FALSE(result.failed);
    EXPECT_EQ(result.data.view(), data);
  }
  EXPECT_EQ(decoding.as<ToolResult>(R"({"type":"tool\u002eresult","id":"\u0063\n"})").id.view(),
            "c\n");
  EXPECT_EQ(decoding.decoder().callId(), "c\n");
  EXPECT_TRUE(decoding.as<ToolResult>(R"({"type":"tool.result","id":"c"})").data.empty());
  EXPECT_FALSE(
      decoding.as<ToolResult>(R"({"type":"tool.result","id":"c","error":null,"data":1})").failed);
}

TEST(ProviderDecoder, ASmallPartOfALargeMessageDoesNotKeepIt) {
  Decoding decoding;
  const auto isPart = [&](size_t data, size_t rest) {
    const std::string more = R"("more":")" + std::string(rest, 'm') + '"';
    const std::string text = R"({"type":"tool.result","id":"c",)" + more + R"(,"data":")";
    return decoding.as<ToolResult>(text + std::string(data, 'd') + "\"}").data.borrowed();
  };
  EXPECT_TRUE(isPart(10, 1'000));
  EXPECT_TRUE(isPart(200'000, 100'000));
  EXPECT_FALSE(isPart(100'000, 200'000));
  EXPECT_FALSE(isPart(10, 200'000));
}

TEST(ProviderDecoder, ReadsAFailedToolResult) {
  Decoding decoding;
  const auto failed = decoding.as<ToolResult>(
      R"({"type":"tool.result","id":"c","error":"gone","errorCode":"NOT_FOUND"})");
  EXPECT_TRUE(failed.failed);
  EXPECT_EQ(failed.errorCode, ErrorCode::NotFound);
  EXPECT_EQ(failed.error, "gone");

  const auto code = [&](const std::string& more) {
    const auto result = decoding.as<ToolResult>(R"({"type":"tool.result","id":"c")" + more + "}");
    EXPECT_TRUE(result.failed) << more;
    return result.errorCode;
  };
  EXPECT_EQ(code(R"(,"errorCode":"TIMEOUT")"), ErrorCode::Timeout);
  EXPECT_EQ(code(R"(,"errorCode":"CANCELLED")"), ErrorCode::Cancelled);
  EXPECT_EQ(code(R"(,"errorCode":"INTERNAL")"), ErrorCode::Internal);
  EXPECT_EQ(code(R"(,"errorCode":"MY_OWN")"), ErrorCode::Internal);
  EXPECT_EQ(code(R"(,"error":"")"), ErrorCode::Internal);
  EXPECT_EQ(code(R"(,"error":"x","data":1)"), ErrorCode::Internal);
}

TEST(ProviderDecoder, RefusesAToolResultOfAnotherShape) {
  Decoding decoding;
  for (const char* more : {"", R"(,"id":"")", R"(,"id":5)", R"(,"id":"c","error":{})",
                           R"(,"id":"c","errorCode":404)"}) {
    const Refusal refusal = decoding.refused(R"({"type":"tool.result")" + std::string(more) + "}");
    EXPECT_EQ(refusal.code, ErrorCode::InvalidJson) << more;
    EXPECT_EQ(refusal.replyTo, "tool.result");
  }
}

TEST(ProviderDecoder, SaysWhichCallABadResultAnswers) {
  Decoding decoding;
  const auto id = [&](const std::string& text) {
    (void)decoding.refused(text);
    return decoding.decoder().callId();
  };
  EXPECT_EQ(id(R"({"type":"tool.result","id":"c","error":{}})"), "c");
  EXPECT_EQ(id(R"({"type":"tool.result","id":5})"), "");
  EXPECT_EQ(id(R"({"type":"tool.result"})"), "");
  EXPECT_EQ(
      id(R"({"type":"tool.result","id":)" + std::string("\"") + std::string(500, 'i') + "\"}"), "");
  EXPECT_EQ(id("[]"), "");
  EXPECT_EQ(id("{"), "");
}

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

TEST(ProviderDecoder, ToolsUpdateNeedsAList) {
  Decoding decoding;
  EXPECT_EQ(decoding.complaint(R"({"type":"tools.update"})"),
            "tools.update.tools: expected an array, but it is missing");
  EXPECT_TRUE(decoding.as<ToolsUpdate>(R"({"type":"tools.update","tools":[]})").tools.empty());
  EXPECT_EQ(
      decoding.as<ToolsUpdate>(R"({"type":"tools.update","tools":[],"sessionId":"s"})").sessionId,
      "s");
}

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
  for (const char* type : {"tool.progress", "session.ready", "shutdown.ready"}) {
    EXPECT_EQ(decoding.refused(R"({"type":")" + std::string(type) + "\"}").code,
              ErrorCode::InvalidJson);
  }
}

TEST(ProviderDecoder, GoodbyeMaySayWhy) {
  Decoding decoding;
  EXPECT_EQ(decoding.as<Goodbye>(R"({"type":"goodbye","reason":"done"})").reason, "done");
  EXPECT_EQ(decoding.as<Goodbye>(R"({"type":"goodbye"})").reason, "");
  EXPECT_EQ(decoding.refused(R"({"type":"goodbye","reason":7})").code, ErrorCode::InvalidJson);
}

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

TEST(ProviderEncoder, WritesEveryMessageAsTheSpecificationShowsIt) {
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
  EXPECT_EQ(
      encodeToolCall("c", "s", "greet", R"({"name":"Alice"})").view(),
      R"({"type":"tool.call","id":"c","sessionId":"s","tool":"greet","args":{"name":"Alice"}})");
  EXPECT_EQ(encodeToolCall("c", "s\"", "gr\neet", "[]").view(),
            R"({"type":"tool.call","id":"c","sessionId":"s\"","tool":"gr\neet","args":[]})");
  EXPECT_EQ(encodeToolCall("c", "s", "greet", "").view(),
            R"({"type":"tool.call","id":"c","sessionId":"s","tool":"greet","args":{}})");
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
