// Changes of a plan that has begun: retries, edits and replacements of nodes.
#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "plan/plan.h"
#include "plan/plan_parts.h"
#include "plan/plan_reader.h"

namespace tap::plan {
namespace {

void writeWorkField(json::Writer& writer, json::Name name, const Work& work) {
  writer.rawField(name, work.kind == WorkKind::None ? std::string_view("null") : work.json);
}

}  // namespace

std::optional<std::string> Plan::retried(const Entry& entry, NodeIndex index) {
  Node& node = nodes_[index];
  if (!entry.phase) return "a retry without a phase";
  const bool hasSucceeded = node.status == NodeStatus::Succeeded;
  const bool onlyLands = *entry.phase >= Phase::Postchecks;
  const bool waits = node.landing == LandingState::Waiting;
  if (hasSucceeded && !(waits && onlyLands && lands(index))) {
    return "a retry of a node that succeeded";
  }
  if (isReplaced(index)) return "a retry of a node that was replaced";
  if (*entry.phase > node.retryAtLatest) return "a retry from a phase that an edit has voided";
  if (blockedBy(index)) return "a retry of a node whose dependency has ended without success";
  const bool landsAgain = onlyLands && (hasSucceeded || node.isRelanding());
  if (auto problem = move(index, NodeStatus::Pending)) return problem;
  stopWaiting(index);
  const LandingState landing = landsAgain ? LandingState::Again : LandingState::None;
  if (node.landing != landing) setLanding(index, landing);
  node.phase = *entry.phase;
  node.resumes = false;
  node.notBefore = entry.until;
  if (!node.attempts.empty()) node.attempts.back().request = entry.detail;
  isCanceled_ = false;
  if (node.open == 0) (void)move(index, NodeStatus::Ready);
  unblockAfter(index);
  if (ended_) reopen();
  return std::nullopt;
}

void Plan::reopen() {
  ended_.reset();
  endedAt_ = 0;
  isCanceled_ = false;
  // After edits, blocked nodes may have no dependency that blocks them.
  for (NodeIndex i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].status == NodeStatus::Blocked) followDependencies(i);
  }
}

// Updates the status of a node after a change of its dependencies, and of its dependents. In an
// ended plan the status stays.
void Plan::followDependencies(NodeIndex index) {
  Node& node = nodes_[index];
  node.open = 0;
  for (const NodeIndex other : graph_.dependencies(index)) {
    if (nodes_[other].status != NodeStatus::Succeeded) ++node.open;
    stopWaiting(other);  // its work lands with this node
  }
  const bool waits = node.status == NodeStatus::Pending || node.status == NodeStatus::Ready;
  const bool isBlocked = node.status == NodeStatus::Blocked;
  if (ended_ || (!waits && !isBlocked)) return;
  if (blockedBy(index)) {
    if (isBlocked) return;
    (void)move(index, NodeStatus::Blocked);
    blockAfter(index);
    return;
  }
  if (isBlocked) {
    (void)move(index, NodeStatus::Pending);
    unblockAfter(index);
  }
  if (node.open == 0 && node.status == NodeStatus::Pending) (void)move(index, NodeStatus::Ready);
  if (node.open > 0 && node.status == NodeStatus::Ready) (void)move(index, NodeStatus::Pending);
}

bool Plan::isEditable(NodeIndex index) const {
  const NodeStatus status = nodes_[index].status;
  return !holdsPlace(status) && status != NodeStatus::Succeeded && !isReplaced(index);
}

std::optional<std::string> Plan::edited(const Entry& entry, NodeIndex index) {
  Node& node = nodes_[index];
  const auto given = member(entry.detail, "changes", json::Kind::Object);
  if (!isEditable(index) || !given) return "an edit that is not valid";
  Problems problems;
  NodeChanges changes = readNodeChanges(given->raw, problems);
  if (problems.any() ||
      (changes.dependencies && !graph_.setDependencies(index, *changes.dependencies, problems))) {
    return firstProblem(problems);
  }
  const bool restartsAll = changes.work || changes.prechecks || changes.dependencies;
  const bool restartsChecks = changes.postchecks.has_value();
  if (changes.prechecks) node.spec.prechecks = std::move(*changes.prechecks);
  if (changes.work) node.spec.work = std::move(*changes.work);
  if (changes.postchecks) node.spec.postchecks = std::move(*changes.postchecks);
  if (changes.timeout) node.spec.timeout = *changes.timeout;
  for (size_t i = 0; i < kSandboxFields.size(); ++i) {
    if (changes.sandbox[i]) node.spec.sandbox[i] = std::move(*changes.sandbox[i]);
  }
  recomputePriorities();
  if (changes.dependencies) followDependencies(index);
  if (restartsAll) {
    voidFrom(index, Phase::MergeFi, entry.at);
  } else if (restartsChecks) {
    voidFrom(index, Phase::Postchecks, entry.at);
  }
  if (node.edits.size() == kMaxEdits) node.edits.erase(node.edits.begin());
  std::string& kept = node.edits.emplace_back();
  json::Writer writer(kept);
  writer.beginObject().field("at", entry.at).rawField("changes", given->raw);
  if (const auto before = member(entry.detail, "before", json::Kind::Object)) {
    writer.rawField("before", before->raw);
  }
  writer.endObject();
  return std::nullopt;
}

Phase Plan::phaseWithRest(NodeIndex index, Phase phase) const {
  // The commit phase finds the earlier commit again.
  const bool hasRest = firstPhase(index, phase) || nodes_[index].attempts.empty();
  return hasRest ? phase : Phase::Commit;
}

// Invalidates the results of this phase and the later ones.
void Plan::voidFrom(NodeIndex index, Phase phase, int64_t at) {
  Node& node = nodes_[index];
  node.retryAtLatest = std::min(node.retryAtLatest, phase);
  if (phase == Phase::MergeFi && node.landing == LandingState::Again)
    setLanding(index, LandingState::None);
  // The phase of a failed or canceled node shows where it ended.
  if (node.status == NodeStatus::Failed || node.status == NodeStatus::Canceled) return;
  node.phase = phaseWithRest(index, std::min(node.phase, phase));
  if (node.phase != Phase::MergeFi || !std::exchange(node.resumes, false)) return;
  node.attempts.back().status = NodeStatus::Canceled;
  node.attempts.back().endedAt = at;
}

std::optional<std::string> Plan::replaced(const Entry& entry, NodeIndex index) {
  Node& node = nodes_[index];
  const auto by = find(textMember(entry.detail, "by"));
  if (!isEditable(index) || !by || *by + 1 != size() || !nodes_[*by].attempts.empty()) {
    return "a replacement that is not valid";
  }
  Problems problems;
  const auto inherits = member(entry.detail, "inherits", json::Kind::Boolean);
  const bool takesAll = inherits && json::decodeBoolean(*inherits);
  if (!graph_.replace(index, *by, takesAll, problems)) return firstProblem(problems);
  recomputePriorities();
  if (node.status != NodeStatus::Failed && node.status != NodeStatus::Canceled) {
    end(index, PhaseStatus::Canceled, entry);
    (void)move(index, NodeStatus::Canceled);
  }
  if (node.landing == LandingState::Again) setLanding(index, LandingState::None);
  followDependencies(*by);
  for (const NodeIndex next : graph_.dependents(*by)) followDependencies(next);
  return std::nullopt;
}

std::optional<NodeIndex> Plan::findStranded(NodeIndex index,
                                            std::span<const NodeIndex> kept) const {
  if (spec_.targetBranch.empty()) return std::nullopt;
  for (const NodeIndex other : graph_.dependencies(index)) {
    const bool isKept = std::ranges::find(kept, other) != kept.end();
    if (isKept || graph_.dependents(other).size() > 1) continue;
    const Node& node = nodes_[other];
    if (node.status == NodeStatus::Succeeded && node.landing != LandingState::Landed) return other;
  }
  return std::nullopt;
}

std::string Plan::describeFields(NodeIndex index, const NodeChanges& changes) const {
  const NodeSpec& spec = nodes_[index].spec;
  std::string out;
  json::Writer writer(out);
  writer.beginObject();
  if (changes.prechecks) writeWorkField(writer, "prechecks", spec.prechecks);
  if (changes.work) writeWorkField(writer, "work", spec.work);
  if (changes.postchecks) writeWorkField(writer, "postchecks", spec.postchecks);
  if (changes.dependencies) {
    writer.key("dependencies").beginArray();
    for (const NodeIndex other : graph_.dependencies(index)) writer.string(nodes_[other].spec.id);
    writer.endArray();
  }
  if (changes.timeout) {
    const double seconds = static_cast<double>(spec.timeout.count()) / 1000;
    writer.rawField("timeout", seconds > 0 ? decimal(seconds) : "null");
  }
  for (size_t i = 0; i < kSandboxFields.size(); ++i) {
    const std::string& now = spec.sandbox[i];
    if (changes.sandbox[i]) writer.key(kSandboxFields[i]).raw(now.empty() ? "null" : now);
  }
  writer.endObject();
  return out;
}

}  // namespace tap::plan
