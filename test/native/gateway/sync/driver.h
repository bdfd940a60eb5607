// Drives a ToolSync in the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "gateway/sync/tool_sync.h"
#include "gateway/tool_changes.h"

namespace tap::gateway {

// Drives a ToolSync through time, and remembers the plans.
class Driver {
 public:
  explicit Driver(ToolSnapshot have = {}, protocol::SyncMode mode = protocol::SyncMode::Live,
                  bool joined = true) {
    sync.sessionRegistered(std::move(have), mode, now);
    first = sync.firstPlan(joined, now);
    sync.confirmed(first.revision, now);
  }

  void want(const ToolSnapshot& wanted) {
    sync.wantedChanged(changes(sync.wantedSet(), wanted), now);
  }
  // Lets time pass; plans are left in flight.
  void advance(int64_t millis) {
    const Time target = now + Millis(millis);
    while (sync.due() && *sync.due() <= target) {
      now = std::max(now, *sync.due());
      const auto plan = sync.takePlan(now);
      if (plan) plans.push_back(*plan);
      ASSERT_TRUE(plan || !sync.due() || *sync.due() > now) << "it would spin";
    }
    now = target;
  }
  void confirm() { EXPECT_TRUE(sync.confirmed(plans.back().revision, now)); }
  void fail() { EXPECT_TRUE(sync.failed(plans.back().revision, now)); }

  Limits limits;
  ToolSync sync{limits};
  Time now{Millis(10'000)};
  SyncPlan first;
  std::vector<SyncPlan> plans;
};

}  // namespace tap::gateway
