#include "base/random.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

namespace tap {
namespace {

bool isLowerHex(char c) {
  return std::isdigit(c) != 0 || (c >= 'a' && c <= 'f');
}

TEST(RandomIds, MakesUuidsOfVersion4) {
  RandomIds ids({1, 2, 3, 4});
  std::set<char> variants;
  for (int i = 0; i < 1'000; ++i) {
    const std::string uuid = ids.uuid();
    ASSERT_EQ(uuid.size(), 36u);
    for (size_t at = 0; at < uuid.size(); ++at) {
      const bool dash = at == 8 || at == 13 || at == 18 || at == 23;
      EXPECT_TRUE(dash ? uuid[at] == '-' : isLowerHex(uuid[at])) << uuid;
    }
    EXPECT_EQ(uuid[14], '4');
    variants.insert(uuid[19]);
  }
  EXPECT_EQ(variants, (std::set<char>{'8', '9', 'a', 'b'}));
}

TEST(RandomIds, MakesShortIdsOfEightDigits) {
  RandomIds ids({1, 2, 3, 4});
  for (int i = 0; i < 100; ++i) {
    const std::string id = ids.shortId();
    ASSERT_EQ(id.size(), 8u);
    for (const char c : id) EXPECT_TRUE(isLowerHex(c));
  }
}

TEST(RandomIds, NeverRepeatThemselves) {
  RandomIds ids({5, 6, 7, 8});
  std::set<std::string> seen;
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(seen.insert(ids.uuid()).second);
}

TEST(RandomIds, AreTheSameForTheSameSeed) {
  RandomIds one({9, 8, 7, 6});
  RandomIds same({9, 8, 7, 6});
  RandomIds other({9, 8, 7, 5});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(one.uuid(), same.uuid());
  EXPECT_NE(one.uuid(), other.uuid());
}

TEST(RandomIds, TakeASeedOfZeros) {
  RandomIds ids({0, 0, 0, 0});
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) seen.insert(ids.uuid());
  EXPECT_GE(seen.size(), 99u);
}

TEST(RandomIds, UseEveryDigitEverywhere) {
  RandomIds ids({1, 2, 3, 4});
  std::array<std::set<char>, 36> digits;
  for (int i = 0; i < 2'000; ++i) {
    const std::string uuid = ids.uuid();
    for (size_t at = 0; at < uuid.size(); ++at) digits[at].insert(uuid[at]);
  }
  for (size_t at = 0; at < digits.size(); ++at) {
    if (at == 8 || at == 13 || at == 18 || at == 23 || at == 14 || at == 19) continue;
    EXPECT_EQ(digits[at].size(), 16u) << at;
  }
}

}  // namespace
}  // namespace tap
