// Changes of a plan that has begun: edits and replacements of nodes, and worktrees that are
// committed as they are.
#include <gtest/gtest.h>

#include <string>

#include "plan/plan_rig.h"

namespace tap::plan {
namespace {

constexpr std::string_view kCheckedWork = R"("work":"true","postchecks":"npm test")";

[[nodiscard]] std::string codeOf(std::string_view refused) {
  const auto code =
      refused.empty() ? std::nullopt : json::find({json::Kind::Object, refused}, "code");
  return code ? json::decodeString(*code) : "";
}
[[nodiscard]] std::string landingPlan(const std::vector<std::string>& nodes) {
  return planText(nodes, R"("targetBranch":"main",)");
}

class Edits : public PlanRig {
 public:
  // Returns: the code of the refusal, or empty.
  std::string editCode(std::string_view node, std::string_view changes) {
    return codeOf(edit(node, changes));
  }
  std::string addCode(const std::vector<std::string>& nodes, std::string_view more = "") {
    std::string list;
    for (const std::string& node : nodes) list += (list.empty() ? "" : ",") + node;
    const std::string rest = R"("planId":"p","nodes":[)" + list + "]" + std::string(more) + "}";
    const std::string checked = codeOf(input(R"({"input":"check-nodes",)" + rest));
    const std::string added = codeOf(input(R"({"input":"add",)" + rest));
    EXPECT_EQ(checked, added);
    return added;
  }
  std::string replaceCode(std::string_view old, const std::string& node) {
    return addCode({node}, R"(,"reopens":true,"replaces":")" + std::string(old) + "\"");
  }
  [[nodiscard]] std::optional<Phase> phaseOf(std::string_view node) const {
    const auto one = of(node);
    return one ? std::optional<Phase>(one->phase) : std::nullopt;
  }
  [[nodiscard]] std::string view(std::string_view node) {
    return nodeJson(plan(), *plan().find(node), false);
  }
};

TEST(PlanEdit, IsPossibleWhereNothingRunsOrHasSucceeded) {
  Edits rig;
  ASSERT_EQ(rig.create(planText({nodeText("runs"), nodeText("waits", {"runs"}), nodeText("ok"),
                                 nodeText("bad"), nodeText("behind", {"bad"}), nodeText("gone")})),
            "");
  rig.succeed("ok");
  rig.failDuring("bad", Phase::Work);
  ASSERT_EQ(rig.cancelNode("gone"), "");
  ASSERT_EQ(rig.pause(), "");
  const std::string changes = R"({"timeout":60})";
  EXPECT_EQ(rig.status("runs"), "scheduled");
  EXPECT_EQ(rig.editCode("runs", changes), "WRONG_STATE");
  EXPECT_EQ(rig.editCode("ok", changes), "WRONG_STATE");
  for (const char* node : {"waits", "bad", "behind", "gone"}) {
    EXPECT_EQ(rig.editCode(node, changes), "") << node << rig.status(node);
    EXPECT_EQ(rig.node(node).spec.timeout, Millis(60'000));
  }
  EXPECT_EQ(rig.editCode("x", changes), "UNKNOWN_NODE");
  rig.crash();
  EXPECT_EQ(rig.editCode("runs", changes), "") << "interrupted, it is " << rig.status("runs");
}

TEST(PlanEdit, HasItsMistakesNamed) {
  Edits rig;
  ASSERT_EQ(rig.create(planText({nodeText("a"), nodeText("b", {"a"}), nodeText("c", {"b"})},
                                R"("startPaused":true,)")),
            "");
  EXPECT_EQ(rig.editCode("a", "{}"), "BAD_INPUT");
  EXPECT_EQ(codeOf(rig.input(R"({"input":"edit","planId":"p","nodeId":"a"})")), "BAD_INPUT");
  const std::string before = PlanRig::describeState(rig.engine(), "p");
  const std::vector<std::pair<std::string_view, std::string_view>> cases{
      {R"({"wrok":"true"})", "wrok"},
      {R"({"id":"x"})", "id"},
      {R"({"work":7})", "work"},
      {R"({"work":{"type":"shell"}})", "work.command"},
      {R"({"postchecks":{"type":"x"}})", "postchecks.type"},
      {R"({"timeout":"1x"})", "timeout"},
      {R"({"sandbox":"none"})", "sandbox"},
      {R"({"allowedUrls":["a:1"]})", "allowedUrls[0]"},
      {R"({"dependencies":"a"})", "dependencies"},
      {R"({"dependencies":["a"]})", "dependencies[0]"},
      {R"({"dependencies":["nope"]})", "dependencies[0]"},
      {R"({"dependencies":["c"]})", "dependencies[0]"},
  };
  for (const auto& [changes, path] : cases) {
    const std::string refused = rig.edit("a", changes);
    EXPECT_EQ(codeOf(refused), "INVALID_PLAN") << changes;
    EXPECT_NE(refused.find(R"("path":")" + std::string(path) + "\""), std::string::npos) << refused;
  }
  EXPECT_EQ(rig.editCode("c", R"({"dependencies":["a","a"]})"), "INVALID_PLAN");
  EXPECT_EQ(PlanRig::describeState(rig.engine(), "p"), before);
}

TEST(PlanEdit, WhatANodeMayReachIsChangedTakenAwayAndShownBesideWhatWas) {
  Edits rig;
  const std::string node = nodeText("a", {}, std::string(kCheckedWork) + R"(,"caches":["npm"])");
  ASSERT_EQ(rig.create(planText({node})), "");
  rig.failDuring("a", Phase::Postchecks);
  EXPECT_EQ(rig.editCode("a", R"({"allowedUrls":["example.com"],"caches":null})"), "");
  const std::string seen = rig.view("a");
  EXPECT_NE(seen.find(R"("allowedUrls":["example.com"],"changes")"), std::string::npos) << seen;
  EXPECT_NE(seen.find(R"("before":{"allowedUrls":null,"caches":["npm"]})"), std::string::npos);
  EXPECT_NE(graphJson(rig.plan()).find(R"("allowedUrls":["example.com"])"), std::string::npos);
  ASSERT_EQ(rig.retry("a"), "");
  EXPECT_EQ(rig.phaseOf("a"), Phase::Postchecks) << "the finished phases stay";
  rig.crash();
  EXPECT_EQ(rig.node("a").spec.sandbox, (SandboxSpec{"", "", "", R"(["example.com"])", ""}));
}

TEST(PlanEdit, OtherWorkBeginsFromTheStartAndIsShownBesideWhatWas) {
  Edits rig;
  ASSERT_EQ(rig.create(planText({nodeText("a", {}, kCheckedWork), nodeText("b", {"a"})})), "");
  rig.failDuring("a", Phase::Postchecks);
  EXPECT_EQ(rig.status(), "failed");
  EXPECT_EQ(rig.editCode("a", R"({"work":"@agent mend it","prechecks":"true"})"), "");
  EXPECT_EQ(rig.status(), "failed");
  EXPECT_TRUE(rig.running.empty()) << "an edit starts no process";
  const std::string seen = rig.view("a");
  EXPECT_NE(seen.find(R"("edited":[{"at":1000,"changes":{"work":"@agent mend it")"),
            std::string::npos);
  EXPECT_NE(seen.find(R"("before":{"prechecks":null,"work":{"type":"shell","command":"true"}})"),
            std::string::npos)
      << seen;
  rig.crash();
  EXPECT_EQ(rig.retry("a", RetryFrom::Commit).substr(0, 11), "WRONG_STATE");
  EXPECT_EQ(rig.retry("a"), "");
  EXPECT_EQ(rig.phaseOf("a"), Phase::MergeFi);
  rig.succeed("a");
  rig.succeed("b");
  EXPECT_EQ(rig.status(), "succeeded");
  rig.crash();
}

TEST(PlanEdit, OtherChecksCheckAgainAndATimeoutVoidsNothing) {
  Edits rig;
  ASSERT_EQ(rig.create(landingPlan({nodeText("a", {}, kCheckedWork)})), "");
  rig.failDuring("a", Phase::MergeRi);
  EXPECT_EQ(rig.editCode("a", R"({"timeout":"2m"})"), "");
  EXPECT_EQ(rig.retry("a"), "");
  EXPECT_EQ(rig.phaseOf("a"), Phase::MergeRi);
  rig.failDuring("a", Phase::MergeRi);
  EXPECT_EQ(rig.editCode("a", R"({"postchecks":"npm test all"})"), "");
  EXPECT_EQ(rig.retry("a"), "");
  EXPECT_EQ(rig.phaseOf("a"), Phase::Postchecks);
  EXPECT_TRUE(rig.node("a").attempts.back().phases[5].detail.empty());
  rig.failDuring("a", Phase::MergeRi);
  EXPECT_EQ(rig.retry("a"), "");
  EXPECT_EQ(rig.phaseOf("a"), Phase::MergeRi) << "an edit counts for the next retry only";
}

TEST(PlanEdit, ChecksThatAreTakenAwayLeaveWhatWasCommitted) {
  Edits rig;
  ASSERT_EQ(rig.create(planText({nodeText("a", {}, kCheckedWork), nodeText("b", {"a"})})), "");
  rig.failDuring("a", Phase::Postchecks);
  EXPECT_EQ(rig.editCode("a", R"({"postchecks":null})"), "");
  EXPECT_EQ(rig.retry("a"), "");
  EXPECT_EQ(rig.phaseOf("a"), Phase::Commit);
  rig.succeed("a");
  EXPECT_EQ(rig.status("b"), "scheduled");
}

TEST(PlanEdit, WhatWasInterruptedBeginsAgainWithOtherWork) {
  Edits rig;
  ASSERT_EQ(rig.create(landingPlan({nodeText("a", {}, kCheckedWork)})), "");
  rig.began(*rig.of("a"));
  rig.finish(*rig.of("a"));
  ASSERT_EQ(rig.pause(), "");
  rig.crash();
  EXPECT_EQ(rig.editCode("a", R"({"work":"other"})"), "");
  EXPECT_EQ(rig.resume(), "");
  EXPECT_EQ(rig.phaseOf("a"), Phase::MergeFi);
  EXPECT_EQ(rig.node("a").attempts.size(), 2U);
  EXPECT_EQ(rig.node("a").attempts.front().status, NodeStatus::Canceled);

  while (rig.phaseOf("a") != Phase::MergeRi) rig.finish(*rig.of("a"));
  ASSERT_EQ(rig.pause(), "");
  rig.crash();
  EXPECT_EQ(rig.editCode("a", R"({"postchecks":"others"})"), "");
  EXPECT_EQ(rig.resume(), "");
  EXPECT_EQ(rig.phaseOf("a"), Phase::Postchecks);
  EXPECT_EQ(rig.node("a").attempts.size(), 2U);
}

TEST(PlanEdit, OfAResultThatWaitsBeginsItsWorkAgain) {
  Edits rig;
  ASSERT_EQ(rig.create(landingPlan({nodeText("a", {}, kCheckedWork)})), "");
  while (rig.phaseOf("a") != Phase::MergeRi) rig.finish(*rig.of("a"));
  rig.finish(*rig.of("a"), Outcome::Succeeded, R"({"unlanded":{"message":"x"},"result":"r"})");
  EXPECT_EQ(codeOf(rig.input(R"({"input":"land","planId":"p","result":"s"})")), "");
  rig.failDuring("a", Phase::Postchecks);
  EXPECT_EQ(rig.plan().leftToLand().size(), 1U);
  EXPECT_EQ(rig.retry("a", RetryFrom::Commit).substr(0, 11), "WRONG_STATE");
  EXPECT_EQ(rig.editCode("a", R"({"work":"other"})"), "");
  EXPECT_TRUE(rig.plan().leftToLand().empty());
  rig.crash();
  EXPECT_EQ(rig.retry("a"), "");
  EXPECT_EQ(rig.phaseOf("a"), Phase::MergeFi);
}

TEST(PlanReplace, OfAResultThatDoesNotLandTakesItsPlace) {
  for (const bool hasFailed : {true, false}) {
    Edits rig;
    ASSERT_EQ(rig.create(landingPlan({nodeText("a", {}, kCheckedWork)})), "");
    while (rig.phaseOf("a") != Phase::MergeRi) rig.finish(*rig.of("a"));
    rig.finish(*rig.of("a"), Outcome::Succeeded, R"({"unlanded":{"message":"x"},"result":"r"})");
    EXPECT_EQ(rig.replaceCode("a", nodeText("n")), "WRONG_STATE") << "it waits, and may land";
    EXPECT_EQ(codeOf(rig.input(R"({"input":"land","planId":"p","result":"s"})")), "");
    if (hasFailed) {
      rig.failDuring("a", Phase::Postchecks);
      EXPECT_EQ(rig.plan().leftToLand().size(), 1U);
    } else {
      ASSERT_EQ(rig.pause(), "");
      rig.crash();
    }
    EXPECT_EQ(rig.replaceCode("a", nodeText("n")), "");
    EXPECT_TRUE(rig.plan().leftToLand().empty());
    if (!hasFailed) {
      EXPECT_EQ(rig.resume(), "");
    }
    rig.crash();
    rig.succeed("n");
    EXPECT_EQ(rig.status(), "succeeded");
    EXPECT_FALSE(rig.plan().hasInvalidLanding());
  }
}

TEST(PlanEdit, OfDependenciesDecidesWhatMayBegin) {
  Edits rig;
  ASSERT_EQ(rig.create(planText({nodeText("bad"), nodeText("slow"), nodeText("a", {"bad"}),
                                 nodeText("b", {"a"}), nodeText("c", {"slow"})})),
            "");
  rig.failDuring("bad", Phase::Work);
  EXPECT_EQ(rig.status("b"), "blocked");
  EXPECT_EQ(rig.editCode("a", R"({"dependencies":["slow"]})"), "");
  EXPECT_EQ(rig.status("a"), "pending");
  EXPECT_EQ(rig.status("b"), "pending");
  EXPECT_EQ(rig.editCode("c", R"({"dependencies":["bad"]})"), "");
  EXPECT_EQ(rig.status("c"), "blocked");
  EXPECT_EQ(rig.editCode("a", R"({"dependencies":null})"), "");
  EXPECT_EQ(rig.status("a"), "scheduled");
  EXPECT_EQ(rig.editCode("slow", R"({"dependencies":["b"]})"), "WRONG_STATE");
  rig.succeed("slow");
  rig.crash();
  rig.succeed("a");
  rig.succeed("b");
  EXPECT_EQ(rig.status(), "partial");
}

TEST(PlanEdit, OfAnEndedPlanReopensNothingAndARetryGoesOnWithIt) {
  Edits rig;
  ASSERT_EQ(rig.create(planText({nodeText("bad"), nodeText("ok"), nodeText("a", {"bad", "ok"})})),
            "");
  rig.failDuring("bad", Phase::Work);
  rig.succeed("ok");
  ASSERT_EQ(rig.status(), "partial");
  EXPECT_EQ(rig.editCode("a", R"({"dependencies":["ok"]})"), "");
  EXPECT_EQ(rig.status(), "partial");
  EXPECT_EQ(rig.status("a"), "blocked");
  EXPECT_TRUE(rig.running.empty());
  rig.crash();
  EXPECT_EQ(rig.retry("a"), "");
  rig.succeed("a");
  EXPECT_EQ(rig.status(), "partial");

  EXPECT_EQ(rig.editCode("bad", R"({"work":"true"})"), "");
  EXPECT_EQ(rig.retry("bad"), "");
  rig.succeed("bad");
  EXPECT_EQ(rig.status(), "succeeded");
}

TEST(PlanEdit, WhatAPlanGoesOnWithTakesNodesThatWaitForNothingAlong) {
  Edits rig;
  ASSERT_EQ(rig.create(planText({nodeText("bad"), nodeText("a", {"bad"})})), "");
  rig.failDuring("bad", Phase::Work);
  EXPECT_EQ(rig.editCode("a", R"({"dependencies":[]})"), "");
  EXPECT_EQ(rig.retry("bad"), "");
  EXPECT_EQ(rig.status("a"), "scheduled");
  rig.crash();
}

TEST(PlanEdit, KeepsNoResultFromItsTarget) {
  Edits rig;
  ASSERT_EQ(rig.create(landingPlan({nodeText("a"), nodeText("b", {"a"}), nodeText("other")})), "");
  rig.succeed("a");
  rig.failDuring("b", Phase::Work);
  EXPECT_EQ(rig.editCode("b", R"({"dependencies":["other"]})"), "WRONG_STATE");
  EXPECT_EQ(rig.editCode("b", R"({"dependencies":["a","other"]})"), "");
  EXPECT_EQ(rig.replaceCode("b", nodeText("n", {"other"})), "WRONG_STATE");
  EXPECT_EQ(rig.replaceCode("b", nodeText("n", {"a"})), "");
}

TEST(PlanEdit, OnlyTheLastOnesAreKept) {
  Edits rig;
  ASSERT_EQ(rig.create(planText({nodeText("a")}, R"("startPaused":true,)")), "");
  for (size_t i = 0; i < Plan::kMaxEdits + 3; ++i) {
    ASSERT_EQ(rig.editCode("a", R"({"timeout":)" + std::to_string(i + 1) + "}"), "");
  }
  EXPECT_EQ(rig.node("a").edits.size(), Plan::kMaxEdits);
  EXPECT_EQ(rig.node("a").edits.front().find(R"({"at":1000,"changes":{"timeout":4})"), 0U);
  rig.crash();
}

TEST(PlanAdd, OnlyWhatReopensAddsToAPlanThatHasEnded) {
  Edits rig;
  ASSERT_EQ(rig.create(planText({nodeText("a")})), "");
  ASSERT_EQ(rig.cancel(), "");
  for (const auto& one : std::vector(rig.running)) rig.finish(one);
  ASSERT_EQ(rig.status(), "canceled");
  EXPECT_EQ(rig.addCode({nodeText("b")}), "WRONG_STATE");
  EXPECT_EQ(rig.addCode({nodeText("b"), nodeText("c", {"a"})}, R"(,"reopens":true)"), "");
  EXPECT_EQ(rig.status("b"), "scheduled");
  EXPECT_EQ(rig.status("c"), "blocked");
  rig.crash();
  rig.succeed("b");
  EXPECT_EQ(rig.status(), "partial");
  EXPECT_EQ(rig.addCode({nodeText("d", {"a"})}, R"(,"reopens":true)"), "");
  EXPECT_EQ(rig.status(), "partial") << "no node can run, so the plan ends again";
}

TEST(PlanReplace, WhatWasBehindGoesOnAndThePlanSucceeds) {
  Edits rig;
  ASSERT_EQ(
      rig.create(landingPlan({nodeText("a"), nodeText("bad", {"a"}, R"("work":"x","group":"g")"),
                              nodeText("b", {"bad"}), nodeText("c", {"bad", "a"})})),
      "");
  rig.succeed("a");
  rig.failDuring("bad", Phase::Work);
  ASSERT_EQ(rig.status(), "partial");
  EXPECT_EQ(rig.replaceCode("bad", nodeText("good")), "");
  EXPECT_NE(rig.view("good").find(R"("dependencies":["a"],"dependents":["b","c"])"),
            std::string::npos)
      << rig.view("good");
  EXPECT_NE(rig.view("bad").find(R"("replacedBy":"good")"), std::string::npos);
  EXPECT_EQ(rig.status("bad"), "failed");
  EXPECT_EQ(rig.status("b"), "pending");
  EXPECT_FALSE(rig.plan().lands(*rig.plan().find("bad")));
  EXPECT_EQ(rig.retry("bad").substr(0, 11), "WRONG_STATE");
  EXPECT_EQ(rig.editCode("bad", R"({"work":"x"})"), "WRONG_STATE");
  EXPECT_EQ(rig.replaceCode("bad", nodeText("other")), "WRONG_STATE");
  EXPECT_EQ(rig.addCode({nodeText("other", {"bad"})}), "INVALID_PLAN");
  EXPECT_EQ(rig.editCode("b", R"({"dependencies":["bad"]})"), "INVALID_PLAN");
  rig.crash();
  for (const char* node : {"good", "b", "c"}) rig.succeed(node);
  EXPECT_EQ(rig.status(), "succeeded");
  EXPECT_NE(planJson("p", rig.plan()).find(R"("counts":{"succeeded":4},"replaced":1)"),
            std::string::npos);
  EXPECT_NE(groupsJson(rig.plan()).find(R"({"group":"g","status":"canceled","counts":{}})"),
            std::string::npos);
  rig.crash();
}

TEST(PlanReplace, WhatHasNotBegunIsCanceledAndAReplacementCanBeReplaced) {
  Edits rig;
  ASSERT_EQ(rig.create(planText({nodeText("a"), nodeText("b", {"a"}), nodeText("c", {"b"})})), "");
  EXPECT_EQ(rig.replaceCode("a", nodeText("x")), "WRONG_STATE") << "it runs";
  EXPECT_EQ(rig.replaceCode("b", nodeText("b2")), "");
  EXPECT_EQ(rig.status("b"), "canceled");
  EXPECT_EQ(rig.status("b2"), "pending");
  EXPECT_EQ(rig.status("c"), "pending");
  rig.failDuring("a", Phase::Work);
  EXPECT_EQ(rig.status(), "failed");
  EXPECT_EQ(rig.replaceCode("b2", nodeText("b3", {}, R"("work":"y")")), "");
  EXPECT_EQ(rig.status(), "failed") << "it waits for a, which failed";
  EXPECT_EQ(rig.replaceCode("b3", nodeText("b4", {"a"})), "");
  EXPECT_EQ(rig.replaceCode("a", nodeText("a2")), "");
  rig.crash();
  for (const char* node : {"a2", "b4", "c"}) rig.succeed(node);
  EXPECT_EQ(rig.status(), "succeeded");
  rig.crash();
}

TEST(PlanReplace, HasItsMistakesNamed) {
  Edits rig;
  ASSERT_EQ(rig.create(planText({nodeText("a"), nodeText("b", {"a"}), nodeText("ok")})), "");
  rig.failDuring("a", Phase::Work);
  rig.succeed("ok");
  const std::string before = PlanRig::describeState(rig.engine(), "p");
  EXPECT_EQ(rig.replaceCode("ok", nodeText("n")), "WRONG_STATE");
  EXPECT_EQ(rig.replaceCode("x", nodeText("n")), "UNKNOWN_NODE");
  EXPECT_EQ(rig.replaceCode("a", nodeText("n", {"a"})), "INVALID_PLAN");
  EXPECT_EQ(rig.replaceCode("a", nodeText("n", {"b"})), "INVALID_PLAN");
  const std::string both = nodeText("n", {"a", "b"});
  const std::string refused =
      rig.input(R"({"input":"check-nodes","planId":"p","reopens":true,"replaces":"a","nodes":[)" +
                both + "]}");
  EXPECT_EQ(refused.find(R"("path")"), refused.rfind(R"("path")"))
      << "a single mistake: " << refused;
  EXPECT_NE(refused.find(R"("path":"nodes[0].dependencies")"), std::string::npos);
  EXPECT_EQ(rig.replaceCode("a", nodeText("ok")), "INVALID_PLAN");
  EXPECT_EQ(rig.addCode({nodeText("n"), nodeText("m")}, R"(,"reopens":true,"replaces":"a")"),
            "BAD_INPUT");
  EXPECT_EQ(rig.addCode({nodeText("n")}, R"(,"replaces":"a")"), "WRONG_STATE");
  EXPECT_EQ(PlanRig::describeState(rig.engine(), "p"), before);
}

TEST(PlanTake, WhatIsInTheWorktreeOfAFailedNodeIsItsWork) {
  Edits rig;
  ASSERT_EQ(rig.create(planText({nodeText("a", {}, R"("work":"@agent x","postchecks":"y")"),
                                 nodeText("b", {"a"}), nodeText("gone"), nodeText("join", {})})),
            "");
  EXPECT_EQ(rig.retry("b", RetryFrom::Commit).substr(0, 11), "WRONG_STATE");
  ASSERT_EQ(rig.cancelNode("gone"), "");
  EXPECT_EQ(rig.retry("gone", RetryFrom::Commit).substr(0, 11), "WRONG_STATE");
  rig.failDuring("a", Phase::Work);
  EXPECT_EQ(codeOf(rig.input(R"({"input":"retry","planId":"p","nodeId":"a","from":"commit"})")),
            "");
  EXPECT_EQ(rig.phaseOf("a"), Phase::Commit);
  const PhaseRecord& work = rig.node("a").attempts.back().phases[static_cast<size_t>(Phase::Work)];
  EXPECT_EQ(work.status, PhaseStatus::Skipped);
  EXPECT_TRUE(work.detail.empty());
  rig.failDuring("a", Phase::Postchecks);
  EXPECT_EQ(rig.editCode("a", R"({"postchecks":"z"})"), "");
  EXPECT_EQ(rig.retry("a", RetryFrom::Commit), "");
  EXPECT_EQ(rig.phaseOf("a"), Phase::Commit);
  rig.crash();
  rig.succeed("a");
  EXPECT_EQ(rig.status("b"), "scheduled");
}

TEST(PlanTake, ANodeWithoutWorkHasNothingToTake) {
  Edits rig;
  ASSERT_EQ(rig.create(planText({nodeText("a", {}, R"("postchecks":"x")")})), "");
  rig.failDuring("a", Phase::Postchecks);
  EXPECT_EQ(rig.retry("a", RetryFrom::Commit).substr(0, 11), "WRONG_STATE");
  EXPECT_EQ(codeOf(rig.input(R"({"input":"retry","planId":"p","nodeId":"a","from":"x"})")),
            "BAD_INPUT");
}

}  // namespace
}  // namespace tap::plan
