// Plans of any size, and a host that carries out at once whatever the engine asks for: each step is
// an input, as the addon gets it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "plan/engine.h"
#include "plan/inputs.h"

namespace tap::bench {

inline constexpr std::string_view kPlan = "pabcdefgh";
inline constexpr size_t kDependencies = 3;  // of each node, where there are so many before it

[[nodiscard]] inline std::string nodeId(size_t index) {
  return "node-" + std::to_string(100'000 + index);
}

// Each node depends on three of all those before it. Every fourth is an agent's, every third has
// checks. Always the same plan.
[[nodiscard]] inline std::string benchPlanText(size_t nodes) {
  uint32_t random = 1;
  const auto below = [&random](size_t most) {
    random = random * 1664525 + 1013904223;
    return static_cast<size_t>(random >> 8) % most;
  };
  std::string out =
      R"({"name":"split the parser","targetBranch":"main","maxParallel":64,"nodes":[)";
  for (size_t i = 0; i < nodes; ++i) {
    const std::string number = std::to_string(i);
    out += (i > 0 ? "," : "") + std::string(R"({"id":")") + nodeId(i);
    out += R"(","name":"Split part )" + number + R"( of the parser","group":"parser/)" +
           std::to_string(i % 40) + R"(","dependencies":[)";
    const size_t first = i > 0 ? below(i) : 0;
    for (size_t k = 0; k < std::min(i, kDependencies); ++k) {
      const size_t other = i <= kDependencies ? k : (first + k * (i / kDependencies)) % i;
      out += (k > 0 ? ",\"" : "\"") + nodeId(other) + "\"";
    }
    out += R"(],"work":)";
    out += i % 4 == 0 ? R"({"type":"agent","instructions":"Split part )" + number +
                            R"( of the parser, and keep its tests as they are."})"
                      : R"({"type":"shell","command":"npm run split -- --part )" + number + "\"}";
    if (i % 3 == 0) out += R"(,"postchecks":"npm test","timeout":"30m")";
    out += "}";
  }
  return out + "]}";
}

class PlanHost {
 public:
  explicit PlanHost(size_t nodes, size_t places = 64)
      : engine_({.maxWorkers = places, .maxAgents = places / 4}) {
    plan::Problems problems;
    plan::Batch batch;
    const auto refused =
        engine_.create(kPlan, benchPlanText(nodes), R"({"repo":"/r"})", now_, problems, batch);
    if (refused) {
      std::fprintf(stderr, "the plan was refused: %s\n", problems.json().c_str());
      std::exit(1);
    }
    take(batch);
  }

  // The next thing that happens to a node: something of it runs, or a phase has succeeded. Whether
  // there was one.
  bool step() {
    if (due_.empty()) return false;
    const Due due = due_.front();
    due_.pop_front();
    ++now_.unixMillis;
    input_ = due.isBegin ? R"({"input":"began")" : R"({"input":"phase-ended")";
    input_.append(R"(,"planId":")").append(kPlan).append(R"(","nodeId":")");
    input_.append(engine_.find(kPlan)->node(due.node).spec.id).append(R"(","attempt":1)");
    if (!due.isBegin) {
      input_.append(R"(,"phase":")").append(plan::text(due.phase));
      input_.append(R"(","outcome":"succeeded","detail":)").append(phaseDetail(due.phase));
    }
    input_ += '}';
    batch_.entries.clear();
    batch_.effects.clear();
    if (const std::string refused = plan::applyInput(engine_, input_, now_, batch_);
        !refused.empty()) {
      std::fprintf(stderr, "%s was refused: %s\n", input_.c_str(), refused.c_str());
      std::exit(1);
    }
    take(batch_);
    return true;
  }

  [[nodiscard]] const plan::Plan& plan() const { return *engine_.find(kPlan); }
  // The output of the last step.
  [[nodiscard]] const plan::Batch& batch() const { return batch_; }

 private:
  struct Due {
    plan::NodeIndex node = 0;
    plan::Phase phase = plan::Phase::MergeFi;
    bool isBegin = false;
  };

  [[nodiscard]] static std::string_view phaseDetail(plan::Phase phase) {
    switch (phase) {
      case plan::Phase::Work:
        return R"({"exitCode":0,"log":"node-work-1","usage":{"aiCredits":0.5,"models":)"
               R"([{"model":"gpt-5","input":12000,"output":800,"cached":9000}]}})";
      case plan::Phase::Commit:
        return R"({"commit":"2a4cc2272a4cc2272a4cc2272a4cc2272a4cc227",)"
               R"("changes":{"files":3,"insertions":40,"deletions":12}})";
      case plan::Phase::MergeFi:
      case plan::Phase::Prechecks:
      case plan::Phase::Postchecks:
      case plan::Phase::MergeRi:
      case plan::Phase::Count_:
        break;
    }
    return "{}";
  }

  void take(const plan::Batch& batch) {
    for (const plan::Effect& effect : batch.effects) {
      const auto* const run = std::get_if<plan::RunPhase>(&effect);
      if (run == nullptr) continue;
      if (run->isFirst) due_.push_back({run->node, run->phase, true});
      due_.push_back({run->node, run->phase, false});
    }
  }

  plan::Engine engine_;
  plan::Moment now_{.unixMillis = 1'700'000'000'000};
  std::deque<Due> due_;
  std::string input_;
  plan::Batch batch_;
};

}  // namespace tap::bench
