#include "protocol/image_result.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace tap::protocol {
namespace {

// "type base64 rest", or "none".
std::string taken(const std::string& data) {
  json::Scanner scanner;
  EXPECT_TRUE(data.empty() || scanner.scan(data).ok()) << data;
  const auto result = takeImage(Slice::borrow(data));
  if (!result) return "none";
  return result->image.mimeType + " " + std::string(result->image.base64.view()) + " " +
         std::string(result->rest.view());
}

// shows: P-RUN-14
TEST(ImageResult, IsTheImageMemberOfAnObject) {
  EXPECT_EQ(taken(R"({"image":"data:image/png;base64,iVBORw0="})"), "image/png iVBORw0= ");
  EXPECT_EQ(taken(R"({ "image" : "data:image/svg+xml;base64,AAAA" })"), "image/svg+xml AAAA ");
}

// shows: P-RUN-14
TEST(ImageResult, LeavesTheOtherMembersAsTheyAre) {
  EXPECT_EQ(taken(R"({"w":1.50,"image":"data:image/jpeg;base64,AA==","at":{"image":"x"}})"),
            R"(image/jpeg AA== {"w":1.50,"at":{"image":"x"}})");
}

TEST(ImageResult, TakesTheLastOfEqualKeysAndResolvesEscapes) {
  EXPECT_EQ(
      taken(
          R"({"image":"data:image/png;base64,AAAA","im\u0061ge":"data:image\/gif;base64,BB\/B"})"),
      "image/gif BB/B ");
  EXPECT_EQ(taken(R"({"image":"data:image/png;base64,AAAA","image":7})"), "none");
}

// shows: P-RUN-14
TEST(ImageResult, IsNothingElse) {
  for (const char* data : {"",
                           "null",
                           R"("data:image/png;base64,AAAA")",
                           R"(["data:image/png;base64,AAAA"])",
                           "{}",
                           R"({"image":null})",
                           R"({"image":{"image":"data:image/png;base64,AAAA"}})",
                           R"({"Image":"data:image/png;base64,AAAA"})",
                           R"({"image":""})",
                           R"({"image":"image/png;base64,AAAA"})",
                           R"({"image":"data:text/html;base64,AAAA"})",
                           R"({"image":"data:image/;base64,AAAA"})",
                           R"({"image":"data:image/png,AAAA"})",
                           R"({"image":"data:image/PNG;base64,AAAA"})",
                           R"({"image":"data:image/a/b;base64,AAAA"})",
                           R"({"image":"data:image/png;x=1;base64,AAAA"})",
                           R"({"image":"data:image/p\u0000g;base64,AAAA"})",
                           R"({"image":"data:image/png;base64,"})",
                           R"({"image":"data:image/png;base64,AAA"})",
                           R"({"image":"data:image/png;base64,A==="})",
                           R"({"image":"data:image/png;base64,AA=A"})",
                           R"({"image":"data:image/png;base64,AA-_"})",
                           R"({"image":"data:image/png;base64,AAAA AAAA"})",
                           R"({"image":"data:image/png;base64,AAAA\n"})",
                           R"({"image":"data:image/png;base64,AAAé"})"}) {
    EXPECT_EQ(taken(data), "none") << data;
  }
  EXPECT_EQ(taken(R"({"image":"data:image/)" + std::string(65, 'x') + R"(;base64,AAAA"})"), "none");
}

TEST(ImageResult, DoesNotCopyTheImage) {
  const Slice data(R"({"image":"data:image/png;base64,)" + std::string(100'000, 'A') + "\"}");
  const auto result = takeImage(data);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->image.base64.view().data(), data.view().data() + 32);
  EXPECT_FALSE(result->image.base64.borrowed());
}

}  // namespace
}  // namespace tap::protocol
