// A plan as it was written, checked: what the engine needs, and the rest as JSON for those who
// carry it out.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "plan/words.h"

namespace tap::plan {

inline constexpr size_t kMaxNodes = 10'000;
inline constexpr size_t kMaxTextBytes = size_t{16} << 20;  // of a plan
inline constexpr int64_t kMaxParallelNodes = 64;
// Of a phase, where the node names none.
inline constexpr Millis kAgentTimeout{60 * 60'000};
inline constexpr Millis kOtherTimeout{10 * 60'000};

struct Work {
  WorkKind kind = WorkKind::None;
  std::string json;  // the object that the plan has; a string has become one
};

// What the programs of a node may reach, of a plan or of a node: a node's field stands for the
// plan's as a whole.
inline constexpr std::array<std::string_view, 5> kSandboxFields{
    "sandbox", "allowedFolders", "readFolders", "allowedUrls", "caches"};
// The JSON of each field as it was written; empty: it is not given.
using SandboxSpec = std::array<std::string, kSandboxFields.size()>;

struct NodeSpec {
  std::string id;
  std::string name;                       // the id where the plan gives none
  std::string group;                      // "parser/front"; empty: none
  std::vector<std::string> dependencies;  // ids
  Work prechecks;
  Work work;
  Work postchecks;
  bool expectsNoChanges = false;
  Millis timeout{0};  // of each phase; 0: by the kind of its work
  uint32_t maxRetries = 0;
  bool retriesFromStart = false;
  std::string cwd;  // from the root of its worktree; empty: the root
  SandboxSpec sandbox;

  // A join: it does nothing but bring commits together.
  [[nodiscard]] bool isJoin() const {
    return prechecks.kind == WorkKind::None && work.kind == WorkKind::None &&
           postchecks.kind == WorkKind::None;
  }
  [[nodiscard]] Millis phaseTimeout(Phase phase) const {
    if (timeout > Millis(0)) return timeout;
    const WorkKind kind = phase == Phase::Prechecks    ? prechecks.kind
                          : phase == Phase::Postchecks ? postchecks.kind
                                                       : work.kind;
    return kind == WorkKind::Agent ? kAgentTimeout : kOtherTimeout;
  }
};

// What an edit makes of a node: those of its fields that are given.
struct NodeChanges {
  std::optional<std::vector<std::string>> dependencies;
  std::optional<Work> prechecks;
  std::optional<Work> work;
  std::optional<Work> postchecks;
  std::optional<Millis> timeout;
  // Of each field what it is from now on; empty: it is taken away.
  std::array<std::optional<std::string>, kSandboxFields.size()> sandbox;

  [[nodiscard]] bool any() const {
    return dependencies || prechecks || work || postchecks || timeout ||
           std::ranges::any_of(sandbox, [](const auto& field) { return field.has_value(); });
  }
};

// What may be spent on a plan. Nothing: no limit.
struct Budget {
  std::optional<double> aiCredits;
  std::optional<int64_t> tokens;
};

struct PlanSpec {
  std::string name;
  std::string targetBranch;  // empty: nothing is merged
  int64_t maxParallel = 4;
  bool startPaused = false;
  Budget budget;
  SandboxSpec sandbox;
  std::string head;  // the plan's object without its nodes
  std::vector<NodeSpec> nodes;
};

}  // namespace tap::plan
