// What the engine asks its caller to do. The caller does it and reports the end to the engine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plan/graph.h"
#include "plan/words.h"

namespace tap::plan {

// Run one phase of an attempt. Plan and node have the rest.
struct RunPhase {
  std::string plan;
  NodeIndex node = 0;
  Phase phase = Phase::MergeFi;
  bool isFirst = false;  // the first phase of this start: the caller reports `began`
};
// Stop the running phase of a node.
struct StopNode {
  std::string plan;
  NodeIndex node = 0;
};
// The node is done with its worktree.
struct CleanUp {
  std::string plan;
  NodeIndex node = 0;
};
// Look for files that both the node's commit and the commits of `others` change.
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
  std::string node;  // id of the node that the notice is about, or empty
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
