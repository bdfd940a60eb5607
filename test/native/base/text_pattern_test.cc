#include "base/text_pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace tap {
namespace {

bool allowLong(unsigned number, std::string_view captured) {
  return number == 1 && captured.size() > 3;
}

TEST(TextPattern, ReturnsItsLastGroupAtOnePlace) {
  const TextPattern pattern(R"((\w+)(?C1)(?:=(\d+)|:(\w+)))", allowLong);
  EXPECT_EQ(pattern.match("x name=12", 2), "12");
  EXPECT_EQ(pattern.match("x name:ada", 2), "ada");
  EXPECT_EQ(pattern.match("x name=12", 1), std::nullopt);
  EXPECT_EQ(pattern.match("x abc=12", 2), std::nullopt);
}

TEST(TextPattern, ReturnsTheTextAfterTooManySteps) {
  const TextPattern pattern("(?:(?:a|aa)+)+(b)", allowLong);
  const std::string text = "x" + std::string(60, 'a') + "!b";
  EXPECT_EQ(pattern.match(text, 1), text);
  EXPECT_EQ(pattern.match("aab", 0), "b");
}

}  // namespace
}  // namespace tap
