// Walks JSON text in every way there is, be the text valid or not. Shared by the tests of
// json_bytes_test.cc and the fuzz target "bytes".
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "protocol/target.h"

namespace tap::json {

// A text in memory of its own size, without even a zero behind it, so that the sanitizers see a
// step beyond it.
class ExactText {
 public:
  explicit ExactText(std::string_view text)
      : bytes_(std::make_unique<char[]>(text.size())), size_(text.size()) {
    text.copy(bytes_.get(), size_);
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t size_;
};

// The value lies inside `text`, and so does all that is in it.
inline void walkValue(Value value, std::string_view text, int depth = 0) {
  ASSERT_GE(value.raw.data(), text.data());
  ASSERT_LE(value.raw.data() + value.raw.size(), text.data() + text.size());
  ASSERT_FALSE(value.raw.empty());
  (void)decodeString(value);
  (void)decodeString16(value);
  (void)plainText(value);
  (void)decodeNumber(value);
  (void)decodeInteger(value);
  std::string room(value.raw.size(), '\0');
  (void)decodeString16(decodeAscii(value, room.data()));
  constexpr int kDeepEnough = 20;
  if (depth > kDeepEnough) return;
  Members members(value);
  for (Member member; members.next(member);) {
    (void)keyEquals(member.key, "target");
    walkValue(member.value, text, depth + 1);
  }
  Elements elements(value);
  for (Value element; elements.next(element);) {
    EXPECT_TRUE(element.kind != Kind::String || element.raw.size() >= 2);
    walkValue(element, text, depth + 1);
  }
}

// The bytes as an object, an array and a string, and as the arguments of a call.
inline void walkBytes(std::string_view bytes) {
  const ExactText exact(bytes);
  const std::string_view text = exact.view();
  for (const Kind kind : {Kind::Object, Kind::Array, Kind::String}) {
    const Value value{kind, text};
    if (!text.empty()) walkValue(value, text);
    if (const auto found = find(value, "target")) walkValue(*found, text);
    EXPECT_TRUE(openWithout(value, "target").starts_with("{"));
  }
  (void)decodeString({Kind::String, text});
  (void)decodeString16({Kind::String, text});
  (void)keyEquals(text, "target");
  const protocol::TargetedArgs taken = protocol::takeTarget(text);
  EXPECT_TRUE(taken.args.starts_with("{") && taken.args.ends_with("}"));
}

}  // namespace tap::json
