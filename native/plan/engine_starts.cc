// Chooses the next node to start, and counts the free slots.
#include <algorithm>
#include <utility>

#include "plan/engine.h"
#include "plan/engine_parts.h"

namespace tap::plan {

void Engine::due(const Moment& now, Batch& out) {
  memoryWait_.reset();
  for (const std::string& id : order_) live(id)->plan.releaseDelayed(now.unixMillis);
  startReady(now, out);
}

std::optional<int64_t> Engine::wakeAt() const {
  std::optional<int64_t> first = memoryWait_;
  for (const auto& [id, live] : plans_) {
    if (live.plan.ended() || live.plan.isPaused()) continue;
    const auto next = live.plan.nextDelayed();
    if (next && (!first || *next < *first)) first = next;
  }
  return first;
}

void Engine::startReady(const Moment& now, Batch& out) {
  while (startOne(now, out)) {
  }
}

// The plan with the fewest slots in use comes first, the older plan before a newer.
bool Engine::startOne(const Moment& now, Batch& out) {
  std::vector<Live*> waiting;
  for (const std::string& id : order_) {
    Live& candidate = *live(id);
    if (candidate.plan.ended() || candidate.plan.isPaused()) continue;
    if (candidate.plan.count(NodeStatus::Ready) > 0) waiting.push_back(&candidate);
  }
  std::ranges::stable_sort(waiting, {}, &Live::places);
  return std::ranges::any_of(waiting, [&](Live* candidate) {
    const auto node = pick(*candidate, now);
    if (node) start(*candidate, *node, now, out);
    return node.has_value();
  });
}

std::optional<NodeIndex> Engine::firstStartable(const Live& live, Need need) {
  for (const ReadyKey& key : live.plan.ready(need)) {
    if ((live.holds[key.node] & kBusy) != 0) continue;  // a canceled process has not ended yet
    const auto phase = live.plan.firstPhase(key.node, live.plan.node(key.node).phase);
    if (phase && live.plan.needsLandingSlot(key.node, *phase) && live.plan.landingSlot()) continue;
    return key.node;
  }
  return std::nullopt;
}

std::optional<NodeIndex> Engine::pick(Live& live, const Moment& now) {
  if (const auto join = firstStartable(live, Need::Nothing)) return join;
  const auto most = static_cast<size_t>(live.plan.spec().maxParallel);
  if (live.places >= most || workers_ >= limits_.maxWorkers) return std::nullopt;
  const auto other = firstStartable(live, Need::Place);
  const auto agent = firstStartable(live, Need::Agent);
  const auto readyKey = [&live](NodeIndex node) {
    return ReadyKey{live.plan.node(node).path, live.plan.graph().dependents(node).size(), node};
  };
  const bool agentFirst = agent && (!other || readyKey(*agent) < readyKey(*other));
  if (agentFirst && mayStartAgent(live, now)) return agent;
  if (other) return other;
  return agent && mayStartAgent(live, now) ? agent : std::nullopt;
}

bool Engine::mayStartAgent(const Live& live, const Moment& now) {
  if (agents_ >= limits_.maxAgents) return false;
  if (agents_ > 0 && now.freeMemory < limits_.workerMemory) {
    memoryWait_ = now.unixMillis + kMemoryWaitMs;
    return false;
  }
  // Running agents may use less than reserved; without a running agent, waiting does not help.
  const bool hasRunningAgent = live.agents > 0;
  const Budget& budget = live.plan.budget();
  const Reserved next = reservation(live);
  const Usage& used = live.plan.usage();
  const Reserved& reserved = live.plan.reserved();
  const bool fits =
      (!budget.aiCredits ||
       used.aiCredits + reserved.aiCredits + next.aiCredits <= *budget.aiCredits) &&
      (!budget.tokens || used.tokens() + reserved.tokens + next.tokens <= *budget.tokens);
  return fits || !hasRunningAgent;
}

// The average use of the earlier agents, or an equal share for the first.
Reserved Engine::reservation(const Live& live) {
  const Plan& plan = live.plan;
  if (plan.agentsDone() > 0) {
    return {plan.usage().aiCredits / plan.agentsDone(), plan.usage().tokens() / plan.agentsDone()};
  }
  const auto nodes = static_cast<double>(std::max<size_t>(1, plan.size()));
  return {plan.budget().aiCredits.value_or(0) / nodes,
          static_cast<int64_t>(static_cast<double>(plan.budget().tokens.value_or(0)) / nodes)};
}

void Engine::start(Live& live, NodeIndex node, const Moment& now, Batch& out) {
  const Node& state = live.plan.node(node);
  const Need need = Plan::nodeNeed(state);
  Entry entry = makeEntry(EntryKind::Scheduled, state, now);
  entry.attempt = static_cast<uint32_t>(state.attempts.size() + (state.resumes ? 0 : 1));
  // A join whose last phase was skipped has no further phase: it merges its dependencies again.
  entry.phase = live.plan.firstPhase(node, state.phase).value_or(Phase::MergeFi);
  if (need == Need::Agent && (live.plan.budget().aiCredits || live.plan.budget().tokens)) {
    const Reserved reserved = reservation(live);
    json::Writer writer(entry.detail);
    writer.beginObject().key("reserved").beginObject();
    writer.rawField("aiCredits", decimal(reserved.aiCredits)).field("tokens", reserved.tokens);
    writer.endObject().endObject();
  }
  const Phase phase = *entry.phase;
  live.holds[node] = kBusy;
  ++live.busyCount;
  if (need != Need::Nothing) {
    live.holds[node] |= kPlace;
    ++live.places;
    ++workers_;
  }
  if (need == Need::Agent) {
    live.holds[node] |= kAgent;
    ++live.agents;
    ++agents_;
  }
  record(live, entry, out);
  run(live, node, phase, true, out);
}

void Engine::run(const Live& live, NodeIndex node, Phase phase, bool isFirst, Batch& out) {
  const bool isAgent = live.plan.node(node).spec.work.kind == WorkKind::Agent;
  if (phase == Phase::MergeRi || (phase == Phase::Work && isAgent)) out.sync = true;
  out.effects.emplace_back(RunPhase{live.id, node, phase, isFirst});
}

void Engine::release(Live& live, NodeIndex node) {
  const uint8_t hold = std::exchange(live.holds[node], uint8_t{0});
  if ((hold & kBusy) != 0) --live.busyCount;
  if ((hold & kPlace) != 0) {
    --live.places;
    --workers_;
  }
  if ((hold & kAgent) != 0) {
    --live.agents;
    --agents_;
  }
}

void Engine::grantLandingSlot(Live& live, const Moment& now, Batch& out) {
  if (live.plan.landingSlot() || live.plan.landingQueue().empty()) return;
  const NodeIndex node = live.plan.landingQueue().front();
  Entry entry = makeEntry(EntryKind::PhaseBegan, live.plan.node(node), now);
  const Phase phase = live.plan.node(node).phase;
  entry.phase = phase;
  record(live, entry, out);
  run(live, node, phase, false, out);
}

// Whether all dependents have started with the node's commit.
bool Engine::allDependentsStarted(const Plan& plan, NodeIndex node) {
  const auto dependents = plan.graph().dependents(node);
  return plan.node(node).status == NodeStatus::Succeeded && !dependents.empty() &&
         std::ranges::all_of(dependents,
                             [&plan](NodeIndex next) { return !plan.node(next).attempts.empty(); });
}

void Engine::probe(Live& live, NodeIndex node, Batch& out) {
  std::erase_if(live.committed, [&](NodeIndex other) {
    return other == node || allDependentsStarted(live.plan, other);
  });
  if (!live.committed.empty()) {
    out.effects.emplace_back(Probe{live.id, node, {live.committed.begin(), live.committed.end()}});
  }
  live.committed.push_back(node);
  if (live.committed.size() > kMaxProbed) live.committed.pop_front();
}

void Engine::checkBudget(Live& live, const Moment& now, Batch& out) {
  const double share = shareUsed(live.plan);
  if (share < kNear || live.plan.ended() || live.plan.isPaused()) return;
  if (share < 1) {
    if (!std::exchange(live.notifiedNear, true)) {
      out.effects.emplace_back(Notice{live.id, Notice::Kind::BudgetNear, {}});
    }
    return;
  }
  Entry entry = makeEntry(EntryKind::Paused, now);
  entry.detail = reasonDetail("budget");
  record(live, entry, out);
  out.effects.emplace_back(Notice{live.id, Notice::Kind::BudgetSpent, {}});
}

void Engine::endIfDone(Live& live, const Moment& now, Batch& out) {
  if (live.plan.ended() || !live.plan.allTerminal() || live.busyCount > 0) return;
  Entry entry = makeEntry(EntryKind::PlanEnded, now);
  entry.plan = live.plan.outcome();
  record(live, entry, out);
  out.effects.emplace_back(Notice{live.id, Notice::Kind::Ended, {}});
}

bool Engine::isBusy(std::string_view plan, NodeIndex node) const {
  const auto found = plans_.find(plan);
  return found != plans_.end() && (found->second.holds[node] & kBusy) != 0;
}

size_t Engine::live() const {
  return static_cast<size_t>(
      std::ranges::count_if(plans_, [](const auto& entry) { return !entry.second.plan.ended(); }));
}

}  // namespace tap::plan
