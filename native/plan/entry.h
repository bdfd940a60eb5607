// An entry of a plan's journal: a fact. The state of a plan results from its entries in their
// order, and changes only by an entry.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/table.h"
#include "plan/words.h"

namespace tap::plan {

enum class EntryKind : uint8_t {
  Created,        // detail: {"plan","facts"}
  NodesAdded,     // detail: the list of nodes
  Scheduled,      // node, attempt, phase: the first phase, which begins too; detail: reserved
  Began,          // node: its first process runs
  Step,           // node; detail: a fact of the phase, such as a commit
  PhaseBegan,     // node, phase: after a wait for the landing slot
  PhaseEnded,     // node, phase, status, next: the phase that begins with it; detail
  NodeSucceeded,  // node
  NodeFailed,     // node, retry: a further attempt follows
  Interrupted,    // node, until: not before then; detail
  Retried,        // node, phase: from; detail
  NodeCanceled,   // node
  Paused,         // detail: {"reason"}
  Resumed,        // detail: {"budget"}
  PlanCanceled,
  PlanEnded,     // plan: its status
  Landed,        // the waiting leaves, or a node that was canceled too late; detail
  Overlap,       // node; detail: {"other","files"}
  NodeEdited,    // node; detail: {"changes","before"}
  NodeReplaced,  // node; detail: {"by","inherits": whether `by` gets its dependencies}
  Count_,
};
inline constexpr size_t kEntryKinds = static_cast<size_t>(EntryKind::Count_);

inline constexpr std::array<Word<EntryKind>, kEntryKinds> kEntryWords{{
    {EntryKind::Created, "created"},
    {EntryKind::NodesAdded, "nodes-added"},
    {EntryKind::Scheduled, "scheduled"},
    {EntryKind::Began, "began"},
    {EntryKind::Step, "step"},
    {EntryKind::PhaseBegan, "phase-began"},
    {EntryKind::PhaseEnded, "phase-ended"},
    {EntryKind::NodeSucceeded, "node-succeeded"},
    {EntryKind::NodeFailed, "node-failed"},
    {EntryKind::Interrupted, "interrupted"},
    {EntryKind::Retried, "retried"},
    {EntryKind::NodeCanceled, "node-canceled"},
    {EntryKind::Paused, "paused"},
    {EntryKind::Resumed, "resumed"},
    {EntryKind::PlanCanceled, "plan-canceled"},
    {EntryKind::PlanEnded, "plan-ended"},
    {EntryKind::Landed, "landed"},
    {EntryKind::Overlap, "overlap"},
    {EntryKind::NodeEdited, "node-edited"},
    {EntryKind::NodeReplaced, "node-replaced"},
}};
static_assert(idsAreIndices(kEntryWords));
[[nodiscard]] constexpr std::string_view text(EntryKind id) {
  return kEntryWords[static_cast<size_t>(id)].text;
}

struct Entry {
  EntryKind kind = EntryKind::Created;
  int64_t at = 0;  // Unix time in ms
  std::string node;
  uint32_t attempt = 0;
  std::optional<Phase> phase;
  std::optional<Phase> next;
  std::optional<PhaseStatus> status;
  std::optional<PlanStatus> plan;
  bool retry = false;
  int64_t until = 0;
  std::string detail;  // JSON, or empty
};

// Appends a line of JSON.
void writeEntry(std::string& out, const Entry& entry);

// A journal may be damaged. Returns a reason for a text that is not an entry.
[[nodiscard]] Result<Entry, std::string> readEntry(std::string_view text);

}  // namespace tap::plan
