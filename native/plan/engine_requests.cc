// Requests of users and models.
#include <utility>

#include "plan/engine.h"
#include "plan/engine_parts.h"
#include "plan/plan_reader.h"

namespace tap::plan {
namespace {

// `a budget of 50 tokens is spent: … {"budget": {"tokens": 240}}`, or empty.
[[nodiscard]] std::string describeSpent(const Usage& usage, const Budget& budget) {
  std::string spent;
  std::string larger;
  const auto add = [&](const std::string& limit, std::string_view unit, std::string_view field,
                       const std::string& next) {
    spent += (spent.empty() ? "" : " and ") + limit + " " + std::string(unit);
    larger += (larger.empty() ? "\"" : ", \"") + std::string(field) + "\": " + next;
  };
  if (creditShare(usage, budget) >= 1) {
    add(decimal(*budget.aiCredits), "AI credits", "aiCredits", decimal(2 * usage.aiCredits));
  }
  if (tokenShare(usage, budget) >= 1) {
    add(std::to_string(*budget.tokens), "tokens", "tokens", std::to_string(2 * usage.tokens()));
  }
  if (spent.empty()) return spent;
  return "a budget of " + spent +
         " is spent: resume it with a larger budget, as in {\"budget\": {" + larger + "}}";
}

// A part that is not given keeps the plan's value.
[[nodiscard]] Budget mergeBudgets(Budget budget, const Budget& given) {
  if (given.aiCredits) budget.aiCredits = given.aiCredits;
  if (given.tokens) budget.tokens = given.tokens;
  return budget;
}

}  // namespace

Refused Engine::create(std::string_view id, std::string_view text, std::string_view facts,
                       const Moment& now, Problems& problems, Batch& out) {
  if (live(id) != nullptr)
    return Refusal{Refusal::Code::WrongState, "a plan with this id exists already"};
  auto plan = Plan::make(text, facts, now.unixMillis, problems);
  if (!plan) return Refusal{Refusal::Code::InvalidPlan, "the plan is not valid"};
  const auto [place, isNew] =
      plans_.emplace(std::string(id), Live{std::string(id), std::move(*plan)});
  Live& made = place->second;
  growCounters(made);
  order_.emplace_back(id);
  Entry entry = makeEntry(EntryKind::Created, now);
  json::Writer(entry.detail)
      .beginObject()
      .rawField("plan", text)
      .rawField("facts", facts)
      .endObject();
  out.entries.push_back({made.id, {}});
  writeEntry(out.entries.back().text, entry);
  startReady(now, out);
  return std::nullopt;
}

Refused Engine::pause(std::string_view plan, std::string_view reason, const Moment& now,
                      Batch& out) {
  Live* const found = live(plan);
  if (found == nullptr) return unknownPlan(plan);
  if (found->plan.ended()) return Refusal{Refusal::Code::WrongState, "the plan has ended"};
  if (found->plan.isPaused())
    return Refusal{Refusal::Code::WrongState, "the plan is paused already"};
  Entry entry = makeEntry(EntryKind::Paused, now);
  entry.detail = reasonDetail(reason);
  record(*found, entry, out);
  return std::nullopt;
}

Refused Engine::resume(std::string_view plan, std::string_view budget, const Moment& now,
                       Batch& out) {
  Live* const found = live(plan);
  if (found == nullptr) return unknownPlan(plan);
  if (!found->plan.isPaused()) return Refusal{Refusal::Code::WrongState, "the plan is not paused"};
  Problems problems;
  const Budget given = budget.empty() ? Budget() : readBudget(budget, problems);
  if (problems.any()) {
    const Problem& first = problems.list().front();
    return Refusal{Refusal::Code::BadInput, first.path + ": " + first.message};
  }
  const std::string spent =
      describeSpent(found->plan.usage(), mergeBudgets(found->plan.budget(), given));
  if (!spent.empty()) return Refusal{Refusal::Code::WrongState, spent};
  Entry entry = makeEntry(EntryKind::Resumed, now);
  if (!budget.empty())
    json::Writer(entry.detail).beginObject().rawField("budget", budget).endObject();
  record(*found, entry, out);
  found->notifiedNear = false;
  checkBudget(*found, now, out);
  startReady(now, out);
  return std::nullopt;
}

Refused Engine::cancel(std::string_view plan, const Moment& now, Batch& out) {
  Live* const found = live(plan);
  if (found == nullptr) return unknownPlan(plan);
  if (found->plan.ended()) return Refusal{Refusal::Code::WrongState, "the plan has ended already"};
  while (!found->plan.landingQueue().empty()) {  // these wait for the landing slot; no process runs
    const NodeIndex node = found->plan.landingQueue().front();
    record(*found, makeEntry(EntryKind::NodeCanceled, found->plan.node(node), now), out);
    release(*found, node);
  }
  record(*found, makeEntry(EntryKind::PlanCanceled, now), out);
  for (NodeIndex i = 0; i < found->holds.size(); ++i) {
    if ((found->holds[i] & kBusy) != 0) out.effects.emplace_back(StopNode{found->id, i});
  }
  endIfDone(*found, now, out);
  return std::nullopt;
}

Refused Engine::cancelNode(std::string_view plan, std::string_view node, const Moment& now,
                           Batch& out) {
  NodeRef at;
  if (auto refused = locate(plan, node, at)) return refused;
  const Node& state = at.live->plan.node(at.node);
  if (isTerminal(state.status)) {
    return Refusal{Refusal::Code::WrongState,
                   "the node has ended already: " + std::string(plan::text(state.status))};
  }
  const bool runsNothing = state.landing == LandingState::Queued;
  record(*at.live, makeEntry(EntryKind::NodeCanceled, state, now), out);
  if (runsNothing) release(*at.live, at.node);
  if (isBusy(plan, at.node)) out.effects.emplace_back(StopNode{at.live->id, at.node});
  grantLandingSlot(*at.live, now, out);
  endIfDone(*at.live, now, out);
  startReady(now, out);
  return std::nullopt;
}

void Engine::retryLanding(Live& live, const std::vector<NodeIndex>& nodes, const Moment& now,
                          Batch& out) {
  for (const NodeIndex index : nodes) {
    Entry entry = makeEntry(EntryKind::Retried, live.plan.node(index), now);
    entry.phase = Phase::Postchecks;
    live.notifiedFailed = false;
    live.stale[index] = 0;
    live.interrupted[index] = 0;
    record(live, entry, out);
  }
}

Refused Engine::land(std::string_view plan, std::string_view result, bool follows,
                     const Moment& now, Batch& out) {
  Live* const found = live(plan);
  if (found == nullptr) return unknownPlan(plan);
  const std::vector<NodeIndex> left = found->plan.leftToLand();
  const bool isBegun = !found->plan.landing().empty();
  if (left.empty() && !isBegun) {
    return Refusal{Refusal::Code::WrongState, "no node of the plan waits to land"};
  }
  if (!isBegun && found->plan.landsAsChecked(result, follows)) return std::nullopt;
  if (found->plan.isPaused()) {
    return Refusal{
        Refusal::Code::WrongState,
        "the checks of the waiting nodes must run again, and the plan is paused: resume it first"};
  }
  retryLanding(*found, left, now, out);
  startReady(now, out);
  return std::nullopt;
}

Refused Engine::landed(std::string_view plan, std::string_view detail, const Moment& now,
                       Batch& out) {
  Live* const found = live(plan);
  if (found == nullptr) return unknownPlan(plan);
  if (!found->plan.isUnlanded()) {
    return Refusal{Refusal::Code::WrongState, "no node of the plan waits to land"};
  }
  Entry entry = makeEntry(EntryKind::Landed, now);
  entry.detail = detail;
  record(*found, entry, out);
  updateOutcome(*found, now, out);
  return std::nullopt;
}

void Engine::landedLate(std::string_view plan, std::string_view node, std::string_view detail,
                        const Moment& now, Batch& out) {
  NodeRef at;
  if (locate(plan, node, at)) return;
  const Node& state = at.live->plan.node(at.node);
  if (state.status != NodeStatus::Canceled || state.phase != Phase::MergeRi ||
      state.attempts.empty() || !at.live->plan.lands(at.node)) {
    return;
  }
  Entry entry = makeEntry(EntryKind::Landed, state, now);
  entry.detail = detail;
  record(*at.live, entry, out);
  updateOutcome(*at.live, now, out);
}

// A late landing changes the outcome of an ended plan.
void Engine::updateOutcome(Live& live, const Moment& now, Batch& out) {
  if (!live.plan.ended()) return;
  Entry ended = makeEntry(EntryKind::PlanEnded, now);
  ended.plan = live.plan.outcome();
  record(live, ended, out);
}

Refused Engine::forget(std::string_view plan) {
  const Live* const found = live(plan);
  if (found == nullptr) return unknownPlan(plan);
  if (!found->plan.ended() || found->busyCount > 0) {
    return Refusal{Refusal::Code::WrongState, "the plan has not ended; cancel it first"};
  }
  std::erase(order_, found->id);
  plans_.erase(plans_.find(plan));
  return std::nullopt;
}

}  // namespace tap::plan
