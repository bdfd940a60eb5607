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

// shows: P-CALL-1
TEST(RandomIds, MakesUuidsOfVersion4) {
  RandomIds ids({1, 2, 3, 4});
  std::set<char> variants;
  for (int i = 0; i < 1'000; ++i) {
    const std::string uuid = ids.uuid().text();
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

TEST(Uuid, IsReadBackFromItsText) {
  RandomIds ids({1, 2, 3, 4});
  for (int i = 0; i < 1'000; ++i) {
    const Uuid uuid = ids.uuid();
    EXPECT_EQ(Uuid::parse(uuid.text()), uuid);
  }
  EXPECT_EQ((Uuid{0x0123456789abcdef, 0xfedcba9876543210}.text()),
            "01234567-89ab-cdef-fedc-ba9876543210");
}

TEST(Uuid, IsNothingElse) {
  const std::string good = "01234567-89ab-cdef-fedc-ba9876543210";
  ASSERT_TRUE(Uuid::parse(good));
  EXPECT_FALSE(Uuid::parse(""));
  EXPECT_FALSE(Uuid::parse(good + "0"));
  EXPECT_FALSE(Uuid::parse(good.substr(1)));
  for (size_t at = 0; at < good.size(); ++at) {
    for (const char wrong : {'g', 'A', ' ', '\0', '\xff', good[at] == '-' ? '0' : '-'}) {
      std::string bad = good;
      bad[at] = wrong;
      EXPECT_FALSE(Uuid::parse(bad)) << bad;
    }
  }
}

TEST(RandomIds, MakesShortIdsOfEightDigits) {
  RandomIds ids({1, 2, 3, 4});
  for (int i = 0; i < 100; ++i) {
    const std::string id = ids.shortId();
    ASSERT_EQ(id.size(), 8u);
    for (const char c : id) EXPECT_TRUE(isLowerHex(c));
  }
}

// shows: P-CALL-1, P-HOOK-21
TEST(RandomIds, NeverRepeatThemselves) {
  RandomIds ids({5, 6, 7, 8});
  std::set<std::string> seen;
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(seen.insert(ids.uuid().text()).second);
}

TEST(RandomIds, AreTheSameForTheSameSeed) {
  RandomIds one({9, 8, 7, 6});
  RandomIds same({9, 8, 7, 6});
  RandomIds other({9, 8, 7, 5});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(one.uuid().text(), same.uuid().text());
  EXPECT_NE(one.uuid().text(), other.uuid().text());
}

TEST(RandomIds, TakeASeedOfZeros) {
  RandomIds ids({0, 0, 0, 0});
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) seen.insert(ids.uuid().text());
  EXPECT_GE(seen.size(), 99u);
}

TEST(RandomIds, UseEveryDigitEverywhere) {
  RandomIds ids({1, 2, 3, 4});
  std::array<std::set<char>, 36> digits;
  for (int i = 0; i < 2'000; ++i) {
    const std::string uuid = ids.uuid().text();
    for (size_t at = 0; at < uuid.size(); ++at) digits[at].insert(uuid[at]);
  }
  for (size_t at = 0; at < digits.size(); ++at) {
    if (at == 8 || at == 13 || at == 18 || at == 23 || at == 14 || at == 19) continue;
    EXPECT_EQ(digits[at].size(), 16u) << at;
  }
}

}  // namespace
}  // namespace tap
