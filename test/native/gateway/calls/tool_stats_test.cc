#include "gateway/calls/tool_stats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace tap::gateway {
namespace {

Now at(int64_t seconds) {
  return {Time(Millis(1000 * seconds)), 1000 * seconds};
}

TEST(Durations, KnowNothingOfNone) {
  EXPECT_EQ(Durations().percentile(0.5), Millis(0));
}

TEST(Durations, AreExactWhereTheyAreShort) {
  Durations durations;
  for (int64_t ms = 0; ms < 10; ++ms) durations.add(Millis(ms));
  EXPECT_EQ(durations.percentile(0.1), Millis(0));
  EXPECT_EQ(durations.percentile(0.5), Millis(4));
  EXPECT_EQ(durations.percentile(1), Millis(9));
}

TEST(Durations, AreNeverTooShortAndAtMostAnEighthTooLong) {
  std::mt19937 random(5);
  for (const int64_t most : {20, 1'000, 60'000, 3'600'000}) {
    Durations durations;
    std::vector<int64_t> all;
    for (int i = 0; i < 500; ++i) {
      all.push_back(static_cast<int64_t>(random() % static_cast<uint32_t>(most)));
      durations.add(Millis(all.back()));
    }
    std::sort(all.begin(), all.end());
    for (const double share : {0.02, 0.5, 0.9, 0.99, 1.0}) {
      const auto rank = static_cast<size_t>(share * static_cast<double>(all.size()));
      const int64_t exact = all[rank - 1];
      const int64_t shown = durations.percentile(share).count();
      EXPECT_GE(shown, exact) << most << " " << share;
      EXPECT_LE(shown, exact + exact / 8 + 1) << most << " " << share;
    }
  }
}

TEST(Durations, OfAFewShowTheSlowest) {
  Durations durations;
  durations.add(Millis(10));
  durations.add(Millis(5000));
  EXPECT_EQ(durations.percentile(0.5), Millis(10));
  EXPECT_GE(durations.percentile(0.95), Millis(5000));
}

TEST(Durations, BeyondTheScaleCountAsItsEnd) {
  Durations durations;
  durations.add(Millis(int64_t{1} << 50));
  durations.add(Millis(-5));
  EXPECT_EQ(durations.percentile(0.5), Millis(0));
  EXPECT_GE(durations.percentile(1), Millis(3'600'000));
}

TEST(Rate, IsThatOfTheLastMinute) {
  Rate rate;
  EXPECT_EQ(rate.perSecond(at(5).steady), 0);
  for (int64_t second = 0; second < 120; ++second) rate.add(at(second).steady);
  EXPECT_NEAR(rate.perSecond(at(120).steady), 1, 0.05);
  for (int64_t second = 120; second < 180; ++second) {
    for (int i = 0; i < 10; ++i) rate.add(at(second).steady);
  }
  EXPECT_NEAR(rate.perSecond(at(180).steady), 10, 0.5);
}

TEST(Rate, FallsToNothingAMinuteAfterTheLast) {
  Rate rate;
  for (int i = 0; i < 100; ++i) rate.add(at(100).steady);
  EXPECT_NEAR(rate.perSecond(at(110).steady), 10, 0.1);
  EXPECT_EQ(rate.perSecond(at(170).steady), 0);
  rate.add(at(500).steady);
  EXPECT_EQ(rate.perSecond(at(501).steady), 1) << "calls before the silence no longer count";
}

TEST(ToolStats, CountByProviderAndTool) {
  ToolStats stats;
  stats.settled({"a", "x", Millis(5), false}, at(1));
  stats.settled({"a", "x", Millis(7), true}, at(2));
  stats.settled({"b", "x", Millis(9), false}, at(3));
  ASSERT_EQ(stats.tools().size(), 2U);
  const ToolRecord& record = stats.tools().at("a").at("x");
  EXPECT_EQ(record.calls, 2U);
  EXPECT_EQ(record.failed, 1U);
  EXPECT_EQ(record.lastUnixMillis, 2000);
  EXPECT_EQ(record.durations.percentile(1), Millis(7));
}

TEST(ToolStats, ForgetWhatWasCalledLongestAgo) {
  ToolStats stats;
  for (int64_t i = 0; i < 1500; ++i) {
    stats.settled({"p" + std::to_string(i), "t", Millis(1), false}, at(i));
  }
  EXPECT_EQ(stats.tools().size(), 1000U);
  EXPECT_FALSE(stats.tools().contains("p499"));
  EXPECT_TRUE(stats.tools().contains("p500"));
}

TEST(ToolStats, KeepTheLastFailuresShortAndPrintable) {
  ToolStats stats;
  for (int64_t i = 0; i < 30; ++i) {
    stats.failed({i, "p", "t", "TIMEOUT", "no\x1b[2J" + std::string(5000, 'x')});
  }
  EXPECT_EQ(stats.failures().size(), 20U);
  EXPECT_EQ(stats.failures().front().unixMillis, 10);
  EXPECT_LE(stats.failures().front().text.size(), 512U);
  EXPECT_EQ(stats.failures().front().text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace tap::gateway
