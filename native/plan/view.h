// A plan as JSON, for tools, people and files. Nothing here changes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plan/engine.h"

namespace tap::plan {

struct NodeFilter {
  std::optional<NodeStatus> status{};
  std::optional<Phase> phase{};
  std::string group{};   // it, and those within it
  bool inOrder = false;  // as the plan has them; nodes are only ever added, so their places stay
  size_t from = 0;       // with inOrder: the first place in the plan
  size_t most = 100;
};

// {"planId","name","status","counts","usage",…}
[[nodiscard]] std::string planJson(std::string_view id, const Plan& plan);
// {"nodes":[{"id","name","group","status","phase","attempt","error"}],"places":[i],"rest":n,
// "total":n}: those first that failed, or run, unless `inOrder`. `places`: of each in the plan;
// `rest`: how many match from `from` on.
[[nodiscard]] std::string nodesJson(const Plan& plan, const NodeFilter& filter);
// Everything of one node.
[[nodiscard]] std::string nodeJson(const Plan& plan, NodeIndex index, bool isBusy);
// {"groups":[{"group","status","counts"}]}, sorted by their paths.
[[nodiscard]] std::string groupsJson(const Plan& plan);
// {"name","status","nodes":[…with dependencies],…}: to draw it, or to keep it.
[[nodiscard]] std::string graphJson(const Plan& plan);

// Whether the effect is still wanted: not of a node that was canceled since, or of a plan that is
// forgotten.
[[nodiscard]] bool isCurrent(const Engine& engine, const Effect& effect);
// What whoever carries out an effect has to know, as one object with "effect" in it.
// REQUIRES: isCurrent.
[[nodiscard]] std::string effectJson(const Engine& engine, const Effect& effect);

}  // namespace tap::plan
