// When a session that cannot take tools live is reloaded.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gateway/sync/driver.h"

namespace tap::gateway {
namespace {

using protocol::SyncMode;

struct Reloading : ::testing::Test {
  Driver driver{{}, SyncMode::Reload};
  int version = 0;

  void change() { driver.want({{"a", std::to_string(++version)}}); }
  // A reload that is confirmed at once. Returns: the time until it came.
  int64_t reload() {
    const Time start = driver.now;
    const size_t before = driver.plans.size();
    change();
    while (driver.plans.size() == before && driver.now - start < Millis(100'000)) {
      driver.advance(1);
    }
    EXPECT_TRUE(driver.plans.back().reload);
    driver.confirm();
    return (driver.now - start).count();
  }
};

TEST_F(Reloading, AnIdleSessionIsReloadedAfterTheDebounce) {
  EXPECT_EQ(reload(), 200);
}

// shows: P-SYNC-3
TEST_F(Reloading, WaitsUntil200MsAfterTheLastChange) {
  change();
  driver.advance(199);
  EXPECT_TRUE(driver.plans.empty());
  change();
  driver.advance(199);
  EXPECT_TRUE(driver.plans.empty());
  driver.advance(1);
  EXPECT_EQ(driver.plans.size(), 1u);
}

TEST_F(Reloading, WaitsOneSecondAtMost) {
  const Time start = driver.now;
  for (int i = 0; i < 20 && driver.plans.empty(); ++i) {
    change();
    driver.advance(100);
  }
  EXPECT_EQ(driver.plans.size(), 1u);
  EXPECT_EQ(driver.now - start, Millis(1'000));
}

TEST_F(Reloading, ABusySessionIsWaitedFor) {
  driver.sync.setQuiet(false);
  change();
  driver.advance(3'000);
  EXPECT_TRUE(driver.plans.empty());
  driver.sync.setQuiet(true);
  driver.advance(0);
  EXPECT_EQ(driver.plans.size(), 1u);
}

TEST_F(Reloading, ABusySessionIsForcedAfterFourSeconds) {
  driver.sync.setQuiet(false);
  change();
  driver.advance(2'000);
  change();
  driver.advance(1'999);
  EXPECT_TRUE(driver.plans.empty());
  driver.advance(1);
  EXPECT_EQ(driver.plans.size(), 1u);
}

TEST_F(Reloading, ASessionInLiveModeIsNotWaitedFor) {
  driver.sync.setMode(SyncMode::Live, driver.now);
  driver.sync.setQuiet(false);
  change();
  driver.advance(200);
  ASSERT_EQ(driver.plans.size(), 1u);
  EXPECT_FALSE(driver.plans[0].reload);
}

// shows: P-SYNC-7
TEST_F(Reloading, TwoAreASecondApartAtLeast) {
  reload();
  EXPECT_EQ(reload(), 1'000);
}

TEST_F(Reloading, TheFloorDoublesWhileAProviderFlaps) {
  EXPECT_EQ(reload(), 200);
  std::vector<int64_t> waits;
  for (int i = 0; i < 9; ++i) waits.push_back(reload());
  EXPECT_EQ(waits, (std::vector<int64_t>{1'000, 2'000, 4'000, 8'000, 16'000, 32'000, 60'000, 60'000,
                                         60'000}));
}

TEST_F(Reloading, TheFloorFallsBackAfterAPause) {
  for (int i = 0; i < 4; ++i) reload();
  driver.advance(60'000);
  EXPECT_EQ(reload(), 200);
  EXPECT_EQ(reload(), 1'000);
}

TEST_F(Reloading, TheFloorHoldsAcrossTheReloadsOwnRestart) {
  for (int i = 0; i < 3; ++i) {
    change();
    driver.advance(i == 0 ? 200 : 2'000);
    driver.sync.linkLost();
    driver.sync.sessionRegistered({}, SyncMode::Reload, driver.now);
    driver.sync.confirmed(driver.sync.firstPlan(false, driver.now).revision, driver.now);
  }
  EXPECT_EQ(driver.plans.size(), 3u);
  change();
  driver.advance(200);
  EXPECT_EQ(driver.plans.size(), 3u);
}

}  // namespace
}  // namespace tap::gateway
