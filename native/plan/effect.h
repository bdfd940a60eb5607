// What the engine asks others to do. They do it, and tell the engine how it ended.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plan/graph.h"
#include "plan/words.h"

namespace tap::plan {

// Carry out one phase of an attempt. Plan and node have the rest.
struct RunPhase {
  std::string plan;
  NodeIndex node = 0;
  Phase phase = Phase::MergeFi;
  bool isFirst = false;  // of this start: Began is to follow
};
// End what runs of a node.
struct StopNode {
  std::string plan;
  NodeIndex node = 0;
};
// The node is done with its worktree.
struct CleanUp {
  std::string plan;
  NodeIndex node = 0;
};
// Look for overlaps of the node's commit with those of these others.
struct Probe {
  std::string plan;
  NodeIndex node = 0;
  std::vector<NodeIndex> others;
};
// Worth a line for the user.
struct Notice {
  enum class Kind : uint8_t { Started, Failed, BudgetNear, BudgetSpent, Waiting, Ended };
  std::string plan;
  Kind kind = Kind::Started;
  std::string node;  // its id, where it is about one
};

using Effect = std::variant<RunPhase, StopNode, CleanUp, Probe, Notice>;

[[nodiscard]] constexpr std::string_view text(Notice::Kind kind) {
  switch (kind) {
    case Notice::Kind::Started:
      return "started";
    case Notice::Kind::Failed:
      return "failed";
    case Notice::Kind::BudgetNear:
      return "budget-near";
    case Notice::Kind::BudgetSpent:
      return "budget-spent";
    case Notice::Kind::Waiting:
      return "waiting";
    case Notice::Kind::Ended:
      return "ended";
  }
  return "";
}

}  // namespace tap::plan
