#include "plan/view.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/plan_rig.h"

namespace tap::plan {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Records a fact of the running phase.
void record(PlanRig& rig, std::string_view node, std::string_view fact) {
  const std::string attempt = std::to_string(rig.node(node).attempts.size());
  EXPECT_EQ(rig.input(R"({"input":"step","planId":"p","nodeId":")" + std::string(node) +
                      R"(","attempt":)" + attempt + R"(,"detail":)" + std::string(fact) + "}"),
            "");
}

TEST(PlanView, NodesThatFailedOrRunComeFirst) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a"), nodeText("b", {"a"}), nodeText("c"), nodeText("d")},
                                R"("maxParallel":2,)")),
            "");
  rig.failDuring("c", Phase::Work);
  const std::string first = nodesJson(rig.plan(), {.most = 2});
  EXPECT_TRUE(has(first, R"({"nodes":[{"id":"c","name":"c","status":"failed","phase":"work")"));
  EXPECT_TRUE(has(first, R"("error":"exit code 1")"));
  EXPECT_TRUE(has(first, R"("places":[2,0],"rest":4,"total":4)"));
  EXPECT_EQ(nodesJson(rig.plan(), {.status = NodeStatus::Canceled}),
            R"({"nodes":[],"places":[],"rest":0,"total":0})");
}

TEST(PlanView, ANodeHasWhatItMayReachAndWhatItsPlanSays) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a", {}, R"("work":"x","sandbox":"off")")},
                                R"("allowedUrls":["example.com"],)")),
            "");
  const std::string seen = nodeJson(rig.plan(), 0, false);
  EXPECT_TRUE(has(seen, R"("sandbox":"off")"));
  EXPECT_TRUE(has(seen, R"("ofPlan":{"allowedUrls":["example.com"]})"));
}

TEST(PlanView, ANodeThatRunsWithoutASandboxIsShownAsSuch) {
  PlanRig rig;
  const std::string on = nodeText("b", {}, R"("work":"x","sandbox":"on")");
  ASSERT_EQ(rig.create(planText({nodeText("a"), on}, R"("sandbox":"off",)")), "");
  const auto isUnsandboxed = [&rig](NodeIndex node) {
    const bool isInNode = has(nodeJson(rig.plan(), node, false), R"("sandboxed":false)");
    const std::string list = nodesJson(rig.plan(), {.inOrder = true, .from = node, .most = 1});
    EXPECT_EQ(has(list, R"("sandboxed":false)"), isInNode);
    return isInNode;
  };
  EXPECT_TRUE(isUnsandboxed(0));
  EXPECT_FALSE(isUnsandboxed(1));
  record(rig, "a", R"({"policy":{"sandbox":"on"}})");
  record(rig, "b", R"({"policy":{"sandbox":"off"}})");
  EXPECT_FALSE(isUnsandboxed(0)) << "the recorded policy counts";
  EXPECT_TRUE(isUnsandboxed(1));

  Problems problems;
  const auto plan = Plan::make(planText({on}), R"({"unsandboxed":true})", 0, problems);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(has(nodeJson(*plan, 0, false), R"("sandboxed":false)"))
      << "the machine has no sandbox either";
}

TEST(PlanView, RefusalsOfAllAttemptsAreCountedOnce) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a")})), "");
  record(rig, "a", R"({"refusals":{"attempt":1,"count":2,"last":[]}})");
  record(rig, "a", R"({"refusals":{"attempt":1,"count":3,"last":[]}})");
  rig.failDuring("a", Phase::Work);
  EXPECT_TRUE(has(nodeJson(rig.plan(), 0, false), R"("refusals":3)"));
  ASSERT_EQ(rig.retry("a"), "");
  EXPECT_EQ(rig.node("a").attempts.size(), 2U);
  EXPECT_TRUE(has(nodeJson(rig.plan(), 0, false), R"("refusals":3)")) << "the retry has no more";
  record(rig, "a", R"({"refusals":{"attempt":2,"count":1,"last":[]}})");
  rig.crash();
  EXPECT_TRUE(has(nodesJson(rig.plan(), {}), R"("refusals":4)"));
  for (const char* odd : {"7", R"({"count":"x","attempt":2})", R"({"count":-1,"attempt":2})"}) {
    record(rig, "a", R"({"refusals":)" + std::string(odd) + "}");
    EXPECT_TRUE(has(nodesJson(rig.plan(), {}), R"("refusals":3)")) << odd;
  }
}

TEST(PlanView, TheLastNoteOfANodeStaysWithIt) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a")})), "");
  EXPECT_FALSE(has(nodesJson(rig.plan(), {}), R"("note")"));
  rig.began(*rig.of("a"));
  rig.finish(*rig.of("a"), Outcome::Succeeded, R"({"note":"x"})");
  rig.failDuring("a", Phase::Work);
  ASSERT_EQ(rig.retry("a"), "");
  EXPECT_TRUE(has(nodesJson(rig.plan(), {}), R"("note":"x")"));
}

TEST(PlanView, NodesInOrderKeepTheirPlacesWhateverBecomesOfThem) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a"), nodeText("b"), nodeText("c"), nodeText("d")})), "");
  EXPECT_TRUE(has(nodesJson(rig.plan(), {.inOrder = true, .most = 2}),
                  R"("places":[0,1],"rest":4,"total":4)"));
  rig.failDuring("d", Phase::Work);
  rig.succeed("a");
  EXPECT_TRUE(has(nodesJson(rig.plan(), {.inOrder = true, .from = 2}),
                  R"("places":[2,3],"rest":2,"total":4)"));
  EXPECT_TRUE(
      has(nodesJson(rig.plan(), {.status = NodeStatus::Scheduled, .inOrder = true, .from = 2}),
          R"("places":[2],"rest":1,"total":2)"));
  EXPECT_TRUE(has(nodesJson(rig.plan(), {.inOrder = true, .from = 9}),
                  R"({"nodes":[],"places":[],"rest":0,"total":4})"));
}

TEST(PlanView, AGroupHasTheStatusOfItsDirectChildren) {
  PlanRig rig;
  const auto in = [](std::string_view group) {
    return R"("work":"x","group":")" + std::string(group) + "\"";
  };
  ASSERT_EQ(rig.create(planText({nodeText("a", {}, in("p/front")), nodeText("b", {}, in("p/back")),
                                 nodeText("c", {"a"}, in("p")), nodeText("d", {}, in("q"))})),
            "");
  EXPECT_EQ(groupsJson(rig.plan()),
            R"({"groups":[{"group":"p","status":"running","counts":{"pending":1,"scheduled":2}},)"
            R"({"group":"p/back","status":"running","counts":{"scheduled":1}},)"
            R"({"group":"p/front","status":"running","counts":{"scheduled":1}},)"
            R"({"group":"q","status":"running","counts":{"scheduled":1}}]})");
  rig.succeed("b");
  rig.succeed("d");
  rig.failDuring("a", Phase::Work);
  EXPECT_EQ(
      groupsJson(rig.plan()),
      R"({"groups":[{"group":"p","status":"failed","counts":{"succeeded":1,"failed":1,"blocked":1}},)"
      R"({"group":"p/back","status":"succeeded","counts":{"succeeded":1}},)"
      R"({"group":"p/front","status":"failed","counts":{"failed":1}},)"
      R"({"group":"q","status":"succeeded","counts":{"succeeded":1}}]})");
}

TEST(PlanView, APlanThatIsCanceledSaysSoUntilWhatRanHasStopped) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a")})), "");
  rig.began(*rig.of("a"));
  EXPECT_FALSE(has(planJson("p", rig.plan()), "canceling"));
  EXPECT_EQ(rig.cancel(), "");
  EXPECT_TRUE(has(planJson("p", rig.plan()), R"("status":"running","counts":{"canceled":1},)"
                                             R"("canceling":true)"));
  rig.finish(*rig.of("a"));
  EXPECT_FALSE(has(planJson("p", rig.plan()), "canceling"));
}

TEST(PlanView, ARunIsToldAllThatItNeeds) {
  PlanRig rig;
  Problems problems;
  Batch batch;
  ASSERT_FALSE(rig.engine().create(
      "p", planText({nodeText("a", {}, R"("work":"@agent x")")}, R"("targetBranch":"main",)"), "{}",
      {.unixMillis = 5}, problems, batch));
  ASSERT_EQ(batch.effects.size(), 1U);
  const std::string run = effectJson(rig.engine(), batch.effects[0]);
  EXPECT_EQ(run,
            R"({"effect":"run","planId":"p","phase":"merge-fi","first":true,"lands":true,)"
            R"("timeoutMs":3600000,"from":"merge-fi","commits":[],)"
            R"("current":{"attempt":1,"status":"scheduled","scheduledAt":5,"phases":[)"
            R"({"phase":"merge-fi","status":"running","startedAt":5}],"steps":[]},)"
            R"("node":{"id":"a","name":"a","status":"scheduled","phase":"merge-fi","attempt":1,)"
            R"("dependencies":[],"dependents":[],"work":{"type":"agent","instructions":"x"},)"
            R"("changes":{"files":0,"insertions":0,"deletions":0},)"
            R"("usage":{"aiCredits":0,"premiumRequests":0,"apiMs":0,"sessionMs":0,"models":[]}}})");
}

TEST(PlanView, ARunIsToldTheLastOfEachFactHoweverManyThereAre) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a")})), "");
  rig.began(*rig.of("a"));
  Batch batch;
  for (int i = 0; i < 200; ++i) {
    rig.engine().step("p", "a", 1, R"({"worktree":"/w","cut":true})", rig.now, batch);
    rig.engine().step("p", "a", 1, R"({"cut":)" + std::to_string(i) + "}", rig.now, batch);
  }
  rig.take(batch);
  EXPECT_EQ(rig.node("a").attempts.back().steps,
            (std::vector<std::string>{R"({"worktree":"/w","cut":true})", R"({"cut":199})"}));
}

TEST(PlanView, UsageAddsUpByModel) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a", {}, R"("work":"@agent x")")})), "");
  rig.finish(*rig.of("a"));
  for (int i = 0; i < 2; ++i) {
    rig.finish(*rig.of("a"), i == 0 ? Outcome::Interrupted : Outcome::Succeeded,
               R"({"usage":{"aiCredits":1.25,"apiMs":10,"models":[)"
               R"({"model":"m","input":7,"output":2,"cached":5},{"model":5}]}})");
  }
  // The usage of an interrupted run is in its entry.
  EXPECT_TRUE(has(planJson("p", rig.plan()),
                  R"("usage":{"aiCredits":2.5,"premiumRequests":0,"apiMs":20,"sessionMs":0,)"
                  R"("models":[{"model":"m","input":14,"output":4,"cached":10}]})"));
}

TEST(PlanView, ANodeHasItsOwnOverlaps) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a"), nodeText("b"), nodeText("c")})), "");
  Batch batch;
  rig.engine().overlap("p", "a", R"({"node":"a","other":"b","files":["x"]})", rig.now, batch);
  const auto of = [&rig](NodeIndex node) { return nodeJson(rig.plan(), node, false); };
  const std::string overlaps = R"("overlaps":[{"node":"a","other":"b","files":["x"]}])";
  EXPECT_TRUE(has(of(0), overlaps));
  EXPECT_TRUE(has(of(1), overlaps));
  EXPECT_FALSE(has(of(2), "overlaps"));
  EXPECT_TRUE(has(planJson("p", rig.plan()), overlaps));
}

TEST(PlanView, TheAdviceForASpentBudgetIsByWhatWasSpent) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a", {}, R"("work":"@agent x")"),
                                 nodeText("b", {"a"}, R"("work":"@agent x")")},
                                R"("budget":{"aiCredits":10,"tokens":50},)")),
            "");
  rig.finish(*rig.of("a"));
  rig.finish(*rig.of("a"), Outcome::Succeeded,
             R"({"usage":{"aiCredits":2,"models":[{"model":"m","input":40,"output":20}]}})");
  rig.succeed("a");
  EXPECT_EQ(rig.status(), "paused");
  EXPECT_NE(planJson("p", rig.plan()).find(R"("pausedFor":"budget","spent":["tokens"])"),
            std::string::npos);
  for (const char* budget : {"", R"({"aiCredits":100})", R"({"tokens":60})"}) {
    EXPECT_NE(rig.resume(budget).find(R"(as in {"budget": {"tokens": 120}})"), std::string::npos)
        << budget;
  }
  EXPECT_EQ(rig.resume(R"({"tokens":61})"), "");
  EXPECT_TRUE(rig.of("b"));
}

TEST(PlanUsage, HostileFiguresAreBoundedAndNotNegative) {
  const auto read = [](std::string_view text) { return readUsage({json::Kind::Object, text}); };
  EXPECT_FALSE(read(R"({"aiCredits":-5,"apiMs":"x","models":{}})").any());
  Usage sum;
  for (int i = 0; i < 100; ++i) {
    sum.add(read(R"({"aiCredits":1e300,"models":[{"model":"m)" + std::to_string(i) +
                 R"(","input":9e15}]})"));
  }
  EXPECT_LE(sum.models.size(), Usage::kMaxModels);
  EXPECT_EQ(sum.aiCredits, 1e12);
  EXPECT_GT(sum.tokens(), 0);
  EXPECT_EQ(decimal(0.1 + 0.2), "0.3");
}

}  // namespace
}  // namespace tap::plan
