#include "protocol/image_result.h"

#include <gtest/gtest.h>

#include "base/encoding.h"
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
  EXPECT_EQ(taken(R"({"image":"data:image/png;base64,iVBORw0KGgo="})"), "image/png iVBORw0KGgo= ");
  EXPECT_EQ(taken(R"({ "image" : "data:image/jpeg;base64,/9j/" })"), "image/jpeg /9j/ ");
}

// shows: P-RUN-15
TEST(ImageResult, HasTheTypeThatItsBytesSay) {
  const auto type = [](const char* declared, std::string_view bytes) {
    const std::string image =
        taken(R"({"image":"data:)" + std::string(declared) + ";base64," + base64(bytes) + "\"}");
    return image.substr(0, image.find(' '));
  };
  EXPECT_EQ(type("image/jpg", "\xFF\xD8\xFF\xE0"), "image/jpeg");
  EXPECT_EQ(type("image/png", "GIF87a"), "image/gif");
  EXPECT_EQ(type("image/png", "GIF89a..."), "image/gif");
  EXPECT_EQ(type("image/x", "RIFF1234WEBPVP8 "), "image/webp");
  for (const char* bytes :
       {"hello", "<svg xmlns=", "RIFF1234WAVEfmt ", "RIFF", "GIF88a", "\x89PNG", "BM123456"}) {
    EXPECT_EQ(type("image/png", bytes), "none") << bytes;
    EXPECT_EQ(type("image/svg+xml", bytes), "none") << bytes;
  }
}

// shows: P-RUN-14
TEST(ImageResult, LeavesTheOtherMembersAsTheyAre) {
  EXPECT_EQ(taken(R"({"w":1.50,"image":"data:image/jpeg;base64,/9j/","at":{"image":"x"}})"),
            R"(image/jpeg /9j/ {"w":1.50,"at":{"image":"x"}})");
}

TEST(ImageResult, TakesTheLastOfEqualKeysAndResolvesEscapes) {
  EXPECT_EQ(
      taken(
          R"({"image":"data:image/png;base64,AAAA","im\u0061ge":"data:image\/jpeg;base64,\/9j\/"})"),
      "image/jpeg /9j/ ");
  EXPECT_EQ(taken(R"({"image":"data:image/png;base64,AAAA","image":7})"), "none");
}

// shows: P-RUN-14
TEST(ImageResult, IsNothingElse) {
  for (const char* data : {"",
                           "null",
                           R"("data:image/png;base64,/9j/")",
                           R"(["data:image/png;base64,/9j/"])",
                           "{}",
                           R"({"image":null})",
                           R"({"image":{"image":"data:image/png;base64,/9j/"}})",
                           R"({"Image":"data:image/png;base64,/9j/"})",
                           R"({"image":""})",
                           R"({"image":"image/png;base64,/9j/"})",
                           R"({"image":"data:text/html;base64,/9j/"})",
                           R"({"image":"data:image/;base64,/9j/"})",
                           R"({"image":"data:image/png,/9j/"})",
                           R"({"image":"data:image/PNG;base64,/9j/"})",
                           R"({"image":"data:image/a/b;base64,/9j/"})",
                           R"({"image":"data:image/png;x=1;base64,/9j/"})",
                           R"({"image":"data:image/p\u0000g;base64,/9j/"})",
                           R"({"image":"data:image/png;base64,"})",
                           R"({"image":"data:image/png;base64,/9j/AAA"})",
                           R"({"image":"data:image/png;base64,/9j/A==="})",
                           R"({"image":"data:image/png;base64,/9j/AA=A"})",
                           R"({"image":"data:image/png;base64,/9j/AA-_"})",
                           R"({"image":"data:image/png;base64,/9j/ AAAA"})",
                           R"({"image":"data:image/png;base64,/9j/\n"})",
                           R"({"image":"data:image/png;base64,/9j/AAAé"})"}) {
    EXPECT_EQ(taken(data), "none") << data;
  }
  EXPECT_EQ(taken(R"({"image":"data:image/)" + std::string(65, 'x') + R"(;base64,/9j/"})"), "none");
}

TEST(ImageResult, DoesNotCopyTheImage) {
  const Slice data(R"({"image":"data:image/png;base64,iVBORw0KGgoA)" + std::string(100'000, 'A') +
                   "\"}");
  const auto result = takeImage(data);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->image.base64.view().data(), data.view().data() + 32);
  EXPECT_FALSE(result->image.base64.borrowed());
}

}  // namespace
}  // namespace tap::protocol
