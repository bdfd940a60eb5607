// What walks JSON text stays inside it and ends, be the text valid or not. Each text stands in
// memory of its own size, so that the sanitizers see a step beyond it.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/utf8.h"
#include "protocol/target.h"

namespace tap::json {
namespace {

// A text without anything behind it, not even a zero.
class Exactly {
 public:
  explicit Exactly(std::string_view text)
      : bytes_(std::make_unique<char[]>(text.size())), size_(text.size()) {
    text.copy(bytes_.get(), size_);
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t size_;
};

// A value lies inside `text`, and can be read in every way.
void readIt(Value value, std::string_view text) {
  EXPECT_GE(value.raw.data(), text.data());
  EXPECT_LE(value.raw.data() + value.raw.size(), text.data() + text.size());
  EXPECT_FALSE(value.raw.empty());
  EXPECT_TRUE(value.kind != Kind::String || value.raw.size() >= 2);
  (void)decodeString(value);
  (void)decodeString16(value);
  (void)plainText(value);
  (void)decodeNumber(value);
  (void)decodeInteger(value);
  std::string room(value.raw.size(), '\0');
  (void)decodeString16(decodeAscii(value, room.data()));
}

void walk(std::string_view bytes) {
  const Exactly text(bytes);
  for (const Kind kind : {Kind::Object, Kind::Array, Kind::String}) {
    const Value value{kind, text.view()};
    Members members(value);
    for (Member member; members.next(member);) {
      (void)keyEquals(member.key, "target");
      readIt(member.value, text.view());
    }
    Elements elements(value);
    for (Value element; elements.next(element);) readIt(element, text.view());
    if (const auto found = find(value, "target")) readIt(*found, text.view());
    EXPECT_TRUE(openWithout(value, "target").starts_with("{"));
  }
  (void)decodeString({Kind::String, text.view()});
  (void)decodeString16({Kind::String, text.view()});
  (void)keyEquals(text.view(), "target");
  const auto taken = protocol::takeTarget(text.view());
  EXPECT_TRUE(taken.args.starts_with("{") && taken.args.ends_with("}"));
}

TEST(JsonBytes, EveryBeginningAndEndOfATextIsWalkedInBounds) {
  const std::string text =
      R"( {"target":"t\u00e9\ud83d\ude00\"x","a":[1,{"b":null},"é"],"t\u0061rget":{"c":[[]]},"n":-1e5,"z":true} )";
  for (size_t from = 0; from <= text.size(); ++from) {
    walk(std::string_view(text).substr(from));
    walk(std::string_view(text).substr(0, from));
    std::string broken = text;
    for (const char other : {'"', '\\', '{', ']', '}', ':', ',', '\0', '\x80', '\xff'}) {
      if (from < text.size()) broken[from] = other;
      walk(broken);
    }
  }
}

TEST(JsonBytes, ATextThatIsNoObjectHasNoMembers) {
  for (const char* text : {"", "[1,2]", "\"a string\"", "[{}]", "\"target\"", "[[\"a\"]]",
                           "[\"x\"]", "null", "7", " {\"target\":\"x\"}", "[\"target\":\"x\"]"}) {
    const Exactly exact(text);
    const protocol::TargetedArgs taken = protocol::takeTarget(exact.view());
    EXPECT_EQ(taken.target, "") << text;
    EXPECT_EQ(taken.args, "{}") << text;
    walk(text);
  }
}

TEST(JsonBytes, WhatIsValidIsReadAsBefore) {
  const Exactly text(R"({"a":"\u0041\n","target":[1,{"x":"}"}],"b":12})");
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
