// An engine whose effects a test carries out by hand, and the journal that it writes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/engine.h"
#include "plan/inputs.h"
#include "plan/view.h"

namespace tap::plan {

// `{"id":"a","work":"true","dependencies":["b"]}`, with more members where `more` has some.
[[nodiscard]] inline std::string nodeText(std::string_view id,
                                          const std::vector<std::string>& dependencies = {},
                                          std::string_view more = R"("work":"true")") {
  std::string out = R"({"id":")" + std::string(id) + R"(","dependencies":[)";
  for (size_t i = 0; i < dependencies.size(); ++i) {
    out += (i > 0 ? ",\"" : "\"") + dependencies[i] + "\"";
  }
  out += "]";
  if (!more.empty()) out += "," + std::string(more);
  return out + "}";
}

[[nodiscard]] inline std::string planText(const std::vector<std::string>& nodes,
                                          std::string_view more = "") {
  std::string out = R"({"name":"test",)" + std::string(more) + R"("nodes":[)";
  for (size_t i = 0; i < nodes.size(); ++i) out += (i > 0 ? "," : "") + nodes[i];
  return out + "]}";
}

class PlanRig {
 public:
  explicit PlanRig(const EngineLimits& limits = {}) : limits_(limits), engine_(limits) {}

  // An effect of the engine without a report yet.
  struct Running {
    std::string plan;
    std::string node;
    uint32_t attempt = 0;
    Phase phase = Phase::MergeFi;
    bool isStopped = false;
    friend bool operator==(const Running&, const Running&) = default;
  };

  Moment now{.unixMillis = 1000};

  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] const Plan& plan(std::string_view id = "p") { return *engine_.find(id); }
  [[nodiscard]] const Node& node(std::string_view id, std::string_view plan = "p") {
    const Plan& found = *engine_.find(plan);
    return found.node(*found.find(id));
  }
  [[nodiscard]] std::string status(std::string_view id) {
    return std::string(text(node(id).status));
  }
  [[nodiscard]] std::string status() { return std::string(text(plan().status())); }

  // Returns: the problems, or empty.
  std::string create(std::string_view text, std::string_view id = "p") {
    Problems problems;
    Batch batch;
    const auto refused = engine_.create(id, text, R"({"repo":"/r"})", now, problems, batch);
    EXPECT_EQ(refused.has_value(), problems.any());
    take(batch);
    return problems.any() ? problems.json() : "";
  }
  std::string add(std::string_view nodes, std::string_view id = "p") {
    Problems problems;
    Batch batch;
    const auto refused = engine_.addNodes(id, nodes, now, problems, batch);
    take(batch);
    if (problems.any()) return problems.json();
    return refused ? refused->message : "";
  }
  std::string pause() {
    return with([this](Batch& batch) { return engine_.pause("p", "asked", now, batch); });
  }
  std::string resume(std::string_view budget = "") {
    return with([&](Batch& batch) { return engine_.resume("p", budget, now, batch); });
  }
  std::string cancel() {
    return with([this](Batch& batch) { return engine_.cancel("p", now, batch); });
  }
  std::string cancelNode(std::string_view node) {
    return with([&](Batch& batch) { return engine_.cancelNode("p", node, now, batch); });
  }
  std::string retry(std::string_view node, bool fromStart = false, std::string_view detail = "") {
    return retry(node, fromStart ? RetryFrom::Start : RetryFrom::FailedPhase, detail);
  }
  std::string retry(std::string_view node, RetryFrom from, std::string_view detail = "") {
    return with([&](Batch& batch) { return engine_.retry("p", node, from, detail, now, batch); });
  }
  // Returns: a refusal of `input`, {"code","message"}, or empty.
  std::string edit(std::string_view node, std::string_view changes) {
    return input(R"({"input":"edit","planId":"p","nodeId":")" + std::string(node) +
                 R"(","changes":)" + std::string(changes) + "}");
  }
  std::string input(std::string_view text) {
    Batch batch;
    std::string refused = applyInput(engine_, text, now, batch);
    take(batch);
    return refused;
  }

  // The running phase of a node, if any.
  [[nodiscard]] std::optional<Running> of(std::string_view node) const {
    for (const Running& one : running) {
      if (one.node == node) return one;
    }
    return std::nullopt;
  }
  void began(const Running& one) {
    Batch batch;
    engine_.began(one.plan, one.node, one.attempt, now, batch);
    take(batch);
  }
  void finish(const Running& one, Outcome outcome = Outcome::Succeeded,
              std::string_view detail = "{}", int64_t until = 0) {
    std::erase(running, one);
    Batch batch;
    if (one.isStopped) {
      engine_.stopped(one.plan, one.node, now, batch);
    } else {
      engine_.phaseEnded(one.plan, one.node, one.attempt, one.phase, outcome, detail, until, now,
                         batch);
    }
    take(batch);
  }
  // All further phases of a node succeed.
  void succeed(std::string_view node) {
    while (const auto one = of(node)) {
      began(*one);
      finish(*one, Outcome::Succeeded,
             one->phase == Phase::Commit
                 ? R"({"commit":"c-)" + std::string(node) + R"(","changes":{"files":1}})"
                 : "{}");
    }
  }
  // Its phases succeed up to `phase`, which fails.
  void failDuring(std::string_view node, Phase phase) {
    while (const auto one = of(node)) {
      began(*one);
      const bool fails = one->phase == phase;
      finish(*one, fails ? Outcome::Failed : Outcome::Succeeded,
             fails ? R"({"error":{"code":"EXIT","message":"exit code 1"}})" : "{}");
      if (fails) return;
    }
  }
  void due() {
    Batch batch;
    engine_.due(now, batch);
    take(batch);
  }

  // Kills the host: the running phases are lost, and a new engine reads the journal.
  void crash() {
    due();  // the effect of time is in no entry
    running.clear();
    Engine other(limits_);
    for (const std::string& id : engine_.plans()) {
      const auto& lines = journal[id];
      const std::vector<std::string_view> views(lines.begin(), lines.end());
      const auto problem = other.replay(id, views, now);
      ASSERT_FALSE(problem) << *problem;
    }
    for (const std::string& id : engine_.plans()) {
      ASSERT_EQ(firstDifference(describeState(other, id), describeState(engine_, id)), "") << id;
    }
    engine_ = std::move(other);
    Batch batch;
    engine_.recover(now, batch);
    take(batch);
  }

  // All data of the views.
  [[nodiscard]] static std::string describeState(const Engine& engine, std::string_view id) {
    const Plan& plan = *engine.find(id);
    std::string out = planJson(id, plan) + graphJson(plan) + groupsJson(plan);
    for (NodeIndex i = 0; i < plan.size(); ++i) out += nodeJson(plan, i, false);
    for (const Need need : {Need::Nothing, Need::Place, Need::Agent}) {
      for (const ReadyKey& key : plan.ready(need)) {
        out += std::to_string(key.node) + ":" + std::to_string(key.path) + " ";
      }
    }
    return out;
  }

  [[nodiscard]] static std::string firstDifference(const std::string& a, const std::string& b) {
    if (a == b) return "";
    const size_t at = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
    const size_t from = at < 150 ? 0 : at - 150;
    return a.substr(from, 300) + "\n  is not\n" + b.substr(from, 300);
  }

  void take(const Batch& batch) {
    for (const Batch::Line& line : batch.entries) journal[line.plan].push_back(line.text);
    isSynced = batch.sync;
    for (const Effect& effect : batch.effects) std::visit(Take{*this}, effect);
  }

  std::vector<Running> running;
  std::vector<std::string> cleaned;
  std::vector<std::string> notices;
  std::vector<std::string> probes;
  std::map<std::string, std::vector<std::string>, std::less<>> journal;
  bool isSynced = false;  // the last batch

 private:
  struct Take {
    PlanRig& rig;
    void operator()(const RunPhase& effect) const {
      const Node& node = rig.engine_.find(effect.plan)->node(effect.node);
      rig.running.push_back({effect.plan, node.spec.id, static_cast<uint32_t>(node.attempts.size()),
                             effect.phase, false});
    }
    void operator()(const StopNode& effect) const {
      const Node& node = rig.engine_.find(effect.plan)->node(effect.node);
      for (Running& one : rig.running) {
        if (one.plan == effect.plan && one.node == node.spec.id) one.isStopped = true;
      }
    }
    void operator()(const CleanUp& effect) const {
      rig.cleaned.push_back(rig.engine_.find(effect.plan)->node(effect.node).spec.id);
    }
    void operator()(const Probe& effect) const {
      std::string text = rig.engine_.find(effect.plan)->node(effect.node).spec.id + ":";
      for (const NodeIndex other : effect.others) {
        text += " " + rig.engine_.find(effect.plan)->node(other).spec.id;
      }
      rig.probes.push_back(std::move(text));
    }
    void operator()(const Notice& effect) const {
      rig.notices.push_back(std::string(text(effect.kind)) +
                            (effect.node.empty() ? "" : " " + effect.node));
    }
  };

  template <class Ask>
  std::string with(Ask&& ask) {
    Batch batch;
    const Refused refused = ask(batch);
    take(batch);
    return refused ? std::string(text(refused->code)) + ": " + refused->message : "";
  }

  EngineLimits limits_;
  Engine engine_;
};

}  // namespace tap::plan
