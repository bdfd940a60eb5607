// Interrupted phases: how often a phase may be interrupted, and which interruptions do not count.
#include <gtest/gtest.h>

#include <cstdint>

#include "plan/engine.h"
#include "plan/plan_rig.h"

namespace tap::plan {
namespace {

TEST(PlanEngine, InterruptionsInARowFailTheNodeInTheEnd) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a", {}, R"("work":"@agent do it")")})), "");
  size_t starts = 0;
  while (const auto one = rig.of("a")) {
    ++starts;
    ASSERT_LT(starts, 50U);
    rig.finish(*one, one->phase == Phase::Work ? Outcome::Interrupted : Outcome::Succeeded,
               R"({"error":{"code":"SERVER_LOST","message":"the server ended"}})");
  }
  EXPECT_EQ(rig.status("a"), "failed");
}

TEST(PlanEngine, InterruptionsOfAnEarlierPhaseDoNotCount) {
  PlanRig rig;
  ASSERT_EQ(
      rig.create(planText({nodeText("a", {}, R"("prechecks":"x","work":"y","postchecks":"z")")})),
      "");
  Phase phase = Phase::MergeFi;
  uint32_t left = 3;
  while (const auto one = rig.of("a")) {
    if (one->phase != phase) left = 3;
    phase = one->phase;
    const bool isLast = left == 0;
    if (!isLast) --left;
    rig.finish(*one, isLast ? Outcome::Succeeded : Outcome::Interrupted);
  }
  EXPECT_EQ(rig.status("a"), "succeeded");
}

}  // namespace
}  // namespace tap::plan
