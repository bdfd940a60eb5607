// Plans that ran on a different machine: their journals are not trusted.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/inputs.h"
#include "plan/plan_rig.h"

namespace tap::plan {
namespace {

// The journal's entries after Created, as a list.
std::string joinList(const std::vector<std::string>& lines) {
  std::string out = "[";
  for (size_t i = 1; i < lines.size(); ++i) out += (i > 1 ? "," : "") + lines[i];
  return out + "]";
}

struct Imported {
  std::string refusal;
  Batch batch;
};

Imported import(Engine& engine, const std::string& plan, const std::string& entries,
                int64_t now = 5000) {
  Imported out;
  out.refusal =
      applyInput(engine,
                 R"({"input":"import","planId":"p","facts":{"repo":"/r"},"until":1000,"plan":)" +
                     plan + R"(,"entries":)" + entries + "}",
                 {.unixMillis = now}, out.batch);
  return out;
}

// The import is in the journal: a replay gives the same state.
void expectReplays(const Engine& engine, const Batch& batch) {
  std::vector<std::string_view> lines;
  for (const Batch::Line& line : batch.entries) lines.push_back(line.text);
  Engine other({});
  ASSERT_EQ(other.replay("p", lines, {.unixMillis = 5000}).value_or(""), "");
  EXPECT_EQ(PlanRig::firstDifference(PlanRig::describeState(other, "p"),
                                     PlanRig::describeState(engine, "p")),
            "");
}

const std::string& planOfThree() {
  static const std::string text = planText(
      {nodeText("a"), nodeText("b", {"a"}), nodeText("c", {"b"})}, R"("targetBranch":"main",)");
  return text;
}

TEST(PlanImport, OneThatEndedIsAsItWas) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planOfThree()), "");
  rig.succeed("a");
  rig.failDuring("b", Phase::Work);
  Engine engine({});
  const Imported made = import(engine, planOfThree(), joinList(rig.journal["p"]));
  ASSERT_EQ(made.refusal, "");
  EXPECT_TRUE(made.batch.effects.empty());
  EXPECT_EQ(PlanRig::firstDifference(PlanRig::describeState(engine, "p"),
                                     PlanRig::describeState(rig.engine(), "p")),
            "");
  expectReplays(engine, made.batch);
}

TEST(PlanImport, OneThatHadNotEndedIsPausedAndWhatRanBeginsAgain) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planOfThree()), "");
  rig.succeed("a");
  rig.began(*rig.of("b"));
  Engine engine({});
  const Imported made = import(engine, planOfThree(), joinList(rig.journal["p"]));
  ASSERT_EQ(made.refusal, "");
  EXPECT_TRUE(made.batch.effects.empty());
  const Plan& plan = *engine.find("p");
  EXPECT_EQ(plan.status(), PlanStatus::Paused);
  EXPECT_EQ(plan.pause(), "imported");
  EXPECT_EQ(plan.createdAt(), 1000);
  EXPECT_EQ(plan.node(0).status, NodeStatus::Succeeded);
  EXPECT_EQ(plan.node(1).status, NodeStatus::Ready);
  EXPECT_EQ(plan.node(2).status, NodeStatus::Pending);
  expectReplays(engine, made.batch);
  Batch batch;
  ASSERT_FALSE(engine.resume("p", "", {.unixMillis = 6000}, batch));
  ASSERT_EQ(batch.effects.size(), 1U);
  const auto& run = std::get<RunPhase>(batch.effects[0]);
  EXPECT_EQ(run.node, 1U);
  EXPECT_EQ(run.phase, Phase::MergeFi);
}

std::string planThatWaits(PlanRig& rig) {
  const std::string checked = R"("work":"true","postchecks":"y")";
  const std::string text = planText({nodeText("a", {}, checked), nodeText("b", {}, checked)},
                                    R"("targetBranch":"main",)");
  EXPECT_EQ(rig.create(text), "");
  while (const auto one = rig.of("a")) {
    rig.began(*one);
    rig.finish(*one, Outcome::Succeeded, R"({"commit":"c","unlanded":{"message":"dirty"}})");
  }
  return text;
}

TEST(PlanImport, WhatWaitsInOneThatHadNotEndedIsCheckedOnceItIsResumed) {
  PlanRig rig;
  const std::string text = planThatWaits(rig);
  Engine engine({});
  const Imported made = import(engine, text, joinList(rig.journal["p"]));
  ASSERT_EQ(made.refusal, "");
  EXPECT_FALSE(engine.find("p")->isUnlanded());
  expectReplays(engine, made.batch);
  Batch batch;
  ASSERT_FALSE(engine.resume("p", "", {.unixMillis = 6000}, batch));
  const auto& run = std::get<RunPhase>(batch.effects.at(0));
  EXPECT_EQ(run.phase, Phase::Postchecks);
  EXPECT_EQ(engine.find("p")->node(run.node).spec.id, "a");
}

TEST(PlanImport, WhatWaitsInOneThatHadEndedIsCheckedBeforeAnythingLands) {
  for (const std::string how : {"land", "retry"}) {
    PlanRig rig;
    const std::string text = planThatWaits(rig);
    rig.failDuring("b", Phase::Work);
    Engine engine({});
    ASSERT_EQ(import(engine, text, joinList(rig.journal["p"])).refusal, "");
    EXPECT_EQ(engine.find("p")->status(), PlanStatus::Partial);
    Batch batch;
    ASSERT_EQ(applyInput(engine,
                         R"({"input":")" + how +
                             R"(","planId":"p","nodeId":"b","result":"r1","follows":true})",
                         {.unixMillis = 6000}, batch),
              "");
    const auto isOfA = [&engine](const Effect& effect) {
      const auto* const run = std::get_if<RunPhase>(&effect);
      return run != nullptr && run->phase == Phase::Postchecks &&
             engine.find("p")->node(run->node).spec.id == "a";
    };
    EXPECT_TRUE(std::ranges::any_of(batch.effects, isOfA)) << how;
  }
}

TEST(PlanImport, AStatusOfTheFileDoesNotCount) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a")})), "");
  rig.failDuring("a", Phase::Work);
  std::string entries = joinList(rig.journal["p"]);
  const size_t at = entries.find(R"("plan":"failed")");
  ASSERT_NE(at, std::string::npos);
  entries.replace(at, 15, R"("plan":"running")");
  Engine engine({});
  ASSERT_EQ(import(engine, planText({nodeText("a")}), entries).refusal, "");
  EXPECT_EQ(engine.find("p")->status(), PlanStatus::Failed);
}

TEST(PlanImport, WhatCannotFollowIsRefusedAndLeavesNothing) {
  for (const char* entries :
       {R"([{"kind":"created","at":1,"detail":{"plan":{},"facts":{}}}])", R"([7])", R"([{}])",
        R"([{"kind":"began","at":1,"node":"x"}])", R"([{"kind":"paused","at":1,"detail":5}])",
        R"([{"kind":"nodes-added","at":1,"detail":{"id":"x"}}])",
        R"([{"kind":"nodes-added","at":1}])", R"([{"kind":"plan-ended","at":1,"plan":"failed"}])",
        R"([{"kind":"node-succeeded","at":1,"node":"a"}])",
        R"([{"kind":"step","at":1,"node":"a","detail":{}}])"}) {
    Engine engine({});
    const Imported made = import(engine, planOfThree(), entries);
    EXPECT_TRUE(made.refusal.starts_with(R"({"code":"INVALID_PLAN","message":"journal[0]: )"))
        << entries << made.refusal;
    EXPECT_TRUE(made.batch.entries.empty());
    EXPECT_TRUE(engine.plans().empty());
  }
  Engine engine({});
  EXPECT_NE(import(engine, R"({"name":"x"})", "[]").refusal, "");
  ASSERT_EQ(import(engine, planOfThree(), "[]").refusal, "");
  EXPECT_NE(import(engine, planOfThree(), "[]").refusal, "");
}

// From an earlier version of tap.
TEST(PlanImport, AnAddedNodeWithTheIdOfAGroupIsTaken) {
  Engine engine({});
  const Imported made =
      import(engine, planText({nodeText("a", {}, R"("group":"g")")}),
             R"([{"kind":"nodes-added","at":1,"detail":[)" + nodeText("g") + "]}]");
  ASSERT_EQ(made.refusal, "");
  EXPECT_EQ(engine.find("p")->size(), 2U);
  expectReplays(engine, made.batch);
}

// A journal with an entry missing, doubled or moved is refused, or gives a consistent plan.
TEST(PlanImport, AnyJournalThatWasTamperedWithIsRefusedOrHolds) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planOfThree()), "");
  rig.succeed("a");
  rig.failDuring("b", Phase::Work);
  ASSERT_EQ(rig.retry("b"), "");
  rig.succeed("b");
  rig.succeed("c");
  const std::vector<std::string> lines = rig.journal["p"];
  size_t taken = 0;
  const auto attempt = [&taken](const std::vector<std::string>& journal) {
    Engine engine({});
    const Imported made = import(engine, planOfThree(), joinList(journal));
    if (!made.refusal.empty()) {
      EXPECT_TRUE(made.batch.entries.empty());
      return;
    }
    ++taken;
    EXPECT_TRUE(made.batch.effects.empty());
    expectReplays(engine, made.batch);
  };
  for (size_t i = 1; i < lines.size(); ++i) {
    auto missing = lines;
    missing.erase(missing.begin() + static_cast<std::ptrdiff_t>(i));
    attempt(missing);
    for (size_t j = 1; j < lines.size(); ++j) {
      auto twice = lines;
      twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(j), lines[i]);
      attempt(twice);
    }
    attempt({lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(i)});
  }
  EXPECT_GE(taken, lines.size() - 1);
}

}  // namespace
}  // namespace tap::plan
