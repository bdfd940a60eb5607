// A plan as JSON, for tools, people and files.
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
  std::string group{};   // the group, and the groups within it
  bool inOrder = false;  // the plan's order; nodes are only appended, so their places are stable
  size_t from = 0;       // with inOrder: the first place in the plan
  size_t most = 100;
};

// {"planId","name","status","counts","usage",…}
[[nodiscard]] std::string planJson(std::string_view id, const Plan& plan);
// {"nodes":[{"id","name","group","status","phase","attempt","error"}],"places":[i],"rest":n,"total":n}:
// failed nodes first, then running, unless `inOrder`. `places`: the place of each in the plan;
// `rest`: the number of matches from `from` on.
[[nodiscard]] std::string nodesJson(const Plan& plan, const NodeFilter& filter);
// All data of a node.
[[nodiscard]] std::string nodeJson(const Plan& plan, NodeIndex index, bool isBusy);
// {"groups":[{"group","status","counts"}]}, sorted by their paths.
[[nodiscard]] std::string groupsJson(const Plan& plan);
// {"name","status","nodes":[…with dependencies],…}: to draw or to store the graph.
[[nodiscard]] std::string graphJson(const Plan& plan);

// Whether the effect is still wanted: its node was not canceled since, and its plan not forgotten.
[[nodiscard]] bool isCurrent(const Engine& engine, const Effect& effect);
// The data that the caller needs to carry out an effect, as an object with "effect" in it.
// REQUIRES: isCurrent.
[[nodiscard]] std::string effectJson(const Engine& engine, const Effect& effect);

}  // namespace tap::plan
