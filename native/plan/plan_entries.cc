// Applies each kind of entry to a plan.
#include <algorithm>
#include <utility>

#include "plan/plan.h"
#include "plan/plan_parts.h"

namespace tap::plan {

namespace {

// A later value of a fact replaces the earlier one, so interruptions do not add steps.
void addStep(std::vector<std::string>& steps, const std::string& detail) {
  std::erase_if(steps, [&](const std::string& step) { return isCoveredBy(step, detail); });
  if (steps.size() < Plan::kMaxSteps) steps.push_back(detail);
}

}  // namespace

std::optional<std::string> Plan::apply(const Entry& entry) {
  if (entry.node.empty()) return applyToPlan(entry);
  const auto index = find(entry.node);
  if (!index) return "there is no node " + entry.node.substr(0, 64);
  return applyToNode(entry, *index);
}

std::optional<std::string> Plan::applyToPlan(const Entry& entry) {
  switch (entry.kind) {
    case EntryKind::NodesAdded: {
      Problems problems;
      if (!addText(entry.detail, Origin::Journal, problems)) return firstProblem(problems);
      return std::nullopt;
    }
    case EntryKind::Paused:
      pause_ = textMember(entry.detail, "reason");
      if (pause_.empty()) pause_ = "paused";
      return std::nullopt;
    case EntryKind::Resumed:
      pause_.clear();
      if (const auto budget = member(entry.detail, "budget", json::Kind::Object)) {
        const auto credits = json::find(*budget, "aiCredits");
        const auto tokens = json::find(*budget, "tokens");
        if (credits) spec_.budget.aiCredits = json::decodeNumber(*credits);
        if (tokens) spec_.budget.tokens = json::decodeInteger(*tokens);
      }
      return std::nullopt;
    case EntryKind::PlanCanceled:
      isCanceled_ = true;
      pause_.clear();
      for (NodeIndex i = 0; i < nodes_.size(); ++i) {
        if (isTerminal(nodes_[i].status)) continue;
        end(i, PhaseStatus::Canceled, entry);
        (void)move(i, NodeStatus::Canceled);
      }
      return std::nullopt;
    case EntryKind::PlanEnded:
      if (!allTerminal() || !entry.plan) return "the plan has not ended";
      ended_ = entry.plan;
      endedAt_ = entry.at;
      return std::nullopt;
    case EntryKind::Landed:
      landWaiting();
      return std::nullopt;
    case EntryKind::Created:
    case EntryKind::Scheduled:
    case EntryKind::Began:
    case EntryKind::Step:
    case EntryKind::PhaseBegan:
    case EntryKind::PhaseEnded:
    case EntryKind::NodeSucceeded:
    case EntryKind::NodeFailed:
    case EntryKind::Interrupted:
    case EntryKind::Retried:
    case EntryKind::NodeCanceled:
    case EntryKind::Overlap:
    case EntryKind::NodeEdited:
    case EntryKind::NodeReplaced:
    case EntryKind::Count_:
      break;
  }
  return "an entry " + std::string(text(entry.kind)) + " names no node";
}

std::optional<std::string> Plan::applyToNode(const Entry& entry, NodeIndex index) {
  Node& node = nodes_[index];
  switch (entry.kind) {
    case EntryKind::Scheduled:
      return scheduled(entry, index);
    case EntryKind::Began:
      if (auto problem = move(index, NodeStatus::Running)) return problem;
      if (node.attempts.back().startedAt == 0) node.attempts.back().startedAt = entry.at;
      node.attempts.back().status = NodeStatus::Running;
      if (startedAt_ == 0) startedAt_ = entry.at;
      return std::nullopt;
    case EntryKind::Step:
      if (!holdsPlace(node.status)) return "a step of a node that is not running";
      addStep(node.attempts.back().steps, entry.detail);
      return std::nullopt;
    case EntryKind::PhaseBegan:
      if (!entry.phase || node.landing != LandingState::Queued || landingSlot_)
        return "the start of a phase that did not wait";
      std::erase(landingQueue_, index);
      beginPhase(index, *entry.phase, entry.at);
      return std::nullopt;
    case EntryKind::PhaseEnded:
      return phaseEnded(entry, index);
    case EntryKind::NodeSucceeded:
    case EntryKind::NodeFailed:
      return nodeEnded(entry, index);
    case EntryKind::Interrupted:
      return interrupted(entry, index);
    case EntryKind::Retried:
      return retried(entry, index);
    case EntryKind::NodeCanceled:
      if (isTerminal(node.status)) return "a cancel of a node that had ended";
      end(index, PhaseStatus::Canceled, entry);
      (void)move(index, NodeStatus::Canceled);
      blockAfter(index);
      return std::nullopt;
    case EntryKind::Landed:
      return landedLate(entry, index);
    case EntryKind::Overlap:
      if (overlaps_.size() < kMaxOverlaps) overlaps_.push_back(entry.detail);
      return std::nullopt;
    case EntryKind::NodeEdited:
      return edited(entry, index);
    case EntryKind::NodeReplaced:
      return replaced(entry, index);
    case EntryKind::Created:
    case EntryKind::NodesAdded:
    case EntryKind::Paused:
    case EntryKind::Resumed:
    case EntryKind::PlanCanceled:
    case EntryKind::PlanEnded:
    case EntryKind::Count_:
      break;
  }
  return "an entry " + std::string(text(entry.kind)) + " names a node";
}

std::optional<std::string> Plan::nodeEnded(const Entry& entry, NodeIndex index) {
  Node& node = nodes_[index];
  const bool isGood = entry.kind == EntryKind::NodeSucceeded;
  const NodeStatus status = isGood ? NodeStatus::Succeeded : NodeStatus::Failed;
  if (auto problem = move(index, status)) return problem;
  if (isGood) {
    succeed(index);
  } else {
    end(index, PhaseStatus::Failed, entry);
  }
  node.attempts.back().status = status;
  node.attempts.back().endedAt = entry.at;
  if (entry.retry) {
    ++node.retries;
  } else if (!isGood) {
    blockAfter(index);
  }
  return std::nullopt;
}

std::optional<std::string> Plan::interrupted(const Entry& entry, NodeIndex index) {
  Node& node = nodes_[index];
  if (!holdsPlace(node.status) || node.landing == LandingState::Waiting)
    return "an interruption of a node that is not running";
  end(index, PhaseStatus::Interrupted, entry);
  addUsage(index, entry);
  ++node.attempts.back().interruptions;
  ++node.attempts.back().phases[static_cast<size_t>(node.phase)].interruptions;
  node.resumes = true;
  node.notBefore = entry.until;
  return move(index, NodeStatus::Ready);
}

std::optional<std::string> Plan::scheduled(const Entry& entry, NodeIndex index) {
  Node& node = nodes_[index];
  const auto attempt = static_cast<uint32_t>(node.attempts.size() + (node.resumes ? 0 : 1));
  if (!entry.phase || entry.attempt != attempt) return "an attempt with the wrong number";
  if (needsLandingSlot(index, *entry.phase) && landingSlot_) return "two nodes land at once";
  if (auto problem = move(index, NodeStatus::Scheduled)) return problem;
  if (!node.resumes) {
    Attempt next;
    next.scheduledAt = entry.at;
    next.from = *entry.phase;
    next.landsAgain = node.landing == LandingState::Again;
    if (!node.attempts.empty() && *entry.phase != Phase::MergeFi) {
      next.steps = node.attempts.back().steps;
      for (size_t i = 0; i < static_cast<size_t>(*entry.phase); ++i) {
        const PhaseRecord& before = node.attempts.back().phases[i];
        if (before.status == PhaseStatus::Pending) continue;
        next.phases[i].status = PhaseStatus::Skipped;
        // A failed phase counts as done; its error does not.
        if (before.status != PhaseStatus::Failed) next.phases[i].detail = before.detail;
      }
    }
    node.attempts.push_back(std::move(next));
    node.retryAtLatest = Phase::MergeRi;
  }
  node.attempts.back().status = NodeStatus::Scheduled;
  node.resumes = false;
  node.notBefore = 0;
  if (const auto reserved = member(entry.detail, "reserved", json::Kind::Object)) {
    const Usage usage = readUsage(*reserved);
    const auto tokens = json::find(*reserved, "tokens");
    node.reserved = {usage.aiCredits, tokens ? json::decodeInteger(*tokens).value_or(0) : 0};
    reserved_.aiCredits += node.reserved.aiCredits;
    reserved_.tokens += node.reserved.tokens;
  }
  beginPhase(index, *entry.phase, entry.at);
  return std::nullopt;
}

void Plan::beginPhase(NodeIndex index, Phase phase, int64_t at) {
  Node& node = nodes_[index];
  node.phase = phase;
  PhaseRecord& record = node.attempts.back().phases[static_cast<size_t>(phase)];
  record.status = PhaseStatus::Running;
  if (record.startedAt == 0) record.startedAt = at;
  record.endedAt = 0;
  LandingState landing = LandingState::None;
  if (needsLandingSlot(index, phase)) {
    landingSlot_ = index;
    landing = phase == Phase::Postchecks ? LandingState::Checking : LandingState::Moving;
  }
  if (node.landing != landing) setLanding(index, landing);
}

std::optional<std::string> Plan::phaseEnded(const Entry& entry, NodeIndex index) {
  Node& node = nodes_[index];
  if (!holdsPlace(node.status) || !entry.phase || *entry.phase != node.phase || !entry.status) {
    return "the end of a phase that is not running";
  }
  PhaseRecord& record = node.attempts.back().phases[static_cast<size_t>(node.phase)];
  if (record.status != PhaseStatus::Running) return "the end of a phase that is not running";
  record.status = *entry.status;
  record.endedAt = entry.at;
  record.detail = entry.detail;
  applyDetail(index, entry);
  if (*entry.phase == Phase::Work && *entry.status == PhaseStatus::Succeeded)
    recordDuration(node, record);
  if (*entry.status == PhaseStatus::Failed) return std::nullopt;
  if (entry.next) {
    beginPhase(index, *entry.next, entry.at);
    return std::nullopt;
  }
  const auto next = phaseAfter(index, node.phase);
  if (!next) return std::nullopt;
  node.phase = *next;
  setLanding(index, LandingState::Queued);
  landingQueue_.push_back(index);
  return std::nullopt;
}

void Plan::addUsage(NodeIndex index, const Entry& entry) {
  const auto used = member(entry.detail, "usage", json::Kind::Object);
  if (!used) return;
  const Usage usage = readUsage(*used);
  nodes_[index].usage.add(usage);
  usage_.add(usage);
}

// The parts of a detail that change the state.
void Plan::applyDetail(NodeIndex index, const Entry& entry) {
  Node& node = nodes_[index];
  if (entry.detail.empty()) return;
  addUsage(index, entry);
  if (entry.phase == Phase::Work) releaseReservation(index);
  if (*entry.status != PhaseStatus::Succeeded) return;
  if (std::string commit = textMember(entry.detail, "commit"); !commit.empty()) {
    node.commit = std::move(commit);
  }
  const auto changes = member(entry.detail, "changes", json::Kind::Object);
  if (changes && *entry.phase == Phase::Commit) node.changes = readChanges(*changes);
  if (*entry.phase != Phase::MergeRi) return;
  if (const auto why = member(entry.detail, "unlanded", json::Kind::Object)) {
    return awaitLanding(index, entry, why->raw);
  }
  if (changes) landed_.add(readChanges(*changes));
  if (textMember(entry.detail, "landed").empty()) return;
  setLanding(index, LandingState::Landed);
  landWaiting();  // each result contains the earlier ones
}

void Plan::awaitLanding(NodeIndex index, const Entry& entry, std::string_view why) {
  Node& node = nodes_[index];
  if (!lands(index)) return;  // a node that was added behind it lands its work
  setLanding(index, LandingState::Waiting);
  node.waiting = {};
  if (const auto changes = member(entry.detail, "changes", json::Kind::Object)) {
    node.waiting = readChanges(*changes);
  }
  waiting_.add(node.waiting);
  waitingNodes_.push_back(index);
  waitingResult_ = textMember(entry.detail, "result");
  unlanded_ = why;
}

// It is in no result any more, or a dependent lands its work.
void Plan::stopWaiting(NodeIndex index) {
  if (nodes_[index].landing != LandingState::Waiting) return;
  setLanding(index, LandingState::None);
  std::erase(waitingNodes_, index);
  waiting_ = {};
  for (const NodeIndex other : waitingNodes_) waiting_.add(nodes_[other].waiting);
  waitingResult_.clear();
  if (waitingNodes_.empty()) unlanded_.clear();
}

void Plan::landWaiting() {
  for (const NodeIndex index : std::exchange(waitingNodes_, {}))
    setLanding(index, LandingState::Landed);
  unlanded_.clear();
  waitingResult_.clear();
  landed_.add(std::exchange(waiting_, {}));
}

// The landing could not be stopped when the node was canceled.
std::optional<std::string> Plan::landedLate(const Entry& entry, NodeIndex index) {
  Node& node = nodes_[index];
  if (node.status != NodeStatus::Canceled || node.phase != Phase::MergeRi || !lands(index) ||
      node.attempts.empty()) {
    return "a late landing of a node that was not canceled while it landed";
  }
  stopWaiting(index);
  if (node.landing != LandingState::None) setLanding(index, LandingState::None);
  Attempt& attempt = node.attempts.back();
  PhaseRecord& record = attempt.phases[static_cast<size_t>(Phase::MergeRi)];
  record.status = PhaseStatus::Succeeded;
  record.detail = entry.detail;
  attempt.status = NodeStatus::Succeeded;
  if (const auto why = member(entry.detail, "unlanded", json::Kind::Object)) {
    awaitLanding(index, entry, why->raw);
  } else if (const auto changes = member(entry.detail, "changes", json::Kind::Object)) {
    landed_.add(readChanges(*changes));
  }
  if (node.landing != LandingState::Waiting) setLanding(index, LandingState::Landed);
  // The waiting leaves have landed with it only if the target has the whole result.
  if (!textMember(entry.detail, "result").empty()) landWaiting();
  succeed(index);
  return move(index, NodeStatus::Succeeded);
}

void Plan::releaseReservation(NodeIndex index) {
  Node& node = nodes_[index];
  reserved_.aiCredits = std::max(0.0, reserved_.aiCredits - node.reserved.aiCredits);
  reserved_.tokens -= node.reserved.tokens;
  node.reserved = {};
}

void Plan::succeed(NodeIndex index) {
  releaseReservation(index);
  leaveLanding(index, lands(index) ? LandingState::Landed : LandingState::None);
  const Node& node = nodes_[index];
  if (node.spec.work.kind == WorkKind::Agent && !node.attempts.back().landsAgain) ++agentsDone_;
  for (const NodeIndex next : graph_.dependents(index)) {
    if (--nodes_[next].open == 0 && nodes_[next].status == NodeStatus::Pending) {
      (void)move(next, NodeStatus::Ready);
    }
  }
}

// Ends the attempt of a node without success.
void Plan::end(NodeIndex index, PhaseStatus phase, const Entry& entry) {
  Node& node = nodes_[index];
  releaseReservation(index);
  if (node.attempts.empty()) return;
  Attempt& attempt = node.attempts.back();
  leaveLanding(index, LandingState::None);
  const bool landsAgain = attempt.landsAgain && !isTerminal(attempt.status);
  if (landsAgain && node.landing == LandingState::None) setLanding(index, LandingState::Again);
  PhaseRecord& record = attempt.phases[static_cast<size_t>(node.phase)];
  if (record.status == PhaseStatus::Running) {
    record.status = phase;
    record.endedAt = entry.at;
    record.detail = entry.detail;
  }
  if (phase == PhaseStatus::Canceled && !isTerminal(attempt.status)) {
    attempt.status = NodeStatus::Canceled;
    attempt.endedAt = entry.at;
  }
}

void Plan::setLanding(NodeIndex index, LandingState to) {
  LandingState& state = nodes_[index].landing;
  hasInvalidLanding_ = hasInvalidLanding_ || !isTransition(state, to);
  state = to;
}

// Frees the landing slot, or the place in its queue.
void Plan::leaveLanding(NodeIndex index, LandingState to) {
  if (landingSlot_ == index) landingSlot_.reset();
  const LandingState from = nodes_[index].landing;
  if (from == LandingState::Queued) std::erase(landingQueue_, index);
  const bool isOnItsWay = from == LandingState::Queued || from == LandingState::Checking ||
                          from == LandingState::Moving;
  if (isOnItsWay) setLanding(index, to);
}

}  // namespace tap::plan
