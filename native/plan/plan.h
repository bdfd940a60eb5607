// The state of a plan, as its journal's entries define it. It makes no decisions (see engine.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/entry.h"
#include "plan/graph.h"
#include "plan/spec.h"
#include "plan/usage.h"

namespace tap::plan {

// The used share of a part of a budget: 1 is all of it; 0 without a limit.
[[nodiscard]] inline double creditShare(const Usage& usage, const Budget& budget) {
  return budget.aiCredits ? usage.aiCredits / *budget.aiCredits : 0;
}
[[nodiscard]] inline double tokenShare(const Usage& usage, const Budget& budget) {
  if (!budget.tokens) return 0;
  return static_cast<double>(usage.tokens()) / static_cast<double>(*budget.tokens);
}

struct PhaseRecord {
  PhaseStatus status = PhaseStatus::Pending;
  uint32_t interruptions = 0;
  int64_t startedAt = 0;  // Unix time in ms; 0: not yet
  int64_t endedAt = 0;
  std::string detail;  // JSON object, or empty: from the report of its end
};

struct Attempt {
  int64_t scheduledAt = 0;
  int64_t startedAt = 0;
  int64_t endedAt = 0;
  NodeStatus status = NodeStatus::Scheduled;
  uint32_t interruptions = 0;
  Phase from = Phase::MergeFi;
  bool landsAgain = false;  // only its checks and its landing are left to do
  std::array<PhaseRecord, kPhases> phases;
  std::vector<std::string> steps;  // JSON objects: its facts, in their order
  std::string request;             // JSON object, or empty: the detail of a retry
};

// Reserved for an agent until its usage is known.
struct Reserved {
  double aiCredits = 0;
  int64_t tokens = 0;
};

struct Node {
  NodeSpec spec;
  NodeStatus status = NodeStatus::Pending;
  Phase phase = Phase::MergeFi;  // the running or waiting phase, else the last or next phase
  bool resumes = false;          // the attempt was interrupted, and resumes
  LandingState landing = LandingState::None;
  uint32_t open = 0;                     // dependencies that have not succeeded
  uint32_t retries = 0;                  // automatic retries
  Phase retryAtLatest = Phase::MergeRi;  // an edit has invalidated this phase and the later ones
  int64_t notBefore = 0;
  int64_t path = 1;  // expected time to the end of the plan through this node, in ms
  Reserved reserved;
  std::vector<Attempt> attempts;
  std::string commit;  // the dependents start from it
  Usage usage;
  Changes changes;
  Changes waiting;                 // its changes, while it waits
  std::vector<std::string> edits;  // JSON objects: {"at","changes","before"} of the latest edits

  // It waited to land, and its checks and its landing run again.
  [[nodiscard]] bool isRelanding() const {
    return landing == LandingState::Again || (holdsPlace(status) && attempts.back().landsAgain);
  }
};

// The order in which ready nodes start.
struct ReadyKey {
  int64_t path = 0;
  size_t dependents = 0;
  NodeIndex node = 0;

  [[nodiscard]] bool operator<(const ReadyKey& other) const {
    if (path != other.path) return path > other.path;
    if (dependents != other.dependents) return dependents > other.dependents;
    return node < other.node;
  }
};

// Ready nodes by the slot that they need.
enum class Need : uint8_t { Nothing, Place, Agent, Count_ };

class Plan {
 public:
  // Limits of the facts of an attempt, and of the overlaps of a plan.
  static constexpr size_t kMaxSteps = 64;
  static constexpr size_t kMaxOverlaps = 100;
  static constexpr size_t kMaxEdits = 20;

  // From the plan's text; empty if it has problems. `facts` is a JSON object.
  [[nodiscard]] static std::optional<Plan> make(std::string_view text, std::string_view facts,
                                                int64_t at, Problems& problems);
  // From a Created entry. Returns a reason if the entry, or its plan, is not valid.
  [[nodiscard]] static Result<Plan, std::string> create(const Entry& entry);

  // Adds nodes of a plan's text, for Created and NodesAdded. Problems as readPlan and Graph::add.
  [[nodiscard]] bool add(std::vector<NodeSpec> nodes, Origin origin, Problems& problems);
  // The same for the text of a list. An ended plan resumes.
  [[nodiscard]] bool addText(std::string_view nodes, Origin origin, Problems& problems);

  // Applies the entry to the state. Returns a reason if the entry cannot follow: then the state is
  // unchanged, and the caller has a defect, or the journal is damaged.
  [[nodiscard]] std::optional<std::string> apply(const Entry& entry);

  [[nodiscard]] const PlanSpec& spec() const { return spec_; }
  [[nodiscard]] const std::string& facts() const { return facts_; }
  // The machine had no sandbox when the plan was created, and the user allowed that.
  [[nodiscard]] bool isUnsandboxed() const { return isUnsandboxed_; }
  [[nodiscard]] const Budget& budget() const { return spec_.budget; }
  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] size_t size() const { return nodes_.size(); }
  [[nodiscard]] const Node& node(NodeIndex index) const { return nodes_[index]; }
  [[nodiscard]] std::optional<NodeIndex> find(std::string_view id) const { return graph_.find(id); }

  [[nodiscard]] PlanStatus status() const;
  [[nodiscard]] bool isPaused() const { return !pause_.empty(); }
  [[nodiscard]] const std::string& pause() const { return pause_; }  // why
  [[nodiscard]] std::optional<PlanStatus> ended() const { return ended_; }
  // It was canceled, and some processes have not stopped yet.
  [[nodiscard]] bool isBeingCanceled() const { return isCanceled_ && !ended_; }
  // The final status of a plan whose nodes are all terminal.
  [[nodiscard]] PlanStatus outcome() const;
  [[nodiscard]] bool isUnlanded() const { return !unlanded_.empty(); }
  [[nodiscard]] const std::string& unlanded() const { return unlanded_; }  // why, as JSON
  [[nodiscard]] bool allTerminal() const;
  [[nodiscard]] size_t count(NodeStatus status) const {
    return counts_[static_cast<size_t>(status)];
  }
  // By status, without replaced nodes.
  [[nodiscard]] std::array<size_t, kNodeStatuses> countOwn() const;
  [[nodiscard]] int64_t createdAt() const { return createdAt_; }
  [[nodiscard]] int64_t startedAt() const { return startedAt_; }
  [[nodiscard]] int64_t endedAt() const { return endedAt_; }
  [[nodiscard]] const Usage& usage() const { return usage_; }
  [[nodiscard]] const Changes& landedChanges() const { return landed_; }
  // Of the leaves that wait to land.
  [[nodiscard]] const Changes& waitingChanges() const { return waiting_; }
  // Leaves that wait to land, oldest first.
  [[nodiscard]] std::vector<NodeIndex> waiting() const { return waitingNodes_; }
  // Leaves that `land` retries: those that wait, and those whose checks then failed or were
  // canceled.
  [[nodiscard]] std::vector<NodeIndex> leftToLand() const;
  // Leaves whose checks run again, so that they land.
  [[nodiscard]] std::vector<NodeIndex> landing() const;
  // Whether the waiting result is unknown: the checks may have run on a different commit.
  [[nodiscard]] bool hasUnknownResult() const { return isUnlanded() && waitingResult_.empty(); }
  // Whether the waiting leaves may land without new checks: `result` is the commit that was made.
  // `follows`: the target is where `result` was made, or the leaves have no checks.
  [[nodiscard]] bool landsAsChecked(std::string_view result, bool follows) const;
  [[nodiscard]] const Reserved& reserved() const { return reserved_; }
  [[nodiscard]] const std::vector<std::string>& overlaps() const { return overlaps_; }
  // The number of agents that have ended their work.
  [[nodiscard]] uint32_t agentsDone() const { return agentsDone_; }

  [[nodiscard]] const std::set<ReadyKey>& ready(Need need) const {
    return ready_[static_cast<size_t>(need)];
  }
  // The earliest time of a ready node that must wait.
  [[nodiscard]] std::optional<int64_t> nextDelayed() const;
  // Makes delayed nodes startable whose time has come.
  void releaseDelayed(int64_t now);

  // Whether the node's commits go into the target branch.
  [[nodiscard]] bool lands(NodeIndex index) const {
    return !spec_.targetBranch.empty() && graph_.dependents(index).empty() && !isReplaced(index);
  }
  // A different node replaces it: it never runs again, and has no dependents.
  [[nodiscard]] bool isReplaced(NodeIndex index) const {
    return graph_.replacement(index).has_value();
  }
  // It replaces a different node.
  [[nodiscard]] bool replacesAny(NodeIndex index) const {
    return std::ranges::any_of(graph_.replacements(),
                               [index](const auto& one) { return one.second == index; });
  }
  // Neither running, succeeded nor replaced.
  [[nodiscard]] bool isEditable(NodeIndex index) const;
  // A dependency of the node that has succeeded and could never land if the node depended on `kept`
  // only.
  [[nodiscard]] std::optional<NodeIndex> findStranded(NodeIndex index,
                                                      std::span<const NodeIndex> kept) const;
  // The present values of the fields that an edit would change: a JSON object.
  [[nodiscard]] std::string describeFields(NodeIndex index, const NodeChanges& changes) const;
  // The first of its dependencies that ended without success.
  [[nodiscard]] std::optional<NodeIndex> blockedBy(NodeIndex index) const;
  // A single node at a time checks its landing and lands.
  [[nodiscard]] bool needsLandingSlot(NodeIndex index, Phase phase) const {
    return lands(index) && (phase == Phase::Postchecks || phase == Phase::MergeRi);
  }
  // Whether a landing made a step that is not in the transition table: only in a damaged journal.
  [[nodiscard]] bool hasInvalidLanding() const { return hasInvalidLanding_; }
  [[nodiscard]] std::optional<NodeIndex> landingSlot() const { return landingSlot_; }
  [[nodiscard]] const std::deque<NodeIndex>& landingQueue() const { return landingQueue_; }
  // The node's first phase from `phase` on.
  [[nodiscard]] std::optional<Phase> firstPhase(NodeIndex index, Phase phase) const;
  [[nodiscard]] std::optional<Phase> phaseAfter(NodeIndex index, Phase phase) const;
  // `phase`, or an earlier phase if an edit has removed the node's later phases.
  [[nodiscard]] Phase phaseWithRest(NodeIndex index, Phase phase) const;
  [[nodiscard]] static Need nodeNeed(const Node& node);

 private:
  Plan() = default;

  [[nodiscard]] std::optional<std::string> applyToPlan(const Entry& entry);
  [[nodiscard]] std::optional<std::string> applyToNode(const Entry& entry, NodeIndex index);
  [[nodiscard]] std::optional<std::string> scheduled(const Entry& entry, NodeIndex index);
  [[nodiscard]] std::optional<std::string> phaseEnded(const Entry& entry, NodeIndex index);
  [[nodiscard]] std::optional<std::string> retried(const Entry& entry, NodeIndex index);
  [[nodiscard]] std::optional<std::string> nodeEnded(const Entry& entry, NodeIndex index);
  [[nodiscard]] std::optional<std::string> interrupted(const Entry& entry, NodeIndex index);
  [[nodiscard]] std::optional<std::string> edited(const Entry& entry, NodeIndex index);
  [[nodiscard]] std::optional<std::string> replaced(const Entry& entry, NodeIndex index);
  void voidFrom(NodeIndex index, Phase phase, int64_t at);
  void followDependencies(NodeIndex index);
  void reopen();
  void beginPhase(NodeIndex index, Phase phase, int64_t at);
  void addUsage(NodeIndex index, const Entry& entry);
  void applyDetail(NodeIndex index, const Entry& entry);
  void succeed(NodeIndex index);
  void end(NodeIndex index, PhaseStatus phase, const Entry& entry);
  void setLanding(NodeIndex index, LandingState to);
  void leaveLanding(NodeIndex index, LandingState to);
  [[nodiscard]] std::optional<std::string> landedLate(const Entry& entry, NodeIndex index);
  void awaitLanding(NodeIndex index, const Entry& entry, std::string_view why);
  void stopWaiting(NodeIndex index);
  void landWaiting();
  void releaseReservation(NodeIndex index);
  void blockAfter(NodeIndex index);
  void unblockAfter(NodeIndex index);
  [[nodiscard]] std::optional<std::string> move(NodeIndex index, NodeStatus to);
  void enqueue(NodeIndex index);
  void dequeue(NodeIndex index);
  [[nodiscard]] int64_t expectedDuration(const Node& node) const;
  void recomputePriorities();
  void recordDuration(const Node& node, const PhaseRecord& record);

  PlanSpec spec_;      // its nodes are in nodes_
  std::string facts_;  // JSON: the facts of its creation
  Graph graph_;
  std::deque<Node> nodes_;  // a deque: adding nodes keeps references valid
  std::array<size_t, kNodeStatuses> counts_{};
  std::array<std::set<ReadyKey>, static_cast<size_t>(Need::Count_)> ready_;
  std::set<std::pair<int64_t, NodeIndex>> delayed_;
  std::string pause_;
  std::optional<PlanStatus> ended_;
  bool isUnsandboxed_ = false;
  bool hasInvalidLanding_ = false;
  bool isCanceled_ = false;
  std::string unlanded_;
  int64_t createdAt_ = 0;
  int64_t startedAt_ = 0;
  int64_t endedAt_ = 0;
  Usage usage_;
  Changes landed_;
  Changes waiting_;
  std::vector<NodeIndex> waitingNodes_;
  std::string waitingResult_;  // the commit in which they wait, if made on this machine
  Reserved reserved_;
  uint32_t agentsDone_ = 0;
  std::vector<std::string> overlaps_;
  std::optional<NodeIndex> landingSlot_;
  std::deque<NodeIndex> landingQueue_;
  // Durations of the work of a kind: sum and number.
  struct DurationStats {
    int64_t millis = 0;
    int64_t times = 0;
    int64_t used = 0;  // the mean that the priorities use
  };
  std::array<DurationStats, kWorkKinds> durationStats_{};
};

}  // namespace tap::plan
