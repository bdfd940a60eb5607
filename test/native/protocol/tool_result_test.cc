#include <gtest/gtest.h>

#include <string>

#include "protocol/provider_decoding.h"

namespace tap::protocol {
namespace {

// shows: P-CALL-2, P-CALL-4
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

// shows: P-CALL-3, P-CALL-4
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

// shows: P-INPUT-4
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

}  // namespace
}  // namespace tap::protocol
