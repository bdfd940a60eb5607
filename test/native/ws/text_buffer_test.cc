#include "ws/text_buffer.h"

#include <gtest/gtest.h>

namespace tap::ws {
namespace {

constexpr size_t kCap = size_t{1024} * 1024;
constexpr size_t kBelieved = size_t{64} * 1024;

TEST(TextBuffer, GathersPiecesAndHandsThemOver) {
  TextBuffer buffer(kCap);
  EXPECT_TRUE(buffer.append("one ", 7));
  EXPECT_TRUE(buffer.append("two", 7));
  EXPECT_TRUE(buffer.complete());
  EXPECT_EQ(buffer.take(), "one two");
  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_TRUE(buffer.append("next", 4));
  EXPECT_EQ(buffer.take(), "next");
}

TEST(TextBuffer, JoinsACharacterCutInTwo) {
  TextBuffer buffer(kCap);
  EXPECT_TRUE(buffer.append("\xe2\x82", 3));
  EXPECT_FALSE(buffer.complete());
  EXPECT_TRUE(buffer.append("\xac", 3));
  EXPECT_TRUE(buffer.complete());
}

TEST(TextBuffer, RefusesTheByteThatCannotFollow) {
  TextBuffer buffer(kCap);
  EXPECT_TRUE(buffer.append("\xed", 3));
  EXPECT_FALSE(buffer.append("\xa0", 3));  // would be a surrogate
}

TEST(TextBuffer, StartsAnewAfterClear) {
  TextBuffer buffer(kCap);
  EXPECT_TRUE(buffer.append(std::string(kBelieved, 'x') + "\xe2", kCap));
  buffer.clear();
  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_EQ(buffer.capacity(), std::string().capacity());
  EXPECT_TRUE(buffer.append("fine", 4));
  EXPECT_TRUE(buffer.complete());
}

TEST(TextBuffer, AnnouncementsAreBelievedOnlyAfter64K) {
  TextBuffer buffer(kCap);
  EXPECT_TRUE(buffer.append("x", kCap));
  EXPECT_LT(buffer.capacity(), 64U);
  EXPECT_TRUE(buffer.append(std::string(kBelieved - 2, 'x'), kCap));
  EXPECT_LE(buffer.capacity(), 2 * kBelieved);
  EXPECT_TRUE(buffer.append(std::string(kBelieved + 1, 'x'), kCap));
  EXPECT_EQ(buffer.capacity(), kCap);
}

TEST(TextBuffer, NeverHoldsMoreThanTheCap) {
  for (const size_t piece : {1, 7, 100, 5000, 70000, 700000}) {
    TextBuffer buffer(kCap);
    while (buffer.size() + piece <= kCap) {
      ASSERT_TRUE(buffer.append(std::string(piece, 'x'), buffer.size() + piece));
      ASSERT_LE(buffer.capacity(), kCap);
    }
  }
}

}  // namespace
}  // namespace tap::ws
