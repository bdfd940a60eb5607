#include "gateway/sync/tool_sync.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gateway/sync/driver.h"

namespace tap::gateway {
namespace {

using protocol::SyncMode;

using Names = std::vector<std::string>;

TEST(ToolSync, GivesAProcessThatHasNotJoinedAllItsTools) {
  Limits limits;
  ToolSync sync(limits);
  const Time now{Millis(1)};
  sync.wantedChanged({{"a", "1"}, {"b", "1"}}, now);
  sync.sessionRegistered({}, SyncMode::Reload, now);
  const SyncPlan plan = sync.firstPlan(false, now);
  EXPECT_EQ(plan.set, (Names{"a", "b"}));
  EXPECT_FALSE(plan.reload);
  EXPECT_FALSE(sync.due());
  EXPECT_TRUE(sync.confirmed(plan.revision, now));
  EXPECT_TRUE(sync.settled());
}

TEST(ToolSync, GivesAJoinedProcessItsChangesWhenTheyAreDue) {
  Driver driver(ToolSnapshot{{"a", "1"}});
  EXPECT_TRUE(driver.first.set.empty());
  EXPECT_TRUE(driver.first.drop.empty());
  driver.want({{"a", "1"}, {"b", "1"}});
  driver.advance(200);
  ASSERT_EQ(driver.plans.size(), 1u);
  EXPECT_EQ(driver.plans[0].set, Names{"b"});
}

// shows: P-SYNC-5
TEST(ToolSync, AFirstChangeLeavesAfter20Ms) {
  Driver driver;
  driver.want({{"a", "1"}});
  driver.advance(19);
  driver.want({{"a", "1"}, {"b", "1"}});
  EXPECT_TRUE(driver.plans.empty());
  driver.advance(1);
  ASSERT_EQ(driver.plans.size(), 1u);
  EXPECT_EQ(driver.plans[0].set, (Names{"a", "b"}));
}

// shows: P-SYNC-5
TEST(ToolSync, WhatFollowsASwapLeavesTogetherAfter250Ms) {
  Driver driver;
  driver.want({{"a", "1"}});
  driver.advance(20);
  driver.confirm();
  driver.want({{"a", "1"}, {"b", "1"}});
  driver.advance(100);
  driver.want({{"a", "1"}, {"b", "1"}, {"c", "1"}});
  driver.advance(149);
  EXPECT_EQ(driver.plans.size(), 1u);
  driver.advance(1);
  ASSERT_EQ(driver.plans.size(), 2u);
  EXPECT_EQ(driver.plans[1].set, (Names{"b", "c"}));
}

TEST(ToolSync, AChangeLongAfterASwapLeavesAfter20Ms) {
  Driver driver;
  driver.want({{"a", "1"}});
  driver.advance(20);
  driver.confirm();
  driver.advance(250);
  driver.want({{"a", "2"}});
  driver.advance(19);
  EXPECT_EQ(driver.plans.size(), 1u);
  driver.advance(1);
  EXPECT_EQ(driver.plans.size(), 2u);
}

// shows: P-SYNC-4
TEST(ToolSync, FiveProvidersWithin200MsAreTwoSwapsAtMost) {
  for (const int64_t pause : {0, 1, 5, 20, 49, 50}) {
    for (const int64_t answer : {0, 5, 30, 150, 400}) {
      Driver driver;
      ToolSnapshot wanted;
      std::optional<Time> answered;
      size_t swaps = 0;
      for (int64_t at = 0; at < 2'000; ++at) {
        if (wanted.size() < 5 && at == pause * static_cast<int64_t>(wanted.size())) {
          while (wanted.size() < (pause == 0 ? 5 : static_cast<size_t>(at / pause + 1))) {
            wanted.emplace("p" + std::to_string(wanted.size()), "1");
          }
          driver.want(wanted);
        }
        driver.advance(1);
        if (driver.plans.size() > swaps) {
          ++swaps;
          answered = driver.now + Millis(answer);
        }
        if (answered && driver.now >= *answered) {
          driver.confirm();
          answered.reset();
        }
      }
      EXPECT_LE(swaps, 2u) << pause << " ms apart, answered after " << answer;
      EXPECT_EQ(driver.sync.confirmedSet(), wanted);
    }
  }
}

// shows: P-SYNC-5
TEST(ToolSync, ToolsThatOnlyLeaveWaitFor200MsOfQuiet) {
  Driver driver;
  driver.want({{"a", "1"}, {"b", "1"}});
  driver.advance(20);
  driver.confirm();
  driver.advance(1'000);
  driver.want({{"b", "1"}});
  driver.advance(199);
  driver.want({});
  driver.advance(199);
  EXPECT_EQ(driver.plans.size(), 1u);
  driver.advance(1);
  ASSERT_EQ(driver.plans.size(), 2u);
  EXPECT_EQ(driver.plans[1].drop, (Names{"a", "b"}));
}

TEST(ToolSync, ToolsThatLeaveGoWithThoseThatCome) {
  Driver driver;
  driver.want({{"a", "1"}});
  driver.advance(20);
  driver.confirm();
  driver.advance(1'000);
  driver.want({});
  driver.advance(100);
  driver.want({{"b", "1"}});
  driver.advance(19);
  EXPECT_EQ(driver.plans.size(), 1u);
  driver.advance(1);
  ASSERT_EQ(driver.plans.size(), 2u);
  EXPECT_EQ(driver.plans[1].drop, Names{"a"});
  EXPECT_EQ(driver.plans[1].set, Names{"b"});
}

TEST(ToolSync, AProviderThatIsBackBeforeItsRemovalIsAnsweredFollowsIt) {
  Driver driver;
  driver.want({{"a", "1"}});
  driver.advance(20);
  driver.confirm();
  driver.advance(1'000);
  driver.want({});
  driver.advance(200);
  ASSERT_EQ(driver.plans.size(), 2u);
  driver.want({{"a", "1"}});
  driver.advance(240);
  driver.confirm();
  driver.advance(10);
  ASSERT_EQ(driver.plans.size(), 3u);
  EXPECT_EQ(driver.plans[2].set, Names{"a"});
}

TEST(ToolSync, DoesNothingForAChangeThatIsTakenBack) {
  Driver driver;
  driver.want({{"a", "1"}});
  driver.advance(19);
  driver.want({});
  EXPECT_FALSE(driver.sync.due());
  EXPECT_TRUE(driver.sync.settled());
  driver.advance(10'000);
  EXPECT_TRUE(driver.plans.empty());
}

// shows: P-SYNC-2
TEST(ToolSync, HasOnePlanInFlight) {
  Driver driver;
  driver.want({{"a", "1"}});
  driver.advance(200);
  driver.want({{"a", "2"}});
  driver.advance(60'000);
  EXPECT_EQ(driver.plans.size(), 1u);
  EXPECT_FALSE(driver.sync.due());
  driver.confirm();
  EXPECT_EQ(driver.sync.due(), driver.now - Millis(59'930));  // long due
  driver.advance(0);
  ASSERT_EQ(driver.plans.size(), 2u);
  EXPECT_EQ(driver.plans[1].set, Names{"a"});
  EXPECT_TRUE(driver.plans[1].drop.empty());
}

TEST(ToolSync, AChangeDuringTheFlightIsGatheredFromItself) {
  Driver driver;
  driver.want({{"a", "1"}});
  driver.advance(1'200);
  driver.want({{"a", "1"}, {"b", "1"}});
  driver.advance(5);
  driver.confirm();
  driver.advance(14);
  EXPECT_EQ(driver.plans.size(), 1u);
  driver.advance(1);
  ASSERT_EQ(driver.plans.size(), 2u);
  EXPECT_EQ(driver.plans[1].set, Names{"b"});
}

TEST(ToolSync, AChangeTakenBackDuringTheFlightIsUndoneAfterIt) {
  Driver driver;
  driver.want({{"a", "1"}});
  driver.advance(200);
  driver.want({});
  driver.advance(10);
  driver.confirm();
  driver.advance(190);
  ASSERT_EQ(driver.plans.size(), 2u);
  EXPECT_EQ(driver.plans[1].drop, Names{"a"});
}

TEST(ToolSync, PlansOnlyDifferences) {
  Driver driver(ToolSnapshot{{"a", "1"}, {"b", "1"}, {"c", "1"}});
  driver.advance(6'200);  // the hold is over
  ASSERT_EQ(driver.plans.size(), 1u);
  EXPECT_EQ(driver.plans[0].drop, (Names{"a", "b", "c"}));
  driver.confirm();
  driver.want({{"b", "2"}, {"d", "1"}});
  driver.advance(250);
  ASSERT_EQ(driver.plans.size(), 2u);
  EXPECT_EQ(driver.plans[1].set, (Names{"b", "d"}));
  EXPECT_TRUE(driver.plans[1].drop.empty());
}

TEST(ToolSync, IgnoresAnswersToOtherRevisions) {
  Driver driver;
  driver.want({{"a", "1"}});
  driver.advance(200);
  const int64_t revision = driver.plans[0].revision;
  EXPECT_FALSE(driver.sync.confirmed(revision - 1, driver.now));
  EXPECT_FALSE(driver.sync.confirmed(revision + 1, driver.now));
  EXPECT_FALSE(driver.sync.failed(revision + 1, driver.now));
  EXPECT_TRUE(driver.sync.confirmed(revision, driver.now));
  EXPECT_FALSE(driver.sync.confirmed(revision, driver.now));
}

TEST(ToolSync, NeverTriesAFailedSetAgain) {
  Driver driver;
  driver.want({{"a", "bad"}});
  driver.advance(200);
  driver.fail();
  driver.advance(3'600'000);
  EXPECT_EQ(driver.plans.size(), 1u);
  EXPECT_TRUE(driver.sync.settled());
  driver.want({{"a", "bad"}});
  driver.advance(3'600'000);
  EXPECT_EQ(driver.plans.size(), 1u);
}

TEST(ToolSync, TriesAChangedSetAfterAFailure) {
  Driver driver;
  driver.want({{"a", "bad"}});
  driver.advance(200);
  driver.fail();
  driver.want({{"a", "good"}});
  driver.advance(200);
  ASSERT_EQ(driver.plans.size(), 2u);
  driver.confirm();
  EXPECT_EQ(driver.sync.confirmedSet(), (ToolSnapshot{{"a", "good"}}));
}

TEST(ToolSync, TriesAFailedSetAgainOnceAnotherHasWorked) {
  Driver driver;
  driver.want({{"a", "bad"}});
  driver.advance(200);
  driver.fail();
  driver.want({{"a", "good"}});
  driver.advance(200);
  driver.confirm();
  driver.want({{"a", "bad"}});
  driver.advance(200);
  EXPECT_EQ(driver.plans.size(), 3u);
}

TEST(ToolSync, AChangeDuringAFailingFlightFollows) {
  Driver driver;
  driver.want({{"a", "bad"}});
  driver.advance(200);
  driver.want({{"a", "good"}});
  driver.fail();
  driver.advance(200);
  ASSERT_EQ(driver.plans.size(), 2u);
  EXPECT_EQ(driver.plans[1].set, Names{"a"});
}

// shows: P-HOST-11
TEST(ToolSync, HoldsRemovalsForSixSecondsAfterARestart) {
  Driver driver(ToolSnapshot{{"a", "1"}, {"b", "1"}});
  driver.want({{"c", "1"}});
  driver.advance(200);
  ASSERT_EQ(driver.plans.size(), 1u);
  EXPECT_EQ(driver.plans[0].set, Names{"c"});
  EXPECT_TRUE(driver.plans[0].drop.empty());
  driver.confirm();
  driver.want({{"a", "1"}, {"c", "1"}});
  driver.advance(5'799);
  EXPECT_EQ(driver.plans.size(), 1u);
  driver.advance(1 + 200);
  ASSERT_EQ(driver.plans.size(), 2u);
  EXPECT_EQ(driver.plans[1].drop, Names{"b"});
  EXPECT_TRUE(driver.plans[1].set.empty());
}

TEST(ToolSync, AProviderBackWithinTheHoldCostsNothing) {
  Driver driver(ToolSnapshot{{"a", "1"}});
  driver.advance(5'000);
  driver.want({{"a", "1"}});
  driver.advance(3'600'000);
  EXPECT_TRUE(driver.plans.empty());
}

TEST(ToolSync, AProviderBackWithOtherToolsIsChanged) {
  Driver driver(ToolSnapshot{{"a", "1"}});
  driver.advance(1'000);
  driver.want({{"a", "2"}});
  driver.advance(200);
  ASSERT_EQ(driver.plans.size(), 1u);
  EXPECT_EQ(driver.plans[0].set, Names{"a"});
}

TEST(ToolSync, ASessionWithoutToolsNeedsNoHold) {
  Driver driver(ToolSnapshot{});
  EXPECT_FALSE(driver.sync.due());
}

TEST(ToolSync, ALostLinkForgetsWhatWasInFlight) {
  Driver driver;
  driver.want({{"a", "1"}});
  driver.advance(200);
  driver.sync.linkLost();
  EXPECT_FALSE(driver.sync.confirmed(driver.plans[0].revision, driver.now));
  driver.sync.sessionRegistered({}, SyncMode::Live, driver.now);
  const SyncPlan plan = driver.sync.firstPlan(false, driver.now);
  EXPECT_EQ(plan.set, Names{"a"});
  EXPECT_GT(plan.revision, driver.plans[0].revision);
}

TEST(ToolSync, AFailedSetIsTriedAgainByANewProcess) {
  Driver driver;
  driver.want({{"a", "1"}});
  driver.advance(200);
  driver.fail();
  driver.sync.linkLost();
  driver.sync.sessionRegistered({}, SyncMode::Live, driver.now);
  EXPECT_EQ(driver.sync.firstPlan(false, driver.now).set, Names{"a"});
}

TEST(ToolSync, ALiveSyncThatTurnsOutImpossibleIsDoneByReload) {
  Driver driver;
  driver.want({{"a", "1"}});
  driver.advance(200);
  EXPECT_FALSE(driver.plans[0].reload);
  driver.sync.setMode(SyncMode::Reload, driver.now);
  driver.advance(200);
  ASSERT_EQ(driver.plans.size(), 2u);
  EXPECT_TRUE(driver.plans[1].reload);
  EXPECT_EQ(driver.plans[1].set, Names{"a"});
}

TEST(ToolSync, TheSameModeAgainChangesNothing) {
  Driver driver;
  driver.want({{"a", "1"}});
  driver.advance(200);
  driver.sync.setMode(SyncMode::Live, driver.now);
  driver.advance(60'000);
  EXPECT_EQ(driver.plans.size(), 1u);
  driver.confirm();
}

}  // namespace
}  // namespace tap::gateway
