// Random plans with random ends: limits hold, every node ends, no phase runs twice, and a replay of
// the journal gives the state at any time.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "plan/plan_rig.h"

namespace tap::plan {
namespace {

class Life {
 public:
  explicit Life(uint32_t seed) : random_(seed) {
    limits_.maxWorkers = 1 + below(6);
    limits_.maxAgents = 1 + below(3);
    rig_ = std::make_unique<PlanRig>(limits_);
  }

  void live() {
    const size_t plans = 1 + below(3);
    for (size_t i = 0; i < plans; ++i) create("p" + std::to_string(i));
    for (int i = 0; i < 3000 && rig_->engine().live() > 0; ++i) {
      step(i);
      if (::testing::Test::HasFatalFailure()) return;
      check();
    }
    for (const std::string& id : rig_->engine().plans()) {
      EXPECT_TRUE(rig_->plan(id).ended()) << PlanRig::describeState(rig_->engine(), id);
    }
    EXPECT_EQ(rig_->engine().workers(), 0U);
    EXPECT_EQ(rig_->engine().agents(), 0U);
    rig_->crash();
    EXPECT_TRUE(rig_->running.empty());
  }

 private:
  [[nodiscard]] size_t below(size_t most) { return random_() % most; }
  [[nodiscard]] bool chance(size_t percent) { return below(100) < percent; }

  [[nodiscard]] std::string node(const std::string& id, const std::vector<std::string>& before) {
    std::vector<std::string> dependencies;
    for (const std::string& other : before) {
      if (dependencies.size() < 4 && chance(20)) dependencies.push_back(other);
    }
    std::string more = chance(10) ? "" : chance(30) ? R"("work":"@agent x")" : R"("work":"x")";
    if (chance(30) && !more.empty()) more += R"(,"postchecks":"y")";
    if (chance(20)) more += std::string(more.empty() ? "" : ",") + R"("retry":{"max":2})";
    if (chance(40)) more += std::string(more.empty() ? "" : ",") + R"("group":"g/h")";
    return nodeText(id, dependencies, more);
  }

  void create(const std::string& id) {
    std::vector<std::string> nodes;
    std::vector<std::string>& ids = ids_[id];
    const size_t count = 1 + below(14);
    for (size_t i = 0; i < count; ++i) {
      const std::string name = "n" + std::to_string(i);
      nodes.push_back(node(name, ids));
      ids.push_back(name);
    }
    std::string more = R"("maxParallel":)" + std::to_string(1 + below(5)) + ",";
    if (chance(60)) more += R"("targetBranch":"main",)";
    if (chance(20)) more += R"("budget":{"tokens":500},)";
    ASSERT_EQ(rig_->create(planText(nodes, more), id), "");
  }

  [[nodiscard]] std::string anyPlan() {
    return rig_->engine().plans()[below(rig_->engine().plans().size())];
  }
  [[nodiscard]] std::string anyNode(const std::string& plan) {
    return ids_[plan][below(ids_[plan].size())];
  }

  [[nodiscard]] std::string changes(const std::string& plan) {
    if (chance(50)) return R"({"dependencies":[")" + anyNode(plan) + R"("]})";
    if (chance(20)) return R"({"dependencies":[]})";
    if (chance(50)) return chance(50) ? R"({"postchecks":"z"})" : R"({"postchecks":null})";
    return chance(50) ? R"({"work":"@agent y"})" : R"({"work":null,"timeout":5})";
  }

  void finishOne() {
    const auto one = rig_->running[below(rig_->running.size())];
    if (chance(70)) rig_->began(one);
    if (chance(4)) {
      rig_->finish(one, Outcome::Failed, R"({"error":{"code":"X","message":"x"}})");
    } else if (chance(4)) {
      rig_->finish(one, Outcome::Interrupted, "{}", chance(50) ? rig_->now.unixMillis + 50 : 0);
    } else if (one.phase == Phase::MergeRi && chance(20)) {
      rig_->finish(one, Outcome::Stale);
    } else if (one.phase == Phase::MergeRi && chance(40)) {
      rig_->finish(one, Outcome::Succeeded,
                   R"({"unlanded":{"message":"x"},"result":"r","changes":{"files":1}})");
    } else {
      rig_->finish(one, Outcome::Succeeded,
                   one.phase == Phase::Work
                       ? R"({"usage":{"models":[{"model":"m","input":20,"output":9}]}})"
                       : R"({"commit":"c"})");
    }
  }

  void step(int number) {
    rig_->now.unixMillis += static_cast<int64_t>(below(20));
    rig_->now.freeMemory = chance(80) ? uint64_t{2} << 30 : 0;
    Batch batch;
    Problems problems;
    const std::string plan = anyPlan();
    Engine& engine = rig_->engine();
    // Later steps make no requests, so that the plan ends.
    const size_t input = below(number < 300 ? 100 : 60);
    if (input < 55) {
      if (!rig_->running.empty()) finishOne();
    } else if (input < 60) {
      engine.due(rig_->now, batch);
      (void)engine.resume(plan, R"({"tokens":1000000})", rig_->now, batch);
    } else if (input < 64) {
      (void)engine.cancelNode(plan, anyNode(plan), rig_->now, batch);
    } else if (input < 70) {
      const RetryFrom from = chance(20)   ? RetryFrom::Commit
                             : chance(30) ? RetryFrom::Start
                                          : RetryFrom::FailedPhase;
      (void)engine.retry(plan, anyNode(plan), from, "", rig_->now, batch);
    } else if (input < 73) {
      (void)engine.pause(plan, "x", rig_->now, batch);
    } else if (input < 77) {
      (void)engine.resume(plan, "", rig_->now, batch);
    } else if (input < 78) {
      (void)engine.cancel(plan, rig_->now, batch);
    } else if (input < 79) {
      (void)engine.land(plan, chance(50) ? "r" : "s", chance(50), rig_->now, batch);
    } else if (input < 82) {
      const std::string id = "m" + std::to_string(number);
      const std::string text = "[" + node(id, ids_[plan]) + "]";
      const std::string old = chance(40) ? anyNode(plan) : "";
      if (!engine.addNodes(plan, text, rig_->now, problems, batch, {chance(50), old})) {
        ids_[plan].push_back(id);
      }
    } else if (input < 85) {
      (void)engine.edit(plan, anyNode(plan), changes(plan), rig_->now, problems, batch);
    } else if (input < 90) {
      rig_->crash();
      return;
    } else if (!rig_->running.empty()) {
      const auto one = rig_->running[below(rig_->running.size())];
      engine.step(one.plan, one.node, one.attempt, R"({"k":1})", rig_->now, batch);
    }
    rig_->take(batch);
  }

  void check() {
    Engine& engine = rig_->engine();
    ASSERT_LE(engine.workers(), limits_.maxWorkers);
    ASSERT_LE(engine.agents(), limits_.maxAgents);
    std::set<std::pair<std::string, std::string>> seen;
    std::map<std::string, size_t> places;
    for (const auto& one : rig_->running) {
      ASSERT_TRUE(seen.emplace(one.plan, one.node).second) << "a node runs once at a time";
      const Plan& plan = *engine.find(one.plan);
      const Node& node = plan.node(*plan.find(one.node));
      if (!node.spec.isJoin()) ++places[one.plan];
      if (one.isStopped) continue;
      ASSERT_TRUE(holdsPlace(node.status)) << one.node;
      ASSERT_EQ(node.phase, one.phase);
      for (const NodeIndex other : plan.graph().dependencies(*plan.find(one.node))) {
        ASSERT_EQ(plan.node(other).status, NodeStatus::Succeeded);
      }
    }
    for (const auto& [id, count] : places) {
      ASSERT_LE(count, static_cast<size_t>(engine.find(id)->spec().maxParallel));
    }
    for (const std::string& id : engine.plans()) {
      const Plan& plan = *engine.find(id);
      for (NodeIndex i = 0; i < plan.size(); ++i) {
        if (!holdsPlace(plan.node(i).status)) continue;
        const bool isQueued = plan.node(i).landing == LandingState::Queued;
        ASSERT_TRUE(isQueued || seen.contains({id, plan.node(i).spec.id}))
            << rig_->journal[id].back() << plan.node(i).spec.id
            << " has a slot, but no effect was made for it";
      }
      ASSERT_FALSE(plan.hasInvalidLanding());
      for (NodeIndex i = 0; i < plan.size(); ++i) checkLanding(plan, i);
      if (plan.landingSlot()) {
        ASSERT_TRUE(holdsPlace(plan.node(*plan.landingSlot()).status));
      }
      // Work that may start is started.
      const bool isIdle = seen.empty() && !plan.ended() && !plan.isPaused();
      if (isIdle && rig_->now.freeMemory > 0) {
        ASSERT_TRUE(plan.ready(Need::Place).empty() && plan.ready(Need::Agent).empty());
      }
    }
  }

  static void checkLanding(const Plan& plan, NodeIndex node) {
    const auto isAmongThem = [&](const auto& nodes) {
      return std::ranges::find(nodes, node) != nodes.end();
    };
    const LandingState state = plan.node(node).landing;
    ASSERT_EQ(isAmongThem(plan.landingQueue()), state == LandingState::Queued);
    ASSERT_EQ(isAmongThem(plan.waiting()), state == LandingState::Waiting);
    const bool isInSlot = state == LandingState::Checking || state == LandingState::Moving;
    ASSERT_EQ(plan.landingSlot() == node, isInSlot);
    if (state == LandingState::Landed && plan.lands(node)) {
      ASSERT_EQ(plan.node(node).status, NodeStatus::Succeeded);
    }
  }

  std::mt19937 random_;
  EngineLimits limits_;
  std::unique_ptr<PlanRig> rig_;
  std::map<std::string, std::vector<std::string>> ids_;
};

TEST(PlanEngineProperty, WhateverHappensEveryPlanEndsAndTheJournalGivesItsState) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Life(seed).live();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tap::plan
