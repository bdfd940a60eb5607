// The readers of JSON text stay inside it and come to an end, be the text valid or not.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/json_walk.h"
#include "protocol/target.h"

namespace tap::json {
namespace {

TEST(JsonBytes, EveryBeginningAndEndOfATextIsWalkedInBounds) {
  const std::string text =
      R"( {"target":"t\u00e9\ud83d\ude00\"x","a":[1,{"b":null},"é"],"t\u0061rget":{"c":[[]]},"n":-1e5,"z":true} )";
  for (size_t from = 0; from <= text.size(); ++from) {
    walkBytes(std::string_view(text).substr(from));
    walkBytes(std::string_view(text).substr(0, from));
    std::string broken = text;
    for (const char other : {'"', '\\', '{', ']', '}', ':', ',', '\0', '\x80', '\xff'}) {
      if (from < text.size()) broken[from] = other;
      walkBytes(broken);
    }
  }
}

TEST(JsonBytes, ATextThatIsNoObjectHasNoMembers) {
  for (const char* text : {"", "[1,2]", "\"a string\"", "[{}]", "\"target\"", "[[\"a\"]]",
                           "[\"x\"]", "null", "7", " {\"target\":\"x\"}", "[\"target\":\"x\"]"}) {
    const ExactText exact(text);
    const protocol::TargetedArgs taken = protocol::takeTarget(exact.view());
    EXPECT_EQ(taken.target, "") << text;
    EXPECT_EQ(taken.args, "{}") << text;
    walkBytes(text);
  }
}

TEST(JsonBytes, WhatIsValidIsReadAsBefore) {
  const ExactText text(R"({"a":"\u0041\n","target":[1,{"x":"}"}],"b":12})");
  const Value object{Kind::Object, text.view()};
  EXPECT_EQ(decodeString(*find(object, "a")), "A\n");
  EXPECT_EQ(find(object, "target")->raw, R"([1,{"x":"}"}])");
  EXPECT_EQ(openWithout(object, "target"), R"({"a":"\u0041\n","b":12)");
}

TEST(JsonBytes, AScanSaysHowDeepItIsAndTakesALimit) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  Scanner scanner;
  for (const size_t depth : {0, 1, 127, 128}) {
    ASSERT_TRUE(scanner.scan(depth == 0 ? "1" : nested(depth)).ok()) << depth;
    EXPECT_EQ(scanner.depth(), static_cast<int>(depth));
  }
  EXPECT_TRUE(scanner.scan(nested(129)).error().tooDeep);
  EXPECT_TRUE(scanner.scan(nested(128), 127).error().tooDeep);
  EXPECT_FALSE(scanner.scan("[").error().tooDeep);
  EXPECT_TRUE(scanner.scan(nested(kMaxEnvelopeDepth), kMaxEnvelopeDepth).ok());
  EXPECT_TRUE(scanner.scan(nested(kMaxEnvelopeDepth + 1), 1'000'000).error().tooDeep);
}

}  // namespace
}  // namespace tap::json
