#include "plan/engine.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/plan_rig.h"

namespace tap::plan {
namespace {

using Strings = std::vector<std::string>;

std::string agentNode(std::string_view id, const Strings& dependencies = {},
                      std::string_view more = "") {
  return nodeText(id, dependencies, R"("work":"@agent do it")" + std::string(more));
}

TEST(PlanEngine, ANodeGoesThroughItsPhasesInOrder) {
  PlanRig rig;
  ASSERT_EQ(
      rig.create(planText({nodeText("a", {}, R"("prechecks":"x","work":"y","postchecks":"z")")},
                          R"("targetBranch":"main",)")),
      "");
  Strings phases;
  while (const auto one = rig.of("a")) {
    phases.emplace_back(text(one->phase));
    EXPECT_EQ(rig.status("a"), phases.size() == 1 ? "scheduled" : "running");
    rig.began(*one);
    EXPECT_EQ(rig.status("a"), "running");
    rig.finish(*one);
  }
  EXPECT_EQ(phases, (Strings{"merge-fi", "prechecks", "work", "commit", "postchecks", "merge-ri"}));
  EXPECT_EQ(rig.status("a"), "succeeded");
  EXPECT_EQ(rig.status(), "succeeded");
  EXPECT_EQ(rig.cleaned, Strings{"a"});
  EXPECT_EQ(rig.notices, (Strings{"started", "ended"}));
}

TEST(PlanEngine, ANodeWithoutATargetOrChecksHasNoSuchPhases) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a")})), "");
  Strings phases;
  while (const auto one = rig.of("a")) {
    phases.emplace_back(text(one->phase));
    rig.finish(*one);
  }
  EXPECT_EQ(phases, (Strings{"merge-fi", "work", "commit"}));
}

TEST(PlanEngine, DependentsStartWhenAllTheyWaitForHasSucceeded) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a"), nodeText("b"), nodeText("c", {"a", "b"})})), "");
  EXPECT_EQ(rig.status("c"), "pending");
  rig.succeed("a");
  EXPECT_EQ(rig.status("c"), "pending");
  rig.succeed("b");
  EXPECT_EQ(rig.status("c"), "scheduled");
}

TEST(PlanEngine, AFailureBlocksOnlyWhatDependsOnIt) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText(
                {nodeText("a"), nodeText("b", {"a"}), nodeText("c", {"b"}), nodeText("d")})),
            "");
  rig.failDuring("a", Phase::Work);
  EXPECT_EQ(rig.status("a"), "failed");
  EXPECT_EQ(rig.status("b"), "blocked");
  EXPECT_EQ(rig.status("c"), "blocked");
  EXPECT_EQ(rig.status("d"), "scheduled");
  rig.succeed("d");
  EXPECT_EQ(rig.status(), "partial");
  EXPECT_EQ(rig.notices, (Strings{"started", "failed a", "ended"}));
}

TEST(PlanEngine, AStartThatFailsFailsTheNode) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a")})), "");
  rig.finish(*rig.of("a"), Outcome::Failed, R"({"error":{"message":"no room"}})");
  EXPECT_EQ(rig.status("a"), "failed");
  EXPECT_EQ(rig.status(), "failed");
  EXPECT_NE(nodesJson(rig.plan(), {}).find(R"("error":"no room")"), std::string::npos);
}

TEST(PlanEngine, ARetryGoesOnFromTheFailedPhaseAndUnblocksWhatItBlocked) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a", {}, R"("work":"x","postchecks":"y")"), nodeText("b"),
                                 nodeText("c", {"a"}), nodeText("d", {"a", "b"})})),
            "");
  rig.failDuring("b", Phase::Work);
  rig.failDuring("a", Phase::Postchecks);
  EXPECT_EQ(rig.status(), "failed");
  EXPECT_EQ(rig.retry("c").substr(0, 11), "WRONG_STATE");
  EXPECT_EQ(rig.retry("a", false, R"({"instructions":"again"})"), "");
  EXPECT_EQ(rig.status(), "running");
  EXPECT_EQ(rig.status("c"), "pending");
  EXPECT_EQ(rig.status("d"), "blocked") << "b still holds it back";
  ASSERT_TRUE(rig.of("a"));
  EXPECT_EQ(rig.of("a")->phase, Phase::Postchecks);
  EXPECT_EQ(rig.of("a")->attempt, 2U);
  const Attempt& second = rig.node("a").attempts.back();
  EXPECT_EQ(second.phases[static_cast<size_t>(Phase::Work)].status, PhaseStatus::Skipped);
  rig.succeed("a");
  rig.succeed("c");
  EXPECT_EQ(rig.status(), "partial");
}

TEST(PlanEngine, ARetryFromTheStartDoesAllOfItAgain) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a")})), "");
  rig.failDuring("a", Phase::Commit);
  EXPECT_EQ(rig.retry("a", true), "");
  EXPECT_EQ(rig.of("a")->phase, Phase::MergeFi);
}

TEST(PlanEngine, AnAgentWhoseChecksFailGoesOnWithItsWork) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({agentNode("a", {}, R"(,"postchecks":"t","retry":{"max":1})")})),
            "");
  rig.failDuring("a", Phase::Postchecks);
  ASSERT_TRUE(rig.of("a")) << "it is tried again by itself";
  EXPECT_EQ(rig.of("a")->phase, Phase::Work);
  EXPECT_EQ(rig.of("a")->attempt, 2U);
  EXPECT_EQ(rig.notices, Strings{"started"});
  rig.failDuring("a", Phase::Postchecks);
  EXPECT_EQ(rig.status("a"), "failed") << "once";
}

TEST(PlanEngine, WhatUnlocksTheMostStartsFirst) {
  PlanRig rig;
  ASSERT_EQ(
      rig.create(planText({nodeText("short"), nodeText("long"), nodeText("l2", {"long"}),
                           nodeText("l3", {"l2"}), nodeText("wide"), nodeText("w1", {"wide"}),
                           nodeText("w2", {"wide"}), nodeText("thin"), nodeText("t1", {"thin"})},
                          R"("maxParallel":1,)")),
      "");
  Strings order;
  while (!rig.running.empty()) {
    order.push_back(rig.running.front().node);
    rig.succeed(order.back());
  }
  EXPECT_EQ(order, (Strings{"long", "wide", "l2", "thin", "short", "l3", "w1", "w2", "t1"}));
}

TEST(PlanEngine, KeepsTheLimitsOfThePlanTheHostAndTheAgents) {
  PlanRig rig({.maxWorkers = 5, .maxAgents = 2});
  ASSERT_EQ(rig.create(planText({nodeText("a"), nodeText("b"), nodeText("c"), nodeText("d")},
                                R"("maxParallel":3,)")),
            "");
  EXPECT_EQ(rig.running.size(), 3U);
  ASSERT_EQ(
      rig.create(planText({agentNode("e"), agentNode("f"), agentNode("g"), nodeText("h")}), "q"),
      "");
  EXPECT_EQ(rig.running.size(), 5U);
  EXPECT_EQ(rig.engine().workers(), 5U);
  EXPECT_EQ(rig.engine().agents(), 2U);
}

TEST(PlanEngine, AnAgentBeyondTheFirstNeedsFreeMemory) {
  PlanRig rig;
  rig.now.freeMemory = 1000;
  ASSERT_EQ(rig.create(planText({agentNode("a"), agentNode("b"), nodeText("c")})), "");
  EXPECT_EQ(rig.running.size(), 2U) << "a and c";
  ASSERT_TRUE(rig.engine().wakeAt());
  rig.now = {*rig.engine().wakeAt(), uint64_t{2} << 30};
  rig.due();
  EXPECT_TRUE(rig.of("b"));
}

TEST(PlanEngine, AJoinTakesNoPlace) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a"), nodeText("b"), nodeText("j", {"a"}, "")},
                                R"("maxParallel":1,)")),
            "");
  rig.succeed("a");
  EXPECT_TRUE(rig.of("j"));
  EXPECT_TRUE(rig.of("b"));
}

TEST(PlanEngine, OneNodeAtATimeChecksAndLands) {
  PlanRig rig;
  const std::string checked = R"("work":"x","postchecks":"y")";
  ASSERT_EQ(rig.create(planText({nodeText("a", {}, checked), nodeText("b", {}, checked)},
                                R"("targetBranch":"main",)")),
            "");
  for (const char* id : {"a", "b"}) {
    while (rig.of(id) && rig.of(id)->phase != Phase::Postchecks) rig.finish(*rig.of(id));
  }
  ASSERT_TRUE(rig.of("a"));
  EXPECT_FALSE(rig.of("b")) << "it waits";
  EXPECT_EQ(rig.status("b"), "running");
  rig.finish(*rig.of("a"));
  EXPECT_FALSE(rig.of("b")) << "a is about to land";
  rig.finish(*rig.of("a"));
  ASSERT_TRUE(rig.of("b"));
  EXPECT_EQ(rig.of("b")->phase, Phase::Postchecks);
  EXPECT_FALSE(rig.isSynced);
  rig.finish(*rig.of("b"));
  EXPECT_TRUE(rig.isSynced) << "before a target moves";
  rig.succeed("b");
  EXPECT_EQ(rig.status(), "succeeded");
}

TEST(PlanEngine, AStaleLandingIsCheckedAgainAndNotForEver) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a", {}, R"("work":"x","postchecks":"y")")},
                                R"("targetBranch":"main",)")),
            "");
  size_t checks = 0;
  while (const auto one = rig.of("a")) {
    checks += one->phase == Phase::Postchecks ? 1 : 0;
    rig.finish(*one, one->phase == Phase::MergeRi ? Outcome::Stale : Outcome::Succeeded);
  }
  EXPECT_EQ(checks, 1 + Engine::kMaxStale);
  EXPECT_EQ(rig.status("a"), "failed");
}

TEST(PlanEngine, ALimitOfTheModelIsAPauseNotAFailure) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({agentNode("a")})), "");
  rig.finish(*rig.of("a"));
  rig.began(*rig.of("a"));
  rig.now.unixMillis = 1000;
  rig.finish(*rig.of("a"), Outcome::Interrupted, "{}", 61'000);
  EXPECT_EQ(rig.status("a"), "ready");
  EXPECT_EQ(rig.engine().wakeAt(), 61'000);
  EXPECT_EQ(rig.notices.back(), "waiting a");
  rig.due();
  EXPECT_TRUE(rig.running.empty());
  rig.crash();
  EXPECT_TRUE(rig.running.empty()) << "the timer is in the journal";
  rig.now.unixMillis = 61'000;
  rig.due();
  ASSERT_TRUE(rig.of("a"));
  EXPECT_EQ(rig.of("a")->phase, Phase::Work);
  EXPECT_EQ(rig.of("a")->attempt, 1U);
}

TEST(PlanEngine, CancelStopsWhatRunsAndEndsWhenItHasEnded) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a"), nodeText("b", {"a"})})), "");
  rig.began(*rig.of("a"));
  EXPECT_EQ(rig.cancel(), "");
  EXPECT_EQ(rig.status("a"), "canceled");
  EXPECT_EQ(rig.status("b"), "canceled");
  EXPECT_EQ(rig.engine().workers(), 1U) << "it still ends";
  EXPECT_FALSE(rig.plan().ended());
  EXPECT_TRUE(rig.of("a")->isStopped);
  rig.finish(*rig.of("a"));
  EXPECT_EQ(rig.engine().workers(), 0U);
  EXPECT_EQ(rig.status(), "canceled");
  EXPECT_EQ(rig.cancel().substr(0, 11), "WRONG_STATE");
}

TEST(PlanEngine, ACanceledNodeThatIsRetriedWaitsForItsOldProcess) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a"), nodeText("b", {"a"}), nodeText("c")})), "");
  rig.finish(*rig.of("a"));
  rig.began(*rig.of("a"));
  EXPECT_EQ(rig.cancelNode("a"), "");
  EXPECT_EQ(rig.status("b"), "blocked");
  EXPECT_EQ(rig.retry("a"), "");
  EXPECT_EQ(rig.status("a"), "ready");
  EXPECT_EQ(rig.status("b"), "pending");
  rig.finish(*rig.of("a"));
  ASSERT_TRUE(rig.of("a"));
  EXPECT_EQ(rig.of("a")->attempt, 2U);
  EXPECT_EQ(rig.of("a")->phase, Phase::Work);
}

TEST(PlanEngine, APausedPlanStartsNothingNew) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a"), nodeText("b", {"a"})}, R"("startPaused":true,)")),
            "");
  EXPECT_EQ(rig.status(), "paused");
  EXPECT_TRUE(rig.running.empty());
  EXPECT_EQ(rig.resume(), "");
  EXPECT_TRUE(rig.of("a"));
  EXPECT_EQ(rig.pause(), "");
  rig.succeed("a");
  EXPECT_EQ(rig.status("b"), "ready");
  EXPECT_TRUE(rig.running.empty());
  EXPECT_EQ(rig.resume(), "");
  EXPECT_TRUE(rig.of("b"));
}

TEST(PlanEngine, ASpentBudgetPausesAndALargerOneGoesOn) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({agentNode("a"), agentNode("b", {"a"}), agentNode("c", {"b"})},
                                R"("budget":{"aiCredits":10},)")),
            "");
  const auto work = [&rig](const char* id, const char* credits) {
    rig.finish(*rig.of(id));
    rig.finish(*rig.of(id), Outcome::Succeeded,
               R"({"usage":{"aiCredits":)" + std::string(credits) + "}}");
    rig.succeed(id);
  };
  work("a", "8.5");
  EXPECT_EQ(rig.notices, (Strings{"started", "budget-near"}));
  work("b", "2");
  EXPECT_EQ(rig.notices.back(), "budget-spent");
  EXPECT_EQ(rig.status(), "paused");
  EXPECT_FALSE(rig.of("c"));
  const std::string spent =
      "a budget of 10 AI credits is spent: resume it with a larger budget, as in ";
  EXPECT_EQ(rig.resume(), "WRONG_STATE: " + spent + R"({"budget": {"aiCredits": 21}})");
  EXPECT_EQ(rig.resume(R"({"tokens":20})"),
            "WRONG_STATE: " + spent + R"({"budget": {"aiCredits": 21}})");
  EXPECT_EQ(rig.resume(R"({"aiCredits":"20"})"),
            "BAD_INPUT: budget.aiCredits: expected a number, got a text");
  EXPECT_EQ(rig.resume(R"({"aiCredits":20})"), "");
  EXPECT_TRUE(rig.of("c"));
}

TEST(PlanEngine, AnAgentWaitsWhereWhatIsSetAsideMaySpendTheRest) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({agentNode("a"), agentNode("b"), agentNode("c")},
                                R"("budget":{"tokens":90},)")),
            "");
  EXPECT_EQ(rig.running.size(), 3U) << "a third each";
  rig.finish(*rig.of("a"));
  rig.finish(*rig.of("a"), Outcome::Succeeded,
             R"({"usage":{"models":[{"model":"m","input":40,"output":5}]}})");
  rig.succeed("a");
  EXPECT_EQ(rig.plan().usage().tokens(), 45);
  EXPECT_EQ(rig.plan().reserved().tokens, 60);
}

TEST(PlanEngine, NodesCanBeAddedWhileItRuns) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a"), nodeText("b", {"a"})})), "");
  EXPECT_EQ(rig.add("[" + nodeText("c", {"b"}) + "," + nodeText("d") + "]"), "");
  EXPECT_EQ(rig.status("c"), "pending");
  EXPECT_EQ(rig.status("d"), "scheduled");
  rig.failDuring("a", Phase::Work);
  EXPECT_EQ(rig.add("[" + nodeText("e", {"c", "d"}) + "]"), "");
  EXPECT_EQ(rig.status("e"), "blocked");
  rig.succeed("d");
  EXPECT_EQ(rig.status(), "partial");
  EXPECT_NE(rig.add("[" + nodeText("f") + "]"), "") << "it has ended";
}

TEST(PlanEngine, WhatCouldNotBeLandedMakesThePlanPartialUntilItIs) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a")}, R"("targetBranch":"main",)")), "");
  while (const auto one = rig.of("a")) {
    rig.finish(*one, Outcome::Succeeded,
               one->phase == Phase::MergeRi ? R"({"unlanded":{"message":"dirty"}})" : "{}");
  }
  EXPECT_EQ(rig.status("a"), "succeeded");
  EXPECT_EQ(rig.status(), "partial");
  Batch batch;
  EXPECT_FALSE(rig.engine().landed("p", "{}", rig.now, batch));
  rig.take(batch);
  EXPECT_EQ(rig.status(), "succeeded");
  rig.crash();
  EXPECT_EQ(rig.status(), "succeeded");
}

TEST(PlanEngine, WhatWaitsCountsAsLandedOnceALaterLeafHasLanded) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a"), nodeText("b")}, R"("targetBranch":"main",)")), "");
  const auto land = [&rig](std::string_view node, std::string_view detail) {
    while (const auto one = rig.of(node)) {
      rig.finish(*one, Outcome::Succeeded, one->phase == Phase::MergeRi ? detail : "{}");
    }
  };
  land("a", R"({"unlanded":{"message":"dirty"},"changes":{"files":1}})");
  const Plan& plan = rig.plan();
  EXPECT_EQ(plan.landedChanges().files, 0);
  EXPECT_EQ(plan.waitingChanges().files, 1);
  land("b", R"({"landed":"c","changes":{"files":2}})");
  EXPECT_EQ(plan.landedChanges().files, 3);
  EXPECT_EQ(plan.waitingChanges().files, 0);
  EXPECT_EQ(rig.status(), "succeeded");
}

TEST(PlanEngine, ACommitIsProbedAgainstThoseThatNothingHasTakenUp) {
  PlanRig rig;
  ASSERT_EQ(
      rig.create(planText({nodeText("a"), nodeText("b"), nodeText("c"), nodeText("d", {"a"})})),
      "");
  rig.succeed("a");
  rig.succeed("b");
  rig.succeed("c");
  EXPECT_EQ(rig.probes, (Strings{"c: b"})) << "d has begun with a";
}

TEST(PlanEngine, AfterACrashWhatRanGoesOnFromItsPhase) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a"), nodeText("b", {"a"})})), "");
  rig.finish(*rig.of("a"));
  rig.began(*rig.of("a"));
  Batch batch;
  rig.engine().step("p", "a", 1, R"({"worktree":"/w"})", rig.now, batch);
  rig.take(batch);
  rig.crash();
  ASSERT_TRUE(rig.of("a"));
  EXPECT_EQ(rig.of("a")->phase, Phase::Work);
  EXPECT_EQ(rig.of("a")->attempt, 1U);
  EXPECT_EQ(rig.node("a").attempts.back().steps, Strings{R"({"worktree":"/w"})"});
  EXPECT_EQ(rig.node("a").attempts.back().interruptions, 1U);
  const auto& phases = rig.node("a").attempts.back().phases;
  EXPECT_EQ(phases[static_cast<size_t>(Phase::Work)].interruptions, 1U);
  EXPECT_EQ(phases[static_cast<size_t>(Phase::MergeFi)].interruptions, 0U);
  rig.succeed("a");
  rig.succeed("b");
  EXPECT_EQ(rig.status(), "succeeded");
}

TEST(PlanEngine, ATornJournalIsGoneOnWith) {
  PlanRig whole;
  ASSERT_EQ(whole.create(planText({nodeText("a"), nodeText("b", {"a"})})), "");
  whole.succeed("a");
  whole.failDuring("b", Phase::Work);
  const Strings lines = whole.journal["p"];
  for (size_t cut = 1; cut <= lines.size(); ++cut) {
    Engine engine({});
    const std::vector<std::string_view> views(lines.begin(),
                                              lines.begin() + static_cast<ptrdiff_t>(cut));
    ASSERT_EQ(engine.replay("p", views, {}), std::nullopt) << cut;
    Batch batch;
    engine.recover({}, batch);
    const Plan& plan = *engine.find("p");
    EXPECT_TRUE(plan.ended() || engine.workers() > 0) << cut;
  }
}

TEST(PlanEngine, ADamagedJournalIsRefusedWithTheEntry) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a")})), "");
  Strings lines = rig.journal["p"];
  const std::vector<std::pair<std::string, std::string>> damages{
      {"{", "entry 3: not JSON"},
      {R"({"kind":"began","node":"x","at":1})", "entry 3: there is no node x"},
      {R"({"kind":"node-succeeded","node":"a","at":1})",
       "entry 3: node a cannot go from scheduled to succeeded"},
      {R"({"kind":"scheduled","node":"a","at":1,"attempt":9,"phase":"work"})",
       "entry 3: an attempt with the wrong number"},
      {R"({"kind":"phase-ended","node":"a","at":1,"phase":"commit","status":"succeeded"})",
       "entry 3: the end of a phase that is not running"},
      {R"({"kind":"plan-ended","plan":"failed","at":1})", "entry 3: the plan has not ended"},
      {R"({"kind":"moved","at":1})", "entry 3: not a value of kind"},
  };
  for (const auto& [line, reason] : damages) {
    Engine engine({});
    std::vector<std::string_view> views(lines.begin(), lines.end());
    views.emplace_back(line);
    const auto problem = engine.replay("p", views, {});
    ASSERT_TRUE(problem) << line;
    EXPECT_EQ(problem->substr(0, reason.size()), reason);
    EXPECT_EQ(engine.find("p"), nullptr);
  }
}

TEST(PlanEngine, LateWordsOfAnEarlierAttemptChangeNothing) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a")})), "");
  const auto first = *rig.of("a");
  rig.finish(first, Outcome::Failed);
  EXPECT_EQ(rig.retry("a"), "");
  const size_t entries = rig.journal["p"].size();
  rig.finish(first);
  rig.began(first);
  EXPECT_EQ(rig.journal["p"].size(), entries);
  EXPECT_EQ(rig.status("a"), "scheduled");
}

TEST(PlanEngine, ForgetsAPlanOnceItHasEnded) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a")})), "");
  EXPECT_TRUE(rig.engine().forget("p"));
  rig.succeed("a");
  EXPECT_FALSE(rig.engine().forget("p"));
  EXPECT_EQ(rig.engine().find("p"), nullptr);
}

}  // namespace
}  // namespace tap::plan
