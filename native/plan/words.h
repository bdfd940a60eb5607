// The closed sets of a plan, and their words in tools, files and the journal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/table.h"

namespace tap::plan {

enum class NodeStatus : uint8_t {
  Pending,    // a dependency has not succeeded yet
  Ready,      // may start
  Scheduled,  // has a slot; no process of it runs yet
  Running,
  Succeeded,
  Failed,
  Blocked,  // a dependency failed, or was canceled
  Canceled,
  Count_,
};
inline constexpr size_t kNodeStatuses = static_cast<size_t>(NodeStatus::Count_);

enum class PlanStatus : uint8_t {
  Pending,
  Running,
  Paused,
  Succeeded,
  Failed,
  Partial,  // some nodes succeeded and some did not, or the result could not be landed
  Canceled,
  Count_,
};
inline constexpr size_t kPlanStatuses = static_cast<size_t>(PlanStatus::Count_);

// The phases of a node, in this order.
enum class Phase : uint8_t { MergeFi, Prechecks, Work, Commit, Postchecks, MergeRi, Count_ };
inline constexpr size_t kPhases = static_cast<size_t>(Phase::Count_);

enum class PhaseStatus : uint8_t {
  Pending,
  Running,
  Succeeded,
  Failed,
  Skipped,      // an earlier attempt has done it
  Interrupted,  // the host ended, or a rate limit requires a wait
  Canceled,
  Count_,
};

enum class WorkKind : uint8_t { None, Process, Shell, Agent, Tool, Count_ };
inline constexpr size_t kWorkKinds = static_cast<size_t>(WorkKind::Count_);

// The state of a node's work on its way to the target branch.
enum class LandingState : uint8_t {
  None,      // not on its way, or it does not land
  Queued,    // a different node has the landing slot
  Checking,  // its postchecks run on the result that would land
  Moving,    // it is merged, and the target is being moved
  Waiting,   // it is in the result, and the target could not be moved
  Again,     // it has waited, and is checked and landed again
  Landed,    // it is in the target
  Count_,
};
inline constexpr size_t kLandingStates = static_cast<size_t>(LandingState::Count_);

template <class Id>
struct Word {
  Id id;
  std::string_view text;
};

inline constexpr std::array<Word<NodeStatus>, kNodeStatuses> kNodeStatusWords{{
    {NodeStatus::Pending, "pending"},
    {NodeStatus::Ready, "ready"},
    {NodeStatus::Scheduled, "scheduled"},
    {NodeStatus::Running, "running"},
    {NodeStatus::Succeeded, "succeeded"},
    {NodeStatus::Failed, "failed"},
    {NodeStatus::Blocked, "blocked"},
    {NodeStatus::Canceled, "canceled"},
}};
inline constexpr std::array<Word<PlanStatus>, kPlanStatuses> kPlanStatusWords{{
    {PlanStatus::Pending, "pending"},
    {PlanStatus::Running, "running"},
    {PlanStatus::Paused, "paused"},
    {PlanStatus::Succeeded, "succeeded"},
    {PlanStatus::Failed, "failed"},
    {PlanStatus::Partial, "partial"},
    {PlanStatus::Canceled, "canceled"},
}};
inline constexpr std::array<Word<Phase>, kPhases> kPhaseWords{{
    {Phase::MergeFi, "merge-fi"},
    {Phase::Prechecks, "prechecks"},
    {Phase::Work, "work"},
    {Phase::Commit, "commit"},
    {Phase::Postchecks, "postchecks"},
    {Phase::MergeRi, "merge-ri"},
}};
inline constexpr std::array<Word<PhaseStatus>, static_cast<size_t>(PhaseStatus::Count_)>
    kPhaseStatusWords{{
        {PhaseStatus::Pending, "pending"},
        {PhaseStatus::Running, "running"},
        {PhaseStatus::Succeeded, "succeeded"},
        {PhaseStatus::Failed, "failed"},
        {PhaseStatus::Skipped, "skipped"},
        {PhaseStatus::Interrupted, "interrupted"},
        {PhaseStatus::Canceled, "canceled"},
    }};
inline constexpr std::array<Word<WorkKind>, kWorkKinds> kWorkKindWords{{
    {WorkKind::None, "none"},
    {WorkKind::Process, "process"},
    {WorkKind::Shell, "shell"},
    {WorkKind::Agent, "agent"},
    {WorkKind::Tool, "tool"},
}};
inline constexpr std::array<Word<LandingState>, kLandingStates> kLandingStateWords{{
    {LandingState::None, "none"},
    {LandingState::Queued, "queued"},
    {LandingState::Checking, "checking"},
    {LandingState::Moving, "moving"},
    {LandingState::Waiting, "waiting"},
    {LandingState::Again, "again"},
    {LandingState::Landed, "landed"},
}};
static_assert(idsAreIndices(kNodeStatusWords) && idsAreIndices(kPlanStatusWords) &&
              idsAreIndices(kPhaseWords) && idsAreIndices(kPhaseStatusWords) &&
              idsAreIndices(kWorkKindWords) && idsAreIndices(kLandingStateWords));

template <class Id, size_t kRows>
[[nodiscard]] constexpr std::optional<Id> parseWord(const std::array<Word<Id>, kRows>& words,
                                                    std::string_view text) {
  for (const auto& word : words) {
    if (word.text == text) return word.id;
  }
  return std::nullopt;
}

[[nodiscard]] constexpr std::string_view text(NodeStatus id) {
  return kNodeStatusWords[static_cast<size_t>(id)].text;
}
[[nodiscard]] constexpr std::string_view text(PlanStatus id) {
  return kPlanStatusWords[static_cast<size_t>(id)].text;
}
[[nodiscard]] constexpr std::string_view text(Phase id) {
  return kPhaseWords[static_cast<size_t>(id)].text;
}
[[nodiscard]] constexpr std::string_view text(PhaseStatus id) {
  return kPhaseStatusWords[static_cast<size_t>(id)].text;
}
[[nodiscard]] constexpr std::string_view text(WorkKind id) {
  return kWorkKindWords[static_cast<size_t>(id)].text;
}
[[nodiscard]] constexpr std::string_view text(LandingState id) {
  return kLandingStateWords[static_cast<size_t>(id)].text;
}

// A terminal node changes only by a retry, by a landing before it was canceled, or by a
// replacement.
[[nodiscard]] constexpr bool isTerminal(NodeStatus status) {
  return status >= NodeStatus::Succeeded;
}
[[nodiscard]] constexpr bool holdsPlace(NodeStatus status) {
  return status == NodeStatus::Scheduled || status == NodeStatus::Running;
}

template <class State>
struct Transition {
  State from;
  State to;
};

// All transitions.
inline constexpr std::array<Transition<NodeStatus>, 21> kTransitions{{
    {NodeStatus::Pending, NodeStatus::Ready},
    {NodeStatus::Ready, NodeStatus::Scheduled},
    {NodeStatus::Scheduled, NodeStatus::Running},
    {NodeStatus::Running, NodeStatus::Succeeded},
    {NodeStatus::Running, NodeStatus::Failed},
    {NodeStatus::Scheduled, NodeStatus::Failed},  // starting failed
    {NodeStatus::Pending, NodeStatus::Blocked},
    {NodeStatus::Ready, NodeStatus::Blocked},
    {NodeStatus::Pending, NodeStatus::Canceled},
    {NodeStatus::Ready, NodeStatus::Canceled},
    {NodeStatus::Scheduled, NodeStatus::Canceled},
    {NodeStatus::Running, NodeStatus::Canceled},
    {NodeStatus::Scheduled, NodeStatus::Ready},  // an attempt was interrupted
    {NodeStatus::Running, NodeStatus::Ready},
    {NodeStatus::Failed, NodeStatus::Pending},  // a retry
    {NodeStatus::Canceled, NodeStatus::Pending},
    {NodeStatus::Blocked, NodeStatus::Pending},
    {NodeStatus::Succeeded, NodeStatus::Pending},   // it waits to land, and is checked again
    {NodeStatus::Canceled, NodeStatus::Succeeded},  // it had landed already
    {NodeStatus::Ready, NodeStatus::Pending},       // an edit changed its dependencies
    {NodeStatus::Blocked, NodeStatus::Canceled},    // a new node replaces it
}};

// The same for landings (docs/landing.md).
inline constexpr std::array<Transition<LandingState>, 23> kLandingTransitions{{
    {LandingState::None, LandingState::Queued},
    {LandingState::None, LandingState::Checking},
    {LandingState::None, LandingState::Moving},
    {LandingState::Queued, LandingState::Checking},
    {LandingState::Queued, LandingState::Moving},
    {LandingState::Checking, LandingState::Moving},
    {LandingState::Moving, LandingState::Checking},  // the target has moved since the checks
    {LandingState::Moving, LandingState::Landed},
    {LandingState::Moving, LandingState::Waiting},
    {LandingState::Waiting, LandingState::Landed},
    {LandingState::Waiting, LandingState::None},  // a dependent lands its work
    {LandingState::None, LandingState::Again},    // it was waiting until now
    {LandingState::Again, LandingState::Checking},
    {LandingState::Again, LandingState::Moving},
    // It failed, was canceled or interrupted, or dependents were added.
    {LandingState::Queued, LandingState::None},
    {LandingState::Checking, LandingState::None},
    {LandingState::Moving, LandingState::None},
    {LandingState::Queued, LandingState::Again},
    {LandingState::Checking, LandingState::Again},
    {LandingState::Moving, LandingState::Again},
    {LandingState::Again, LandingState::None},  // its work runs again
    // The landing could not be stopped when the node was canceled.
    {LandingState::None, LandingState::Landed},
    {LandingState::None, LandingState::Waiting},
}};

template <class State, size_t kRows>
[[nodiscard]] constexpr bool isAmong(const std::array<Transition<State>, kRows>& all, State from,
                                     State to) {
  for (const auto& transition : all) {
    if (transition.from == from && transition.to == to) return true;
  }
  return false;
}
[[nodiscard]] constexpr bool isTransition(NodeStatus from, NodeStatus to) {
  return isAmong(kTransitions, from, to);
}
[[nodiscard]] constexpr bool isTransition(LandingState from, LandingState to) {
  return isAmong(kLandingTransitions, from, to);
}

}  // namespace tap::plan
