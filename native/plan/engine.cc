#include "plan/engine.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "plan/engine_parts.h"

namespace tap::plan {

namespace {

// ` It has a, b and 4 more`.
std::string listSomeNodes(const Plan& plan) {
  constexpr size_t kMaxShownNodes = 8;
  std::string text = " It has ";
  const size_t shown = std::min(plan.size(), kMaxShownNodes);
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == plan.size() ? " and " : ", ";
    text += plan.node(static_cast<NodeIndex>(i)).spec.id;
  }
  if (plan.size() > shown) text += " and " + std::to_string(plan.size() - shown) + " more";
  return text;
}

}  // namespace

Refusal Engine::unknownPlan(std::string_view plan) {
  return {Refusal::Code::UnknownPlan, "there is no plan " + std::string(plan.substr(0, 64)) +
                                          "; list_copilot_plans lists those that there are"};
}

Refusal Engine::unknownNode(const Plan& plan, std::string_view node) {
  const std::string known = didYouMean(plan.graph().nearestId(node));
  return {Refusal::Code::UnknownNode, "the plan \"" + plan.spec().name + "\" has no node \"" +
                                          std::string(node.substr(0, 64)) + "\"." +
                                          (known.empty() ? listSomeNodes(plan) : known)};
}

Engine::Live* Engine::live(std::string_view plan) {
  const auto found = plans_.find(plan);
  return found == plans_.end() ? nullptr : &found->second;
}

const Plan* Engine::find(std::string_view plan) const {
  const auto found = plans_.find(plan);
  return found == plans_.end() ? nullptr : &found->second.plan;
}

Refused Engine::locate(std::string_view plan, std::string_view node, NodeRef& at) {
  at.live = live(plan);
  if (at.live == nullptr) return unknownPlan(plan);
  const auto index = at.live->plan.find(node);
  if (index) {
    at.node = *index;
    return std::nullopt;
  }
  return unknownNode(at.live->plan, node);
}

Engine::NodeRef Engine::running(std::string_view plan, std::string_view node, uint32_t attempt) {
  Live* const found = live(plan);
  if (found == nullptr) return {};
  const auto index = found->plan.find(node);
  if (!index) return {};
  const Node& state = found->plan.node(*index);
  if (!holdsPlace(state.status) || state.attempts.size() != attempt) return {};
  return {found, *index};
}

void Engine::record(Live& live, const Entry& entry, Batch& out) {
  const auto problem = live.plan.apply(entry);
  assert(!problem);
  if (problem) return;
  out.entries.push_back({live.id, {}});
  writeEntry(out.entries.back().text, entry);
}

void Engine::growCounters(Live& live) {
  live.holds.resize(live.plan.size());
  live.stale.resize(live.plan.size());
  live.interrupted.resize(live.plan.size());
}

std::optional<std::string> Engine::replay(std::string_view id,
                                          const std::vector<std::string_view>& entries,
                                          const Moment& now) {
  if (live(id) != nullptr) return "a plan with this id exists already";
  std::optional<Plan> plan;
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto reason = [i](const std::string& why) {
      return "entry " + std::to_string(i + 1) + ": " + why;
    };
    auto entry = readEntry(entries[i]);
    if (!entry) return reason(entry.error());
    if (plan) {
      if (const auto problem = plan->apply(entry.value())) return reason(*problem);
      continue;
    }
    auto made = Plan::create(entry.value());
    if (!made) return reason(made.error());
    plan.emplace(std::move(made.value()));
  }
  if (!plan) return "it has no entries";
  plan->releaseDelayed(now.unixMillis);
  insertPlan(id, std::move(*plan));
  return std::nullopt;
}

// Adds a plan that was read from a journal.
void Engine::insertPlan(std::string_view id, Plan plan) {
  Live made{std::string(id), std::move(plan)};
  growCounters(made);
  made.notifiedFailed = made.plan.count(NodeStatus::Failed) > 0;
  made.notifiedNear = shareUsed(made.plan) >= kNear;
  for (NodeIndex i = 0; i < made.plan.size(); ++i) {
    if (made.plan.node(i).commit.empty() || allDependentsStarted(made.plan, i)) continue;
    made.committed.push_back(i);
    if (made.committed.size() > kMaxProbed) made.committed.pop_front();
  }
  plans_.emplace(std::string(id), std::move(made));
  order_.emplace_back(id);
}

void Engine::recover(const Moment& now, Batch& out) {
  for (const std::string& id : order_) {
    Live& live = *this->live(id);
    if (live.plan.ended()) continue;
    for (NodeIndex i = 0; i < live.plan.size(); ++i) {
      if (holdsPlace(live.plan.node(i).status)) recoverNode(live, i, now, out);
    }
    endIfDone(live, now, out);
  }
  startReady(now, out);
}

// A batch is usually written whole; a journal that was cut between two entries can continue, too.
void Engine::recoverNode(Live& live, NodeIndex node, const Moment& now, Batch& out) {
  const Node& state = live.plan.node(node);
  const PhaseRecord& record = state.attempts.back().phases[static_cast<size_t>(state.phase)];
  if (record.status == PhaseStatus::Failed) return failed(live, node, now, out);
  const bool isDone =
      record.status == PhaseStatus::Succeeded || record.status == PhaseStatus::Skipped;
  if (isDone && !live.plan.phaseAfter(node, state.phase) && state.status == NodeStatus::Running) {
    this->record(live, makeEntry(EntryKind::NodeSucceeded, state, now), out);
    out.effects.emplace_back(CleanUp{live.id, node});
    return;
  }
  Entry entry = makeEntry(EntryKind::Interrupted, state, now);
  entry.detail = reasonDetail("the host ended");
  this->record(live, entry, out);
}

}  // namespace tap::plan
