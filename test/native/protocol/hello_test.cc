#include <gtest/gtest.h>

#include <string>

#include "protocol/provider_decoding.h"

namespace tap::protocol {
namespace {

// shows: P-AUTH-5
TEST(ProviderDecoder, AuthNeedsAToken) {
  Decoding decoding;
  EXPECT_EQ(decoding.complaint(R"({"type":"auth"})"),
            "auth.token: expected a string, but it is missing");
  EXPECT_EQ(decoding.complaint(R"({"type":"auth","token":7})"),
            "auth.token: expected a string, got a number");
  EXPECT_EQ(decoding.refused(R"({"type":"auth","token":""})").code, ErrorCode::InvalidJson);
}

// shows: P-PAIR-1
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

// shows: P-HELLO-2, P-LIFE-8
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

// shows: P-HELLO-2, P-LIFE-8
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

// shows: P-HELLO-4
TEST(ProviderDecoder, HelloMayLeaveOutSessionAndTools) {
  Decoding decoding;
  for (const char* more : {"", R"(,"session":null,"tools":null)"}) {
    const auto hello = decoding.as<Hello>(R"({"type":"hello","name":"n","protocolVersion":2)" +
                                          std::string(more) + "}");
    EXPECT_FALSE(hello.session);
    EXPECT_TRUE(hello.tools.empty());
  }
}

// shows: P-HELLO-1
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

// shows: P-HELLO-1
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

// shows: P-HELLO-5
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

// shows: P-TOOL-5
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

}  // namespace
}  // namespace tap::protocol
