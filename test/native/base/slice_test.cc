#include "base/slice.h"

#include <gtest/gtest.h>

namespace tap {
namespace {

constexpr std::string_view kText = "longer than the buffer inside of a string";

TEST(Slice, MayBeChangedByWhoeverHasItAlone) {
  for (Slice slice : {Slice(std::string(kText)), Slice::copy(kText), Slice::borrow(kText).keep()}) {
    EXPECT_EQ(slice.view(), kText);
    Slice other = slice.part(slice.view().substr(1));
    EXPECT_TRUE(slice.exclusive().empty());
    EXPECT_TRUE(other.exclusive().empty());
    other = {};
    // The initializer list holds a reference, too.
    EXPECT_TRUE(slice.exclusive().empty());
  }
  Slice slice = Slice::copy(kText);
  slice = slice.part(slice.view().substr(1));
  ASSERT_EQ(slice.exclusive().size(), kText.size() - 1);
  slice.exclusive()[0] = 'O';
  EXPECT_TRUE(slice.view().starts_with("Onger"));
}

TEST(Slice, JoinsTextsInMemoryOfItsOwn) {
  const std::string two = "two";
  Slice joined = Slice::joined({"one ", two, "", " three"});
  EXPECT_EQ(joined.view(), "one two three");
  EXPECT_EQ(joined.exclusive().size(), joined.size());
  EXPECT_TRUE(Slice::joined({}).empty());
}

TEST(Slice, CannotBeChangedWhereItBorrows) {
  std::string text(kText);
  Slice slice = Slice::borrow(text);
  EXPECT_TRUE(slice.exclusive().empty());
  EXPECT_EQ(slice.exclusive().data(), nullptr);
  EXPECT_TRUE(Slice().exclusive().empty());
}

}  // namespace
}  // namespace tap
