// Leaves whose result could not be landed: which checks run again before it lands, and late
// landings of canceled nodes.
#include <gtest/gtest.h>

#include <string>

#include "plan/inputs.h"
#include "plan/plan_rig.h"

namespace tap::plan {
namespace {

using Ids = std::vector<std::string>;

constexpr std::string_view kChecked = R"("work":"true","postchecks":"npm test")";
constexpr std::string_view kWaits =
    R"({"unlanded":{"message":"dirty"},"result":"r1","changes":{"files":1}})";

[[nodiscard]] std::string landingOn(const std::vector<std::string>& nodes) {
  return planText(nodes, R"("targetBranch":"main",)");
}

class Landing : public PlanRig {
 public:
  // Its phases succeed up to merge-ri, which ends with `detail`.
  void landAs(std::string_view node, std::string_view detail) {
    while (const auto one = of(node)) {
      began(*one);
      const bool isCommit = one->phase == Phase::Commit;
      const bool isLast = one->phase == Phase::MergeRi;
      finish(*one, Outcome::Succeeded, isLast ? detail : isCommit ? R"({"commit":"c"})" : "{}");
    }
  }
  std::string land(std::string_view result, bool follows) {
    Batch batch;
    const Refused refused = engine().land("p", result, follows, now, batch);
    take(batch);
    return refused ? std::string(text(refused->code)) + ": " + refused->message : "";
  }
  [[nodiscard]] Ids landing() { return nodeIds(plan().landing()); }
  [[nodiscard]] Ids leftToLand() { return nodeIds(plan().leftToLand()); }
  [[nodiscard]] std::optional<Phase> nodePhase(std::string_view node) {
    const auto one = of(node);
    return one ? std::optional<Phase>(one->phase) : std::nullopt;
  }

 private:
  [[nodiscard]] Ids nodeIds(const std::vector<NodeIndex>& nodes) {
    Ids ids;
    for (const NodeIndex index : nodes) ids.push_back(plan().node(index).spec.id);
    return ids;
  }
};

TEST(PlanLanding, ChecksThatDidNotRunAreSkippedAndWhatComesBehindThemRuns) {
  Landing rig;
  ASSERT_EQ(rig.create(landingOn({nodeText("a", {}, kChecked)})), "");
  while (rig.nodePhase("a") != Phase::Postchecks) rig.finish(*rig.of("a"));
  rig.finish(*rig.of("a"), Outcome::Skipped, R"({"conflict":["f"]})");
  EXPECT_EQ(rig.nodePhase("a"), Phase::MergeRi);
  const auto& phases = rig.node("a").attempts.back().phases;
  EXPECT_EQ(phases[static_cast<size_t>(Phase::Postchecks)].status, PhaseStatus::Skipped);
  rig.failDuring("a", Phase::MergeRi);
  EXPECT_EQ(rig.status(), "failed");
}

TEST(PlanLanding, WhatWasCheckedLandsAsItIsAndWhatTheTargetHasGotIsCheckedBefore) {
  Landing rig;
  ASSERT_EQ(rig.create(landingOn({nodeText("a", {}, kChecked)})), "");
  rig.landAs("a", kWaits);
  EXPECT_EQ(rig.leftToLand(), Ids{"a"});
  EXPECT_EQ(rig.land("r1", true), "");
  EXPECT_TRUE(rig.running.empty()) << "the caller may move the target";
  EXPECT_EQ(rig.status(), "partial");

  EXPECT_EQ(rig.land("r1", false), "");
  EXPECT_EQ(rig.nodePhase("a"), Phase::Postchecks);
  EXPECT_EQ(rig.status(), "running");
  EXPECT_EQ(rig.landing(), Ids{"a"});
  EXPECT_EQ(rig.plan().waitingChanges().files, 0);
  EXPECT_EQ(rig.land("r1", false), "") << "it is on its way";
  EXPECT_EQ(rig.running.size(), 1U);
  rig.landAs("a", R"({"landed":"r2","changes":{"files":1}})");
  EXPECT_EQ(rig.status(), "succeeded");
  EXPECT_EQ(rig.plan().landedChanges().files, 1);
  EXPECT_EQ(rig.land("r2", true), "WRONG_STATE: no node of the plan waits to land");
}

TEST(PlanLanding, AResultThatIsNotTheOneThatWasCheckedIsChecked) {
  Landing rig;
  ASSERT_EQ(rig.create(landingOn({nodeText("a", {}, kChecked)})), "");
  rig.landAs("a", kWaits);
  EXPECT_EQ(rig.land("r2", true), "");
  EXPECT_EQ(rig.nodePhase("a"), Phase::Postchecks);
}

TEST(PlanLanding, WhereNothingIsCheckedNothingRuns) {
  Landing rig;
  ASSERT_EQ(rig.create(landingOn({nodeText("a")})), "");
  rig.landAs("a", kWaits);
  EXPECT_EQ(rig.land("r1", true), "");
  EXPECT_TRUE(rig.running.empty());
  EXPECT_EQ(rig.land("r1", false), "");
  EXPECT_EQ(rig.nodePhase("a"), Phase::MergeRi)
      << "the target has lost the commit that the result was made on";
}

TEST(PlanLanding, AResultThatIsNotTheOneThatWaitsIsMadeAgain) {
  Landing rig;
  ASSERT_EQ(rig.create(landingOn({nodeText("a")})), "");
  rig.landAs("a", kWaits);
  EXPECT_EQ(rig.land("r9", true), "");
  EXPECT_EQ(rig.nodePhase("a"), Phase::MergeRi) << "the waiting leaf may not be in it";
}

TEST(PlanLanding, AllThatWaitIsCheckedOneAfterTheOtherAndWhatHasNoChecksLands) {
  Landing rig;
  ASSERT_EQ(rig.create(landingOn({nodeText("a", {}, kChecked), nodeText("b")})), "");
  rig.landAs("a", kWaits);
  rig.landAs("b", kWaits);
  EXPECT_EQ(rig.land("r1", false), "");
  EXPECT_EQ(rig.landing(), (Ids{"a", "b"}));
  ASSERT_EQ(rig.running.size(), 1U);
  EXPECT_EQ(rig.nodePhase("a"), Phase::Postchecks);
  rig.landAs("a", R"({"landed":"r2"})");
  EXPECT_EQ(rig.nodePhase("b"), Phase::MergeRi);
  EXPECT_FALSE(rig.plan().isUnlanded());
}

TEST(PlanLanding, ChecksThatFailAreTriedAgainByTheNextLand) {
  Landing rig;
  const std::string more = std::string(kChecked) + R"(,"retry":{"max":1,"from":"start"})";
  ASSERT_EQ(rig.create(landingOn({nodeText("a", {}, more)})), "");
  rig.landAs("a", kWaits);
  EXPECT_EQ(rig.land("r1", false), "");
  rig.failDuring("a", Phase::Postchecks);
  EXPECT_EQ(rig.nodePhase("a"), Phase::Postchecks) << "its work is not done again by itself";
  rig.failDuring("a", Phase::Postchecks);
  EXPECT_EQ(rig.status(), "failed");
  EXPECT_EQ(rig.leftToLand(), Ids{"a"});
  rig.crash();
  EXPECT_EQ(rig.land("", false), "");
  EXPECT_EQ(rig.nodePhase("a"), Phase::Postchecks);
  rig.landAs("a", R"({"landed":"r2"})");
  EXPECT_EQ(rig.status(), "succeeded");
}

TEST(PlanLanding, AnAgentWhoseSessionHasEndedIsNotGoneOnWith) {
  Landing rig;
  const std::string agent = R"("work":"@agent x","postchecks":"y")";
  ASSERT_EQ(rig.create(landingOn({nodeText("a", {}, agent)})), "");
  rig.landAs("a", kWaits);
  EXPECT_EQ(rig.land("r1", false), "");
  rig.failDuring("a", Phase::Postchecks);
  EXPECT_EQ(rig.retry("a"), "");
  EXPECT_EQ(rig.nodePhase("a"), Phase::Postchecks);
  rig.failDuring("a", Phase::Postchecks);
  EXPECT_EQ(rig.retry("a", true), "");
  EXPECT_EQ(rig.nodePhase("a"), Phase::MergeFi);
  EXPECT_TRUE(rig.landing().empty());
}

TEST(PlanLanding, OneThatIsCanceledOrCutOffIsBegunAgain) {
  Landing rig;
  ASSERT_EQ(rig.create(landingOn({nodeText("a", {}, kChecked)})), "");
  rig.landAs("a", kWaits);
  EXPECT_EQ(rig.land("r1", false), "");
  rig.crash();
  EXPECT_EQ(rig.nodePhase("a"), Phase::Postchecks);
  EXPECT_EQ(rig.cancel(), "");
  rig.finish(*rig.of("a"));
  EXPECT_EQ(rig.status(), "canceled");
  EXPECT_EQ(rig.leftToLand(), Ids{"a"});
  EXPECT_EQ(rig.land("r1", true), "");
  EXPECT_EQ(rig.nodePhase("a"), Phase::Postchecks);
  rig.landAs("a", R"({"landed":"r2"})");
  EXPECT_EQ(rig.status(), "succeeded");
}

TEST(PlanLanding, APausedPlanChecksNothing) {
  Landing rig;
  const auto nodes = {nodeText("a", {}, kChecked), nodeText("b", {}, kChecked)};
  ASSERT_EQ(rig.create(landingOn(nodes)), "");
  rig.landAs("a", kWaits);
  EXPECT_EQ(rig.pause(), "");
  EXPECT_EQ(rig.land("r1", true), "");
  EXPECT_EQ(rig.land("r1", false),
            "WRONG_STATE: the checks of the waiting nodes must run again, and the plan is paused: "
            "resume it "
            "first");
}

TEST(PlanLanding, WhatIsAddedBehindALeafThatWaitsLandsWithIt) {
  Landing rig;
  const auto nodes = {nodeText("a", {}, kChecked), nodeText("b", {}, kChecked)};
  ASSERT_EQ(rig.create(landingOn(nodes)), "");
  rig.landAs("a", kWaits);
  EXPECT_TRUE(rig.plan().isUnlanded());
  EXPECT_EQ(rig.add("[" + nodeText("c", {"a"}) + "]"), "");
  EXPECT_FALSE(rig.plan().isUnlanded());
  EXPECT_TRUE(rig.leftToLand().empty());
  rig.crash();
  EXPECT_FALSE(rig.plan().isUnlanded());
}

TEST(PlanLanding, ANodeThatWasCanceledTooLateHasLanded) {
  Landing rig;
  ASSERT_EQ(rig.create(landingOn({nodeText("a"), nodeText("b")})), "");
  while (rig.nodePhase("a") != Phase::MergeRi) {
    rig.began(*rig.of("a"));
    rig.finish(*rig.of("a"));
  }
  const auto late = [&rig](const std::string& node) {
    Batch batch;
    EXPECT_EQ(applyInput(rig.engine(),
                         R"({"input":"landed","planId":"p","nodeId":")" + node +
                             R"(","detail":{"landed":"r1","changes":{"files":2}}})",
                         rig.now, batch),
              "");
    rig.take(batch);
  };
  late("a");
  EXPECT_EQ(rig.status("a"), "running") << "it was not canceled";
  EXPECT_EQ(rig.cancel(), "");
  for (const char* node : {"a", "b"}) rig.finish(*rig.of(node));
  EXPECT_EQ(rig.status(), "canceled");
  late("a");
  late("b");
  EXPECT_EQ(rig.status("a"), "succeeded");
  EXPECT_EQ(rig.status("b"), "canceled") << "it was not about to land";
  EXPECT_EQ(rig.plan().landedChanges().files, 2);
  EXPECT_EQ(rig.status(), "canceled");
  rig.crash();
  EXPECT_EQ(rig.status("a"), "succeeded");
}

TEST(PlanLanding, WhatWaitsHasLandedWithACanceledNodeOnlyIfTheTargetHasIt) {
  for (const bool isOn : {false, true}) {
    Landing rig;
    ASSERT_EQ(rig.create(landingOn({nodeText("a"), nodeText("b")})), "");
    while (rig.nodePhase("a") != Phase::MergeRi) {
      rig.began(*rig.of("a"));
      rig.finish(*rig.of("a"));
    }
    EXPECT_EQ(rig.cancel(), "");
    for (const char* node : {"a", "b"}) rig.finish(*rig.of(node));
    EXPECT_EQ(rig.retry("b"), "");
    rig.landAs("b", kWaits);
    ASSERT_EQ(rig.leftToLand(), Ids{"b"});
    Batch batch;
    const std::string detail = isOn ? R"({"landed":"r0","result":"r1"})" : R"({"landed":"r0"})";
    EXPECT_EQ(applyInput(rig.engine(),
                         R"({"input":"landed","planId":"p","nodeId":"a","detail":)" + detail + "}",
                         rig.now, batch),
              "");
    rig.take(batch);
    EXPECT_EQ(rig.status("a"), "succeeded");
    EXPECT_EQ(rig.leftToLand(), isOn ? Ids{} : Ids{"b"});
    rig.crash();
    EXPECT_EQ(rig.leftToLand(), isOn ? Ids{} : Ids{"b"});
  }
}

TEST(PlanLanding, WhatLandsAgainAndIsCanceledTooLateHasLanded) {
  Landing rig;
  ASSERT_EQ(rig.create(landingOn({nodeText("a", {}, kChecked)})), "");
  rig.landAs("a", kWaits);
  ASSERT_EQ(rig.land("r1", false), "");
  rig.finish(*rig.of("a"));
  ASSERT_EQ(rig.nodePhase("a"), Phase::MergeRi);
  ASSERT_EQ(rig.cancelNode("a"), "");
  EXPECT_EQ(rig.node("a").landing, LandingState::Again);
  rig.input(R"({"input":"landed","planId":"p","nodeId":"a","detail":{"landed":"r2"}})");
  EXPECT_EQ(rig.status("a"), "succeeded");
  EXPECT_EQ(rig.node("a").landing, LandingState::Landed);
  EXPECT_FALSE(rig.plan().hasInvalidLanding());
}

TEST(PlanLanding, WhatLandsAgainOnlyLandsAlsoWithADependentThatCameMeanwhile) {
  Landing rig;
  ASSERT_EQ(rig.create(landingOn({nodeText("a", {}, kChecked), nodeText("b", {}, kChecked)})), "");
  rig.landAs("a", kWaits);
  rig.landAs("b", kWaits);
  ASSERT_EQ(rig.land("r1", false), "");
  ASSERT_EQ(rig.add("[" + nodeText("c", {"b"}) + "]"), "");
  rig.landAs("a", R"({"landed":"r2"})");
  ASSERT_EQ(rig.nodePhase("b"), Phase::Postchecks);
  rig.failDuring("b", Phase::Postchecks);
  EXPECT_TRUE(rig.node("b").isRelanding());
  EXPECT_EQ(rig.retry("b"), "");
  EXPECT_EQ(rig.nodePhase("b"), Phase::Postchecks);
}

TEST(PlanLanding, WhatLandsWhileItGetsADependentHasLanded) {
  Landing rig;
  ASSERT_EQ(rig.create(landingOn({nodeText("a")})), "");
  while (rig.nodePhase("a") != Phase::MergeRi) rig.finish(*rig.of("a"));
  ASSERT_EQ(rig.add("[" + nodeText("c", {"a"}) + "]"), "");
  rig.finish(*rig.of("a"), Outcome::Succeeded, R"({"landed":"r1"})");
  EXPECT_EQ(rig.node("a").landing, LandingState::Landed);
}

}  // namespace
}  // namespace tap::plan
