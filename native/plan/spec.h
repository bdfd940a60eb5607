// A plan as it was written, checked: the fields that the engine needs, and JSON for the caller that
// runs it.
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
// Of a phase without a timeout of its own.
inline constexpr Millis kAgentTimeout{60 * 60'000};
inline constexpr Millis kOtherTimeout{10 * 60'000};

struct Work {
  WorkKind kind = WorkKind::None;
  std::string json;  // the object in the plan, or the object that a string stands for
};

// The sandbox of a node's programs. A field of a node replaces the plan's field as a whole.
inline constexpr std::array<std::string_view, 5> kSandboxFields{
    "sandbox", "allowedFolders", "readFolders", "allowedUrls", "caches"};
// The JSON of each field as it was written; empty if it is not given.
using SandboxSpec = std::array<std::string, kSandboxFields.size()>;

struct NodeSpec {
  std::string id;
  std::string name;                       // by default the id
  std::string group;                      // "parser/front", or empty
  std::vector<std::string> dependencies;  // ids
  Work prechecks;
  Work work;
  Work postchecks;
  bool expectsNoChanges = false;
  Millis timeout{0};  // of each phase; 0: the default of the work's kind
  uint32_t maxRetries = 0;
  bool retriesFromStart = false;
  std::string cwd;  // from the root of its worktree, or empty
  SandboxSpec sandbox;

  // A join has no work: it only merges the commits of its dependencies.
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

// The changes of an edit: the fields that are given.
struct NodeChanges {
  std::optional<std::vector<std::string>> dependencies;
  std::optional<Work> prechecks;
  std::optional<Work> work;
  std::optional<Work> postchecks;
  std::optional<Millis> timeout;
  // The new value of each field; empty: the field is removed.
  std::array<std::optional<std::string>, kSandboxFields.size()> sandbox;

  [[nodiscard]] bool any() const {
    return dependencies || prechecks || work || postchecks || timeout ||
           std::ranges::any_of(sandbox, [](const auto& field) { return field.has_value(); });
  }
};

// The limits of a plan's usage.
struct Budget {
  std::optional<double> aiCredits;
  std::optional<int64_t> tokens;
};

struct PlanSpec {
  std::string name;
  std::string targetBranch;  // empty: the work is not merged
  int64_t maxParallel = 4;
  bool startPaused = false;
  Budget budget;
  SandboxSpec sandbox;
  std::string head;  // the plan's object without its nodes
  std::vector<NodeSpec> nodes;
};

}  // namespace tap::plan
