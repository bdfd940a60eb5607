#include "plan/plan.h"

#include <algorithm>
#include <utility>

#include "plan/plan_parts.h"
#include "plan/plan_reader.h"

namespace tap::plan {

std::optional<Plan> Plan::make(std::string_view text, std::string_view facts, int64_t at,
                               Problems& problems) {
  Plan plan;
  plan.spec_ = readPlan(text, problems);
  plan.facts_ = facts;
  const auto isUnsandboxed = member(facts, "unsandboxed", json::Kind::Boolean);
  plan.isUnsandboxed_ = isUnsandboxed && json::decodeBoolean(*isUnsandboxed);
  plan.createdAt_ = at;
  if (plan.spec_.startPaused) plan.pause_ = "startPaused";
  // Even after problems, so that those of the dependencies are reported with them.
  if (!plan.add(std::exchange(plan.spec_.nodes, {}), Origin::Request, problems)) {
    return std::nullopt;
  }
  return plan;
}

Result<Plan, std::string> Plan::create(const Entry& entry) {
  if (entry.kind != EntryKind::Created)
    return std::string("the journal does not begin with a plan");
  const auto text = member(entry.detail, "plan", json::Kind::Object);
  const auto facts = member(entry.detail, "facts", json::Kind::Object);
  if (!text || !facts) return std::string("the first entry has no plan");
  Problems problems;
  auto plan = make(text->raw, facts->raw, entry.at, problems);
  if (!plan) return firstProblem(problems);
  return std::move(*plan);
}

bool Plan::add(std::vector<NodeSpec> nodes, Origin origin, Problems& problems) {
  const auto first = static_cast<NodeIndex>(nodes_.size());
  if (!graph_.add(nodes, origin, problems)) return false;
  for (NodeSpec& spec : nodes) {
    Node node;
    node.spec = std::move(spec);
    node.spec.dependencies = {};  // the graph has them
    nodes_.push_back(std::move(node));
  }
  counts_[static_cast<size_t>(NodeStatus::Pending)] += nodes.size();
  recomputePriorities();
  for (NodeIndex i = first; i < nodes_.size(); ++i) {
    for (const NodeIndex other : graph_.dependencies(i)) {
      if (nodes_[other].status != NodeStatus::Succeeded) ++nodes_[i].open;
      stopWaiting(other);  // its work lands with this node
    }
    if (blockedBy(i)) {
      (void)move(i, NodeStatus::Blocked);
      blockAfter(i);
    } else if (nodes_[i].open == 0) {
      (void)move(i, NodeStatus::Ready);
    }
  }
  return true;
}

bool Plan::addText(std::string_view nodes, Origin origin, Problems& problems) {
  std::vector<NodeSpec> specs = readNodes(nodes, problems);
  if (!add(std::move(specs), origin, problems)) return false;
  if (ended_) reopen();
  return true;
}

void Plan::blockAfter(NodeIndex index) {
  std::vector<NodeIndex> queue{index};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const NodeIndex next : graph_.dependents(queue[i])) {
      const NodeStatus status = nodes_[next].status;
      if (status != NodeStatus::Pending && status != NodeStatus::Ready) continue;
      (void)move(next, NodeStatus::Blocked);
      queue.push_back(next);
    }
  }
}

std::optional<NodeIndex> Plan::blockedBy(NodeIndex index) const {
  for (const NodeIndex other : graph_.dependencies(index)) {
    const NodeStatus status = nodes_[other].status;
    if (isTerminal(status) && status != NodeStatus::Succeeded) return other;
  }
  return std::nullopt;
}

void Plan::unblockAfter(NodeIndex index) {
  std::vector<NodeIndex> queue{index};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const NodeIndex next : graph_.dependents(queue[i])) {
      if (nodes_[next].status != NodeStatus::Blocked || blockedBy(next)) continue;
      (void)move(next, NodeStatus::Pending);
      queue.push_back(next);
    }
  }
}

std::optional<std::string> Plan::move(NodeIndex index, NodeStatus to) {
  Node& node = nodes_[index];
  if (!isTransition(node.status, to)) {
    return "node " + node.spec.id + " cannot go from " + std::string(text(node.status)) + " to " +
           std::string(text(to));
  }
  if (node.status == NodeStatus::Ready) {
    dequeue(index);
    node.notBefore = 0;
  }
  --counts_[static_cast<size_t>(node.status)];
  ++counts_[static_cast<size_t>(to)];
  node.status = to;
  if (to == NodeStatus::Ready) enqueue(index);
  return std::nullopt;
}

Need Plan::nodeNeed(const Node& node) {
  if (node.spec.isJoin()) return Need::Nothing;
  return node.spec.work.kind == WorkKind::Agent ? Need::Agent : Need::Place;
}

void Plan::enqueue(NodeIndex index) {
  const Node& node = nodes_[index];
  if (node.notBefore > 0) {
    delayed_.emplace(node.notBefore, index);
  } else {
    ready_[static_cast<size_t>(nodeNeed(node))].insert(
        {node.path, graph_.dependents(index).size(), index});
  }
}

void Plan::dequeue(NodeIndex index) {
  const Node& node = nodes_[index];
  if (node.notBefore > 0 && delayed_.erase({node.notBefore, index}) > 0) return;
  ready_[static_cast<size_t>(nodeNeed(node))].erase(
      {node.path, graph_.dependents(index).size(), index});
}

std::optional<int64_t> Plan::nextDelayed() const {
  if (delayed_.empty()) return std::nullopt;
  return delayed_.begin()->first;
}

void Plan::releaseDelayed(int64_t now) {
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    const NodeIndex index = delayed_.begin()->second;
    delayed_.erase(delayed_.begin());
    nodes_[index].notBefore = 0;
    enqueue(index);
  }
}

int64_t Plan::expectedDuration(const Node& node) const {
  for (const Attempt& attempt : node.attempts) {
    const PhaseRecord& work = attempt.phases[static_cast<size_t>(Phase::Work)];
    if (work.endedAt > work.startedAt) return work.endedAt - work.startedAt;
  }
  const int64_t used = durationStats_[static_cast<size_t>(node.spec.work.kind)].used;
  return std::max<int64_t>(1, used);
}

void Plan::recomputePriorities() {
  for (auto& ready : ready_) ready.clear();
  for (size_t i = graph_.size(); i-- > 0;) {
    const NodeIndex index = graph_.order()[i];
    int64_t longest = 0;
    for (const NodeIndex next : graph_.dependents(index)) {
      longest = std::max(longest, nodes_[next].path);
    }
    nodes_[index].path = longest + expectedDuration(nodes_[index]);
  }
  for (NodeIndex i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].status == NodeStatus::Ready && !(nodes_[i].notBefore > 0)) enqueue(i);
  }
}

// Recomputes the priorities when a mean has doubled or halved: rarely, even in a long plan.
void Plan::recordDuration(const Node& node, const PhaseRecord& record) {
  DurationStats& took = durationStats_[static_cast<size_t>(node.spec.work.kind)];
  took.millis += std::max<int64_t>(1, record.endedAt - record.startedAt);
  ++took.times;
  const int64_t mean = took.millis / took.times;
  if (took.used > 0 && mean < 2 * took.used && 2 * mean > took.used) return;
  took.used = mean;
  recomputePriorities();
}

bool Plan::allTerminal() const {
  return count(NodeStatus::Pending) + count(NodeStatus::Ready) + count(NodeStatus::Scheduled) +
             count(NodeStatus::Running) ==
         0;
}

PlanStatus Plan::status() const {
  if (ended_) return *ended_;
  if (isPaused()) return PlanStatus::Paused;
  return startedAt_ > 0 || count(NodeStatus::Scheduled) > 0 ? PlanStatus::Running
                                                            : PlanStatus::Pending;
}

std::array<size_t, kNodeStatuses> Plan::countOwn() const {
  std::array<size_t, kNodeStatuses> counts = counts_;
  for (const auto& [index, by] : graph_.replacements()) {
    --counts[static_cast<size_t>(nodes_[index].status)];
  }
  return counts;
}

PlanStatus Plan::outcome() const {
  if (isCanceled_) return PlanStatus::Canceled;
  const auto counts = countOwn();
  const auto count = [&counts](NodeStatus status) { return counts[static_cast<size_t>(status)]; };
  const size_t succeeded = count(NodeStatus::Succeeded);
  if (succeeded == size() - graph_.replacements().size())
    return isUnlanded() ? PlanStatus::Partial : PlanStatus::Succeeded;
  const bool someFailed = count(NodeStatus::Failed) + count(NodeStatus::Blocked) > 0;
  if (succeeded > 0 && someFailed) return PlanStatus::Partial;
  return count(NodeStatus::Failed) > 0 ? PlanStatus::Failed : PlanStatus::Canceled;
}

std::vector<NodeIndex> Plan::leftToLand() const {
  std::vector<NodeIndex> left;
  for (NodeIndex i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const bool isOver = node.status == NodeStatus::Failed || node.status == NodeStatus::Canceled;
    if (lands(i) && (node.landing == LandingState::Waiting || (node.isRelanding() && isOver)))
      left.push_back(i);
  }
  return left;
}

std::vector<NodeIndex> Plan::landing() const {
  std::vector<NodeIndex> found;
  for (NodeIndex i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].isRelanding() && !isTerminal(nodes_[i].status)) found.push_back(i);
  }
  return found;
}

bool Plan::landsAsChecked(std::string_view result, bool follows) const {
  if (!follows || waitingResult_.empty() || result != waitingResult_) return false;
  for (NodeIndex i = 0; i < nodes_.size(); ++i) {
    if (lands(i) && nodes_[i].isRelanding()) return false;
  }
  return true;
}

std::optional<Phase> Plan::firstPhase(NodeIndex index, Phase phase) const {
  const NodeSpec& spec = nodes_[index].spec;
  for (size_t i = static_cast<size_t>(phase); i < kPhases; ++i) {
    const auto candidate = static_cast<Phase>(i);
    bool has = false;
    switch (candidate) {
      case Phase::MergeFi:
        has = true;
        break;
      case Phase::Prechecks:
        has = spec.prechecks.kind != WorkKind::None;
        break;
      case Phase::Work:
        has = spec.work.kind != WorkKind::None;
        break;
      case Phase::Commit:
        has = spec.prechecks.kind != WorkKind::None || spec.work.kind != WorkKind::None;
        break;
      case Phase::Postchecks:
        has = spec.postchecks.kind != WorkKind::None;
        break;
      case Phase::MergeRi:
        has = lands(index);
        break;
      case Phase::Count_:
        break;
    }
    if (has) return candidate;
  }
  return std::nullopt;
}

std::optional<Phase> Plan::phaseAfter(NodeIndex index, Phase phase) const {
  return firstPhase(index, static_cast<Phase>(static_cast<size_t>(phase) + 1));
}

}  // namespace tap::plan
