// Reports about nodes, and their consequences.
#include <utility>

#include "plan/engine.h"
#include "plan/engine_parts.h"

namespace tap::plan {

void Engine::began(std::string_view plan, std::string_view node, uint32_t attempt,
                   const Moment& now, Batch& out) {
  const NodeRef at = running(plan, node, attempt);
  if (at.live == nullptr) return;
  const Node& state = at.live->plan.node(at.node);
  if (state.status != NodeStatus::Scheduled) return;
  const bool isFirst = at.live->plan.startedAt() == 0;
  record(*at.live, makeEntry(EntryKind::Began, state, now), out);
  if (isFirst) out.effects.emplace_back(Notice{at.live->id, Notice::Kind::Started, {}});
}

void Engine::step(std::string_view plan, std::string_view node, uint32_t attempt,
                  std::string_view detail, const Moment& now, Batch& out) {
  const NodeRef at = running(plan, node, attempt);
  if (at.live == nullptr) return;
  Entry entry = makeEntry(EntryKind::Step, at.live->plan.node(at.node), now);
  entry.detail = detail;
  record(*at.live, entry, out);
}

void Engine::phaseEnded(std::string_view plan, std::string_view node, uint32_t attempt, Phase phase,
                        Outcome outcome, std::string_view detail, int64_t until, const Moment& now,
                        Batch& out) {
  const NodeRef at = running(plan, node, attempt);
  if (at.live == nullptr) return stopped(plan, node, now, out);
  Live& live = *at.live;
  const Node& state = live.plan.node(at.node);
  if (state.phase != phase || state.landing == LandingState::Queued) return;
  switch (outcome) {
    case Outcome::Succeeded:
      succeeded(live, at.node, PhaseStatus::Succeeded, detail, now, out);
      break;
    case Outcome::Skipped:
      succeeded(live, at.node, PhaseStatus::Skipped, detail, now, out);
      break;
    case Outcome::Failed:
      failPhase(live, at.node, detail, now, out);
      break;
    case Outcome::Stale:
      stale(live, at.node, detail, now, out);
      break;
    case Outcome::Interrupted: {
      if (until <= now.unixMillis && ++live.interrupted[at.node] > kMaxInterruptions) {
        failPhase(live, at.node, detail, now, out);
        break;
      }
      Entry entry = makeEntry(EntryKind::Interrupted, state, now);
      entry.until = until > now.unixMillis ? until : 0;
      entry.detail = detail;
      record(live, entry, out);
      release(live, at.node);
      grantLandingSlot(live, now, out);
      if (until > now.unixMillis && !std::exchange(live.notifiedWaiting, true)) {
        out.effects.emplace_back(Notice{live.id, Notice::Kind::Waiting, state.spec.id});
      }
      break;
    }
  }
  checkBudget(live, now, out);
  startReady(now, out);
}

void Engine::succeeded(Live& live, NodeIndex node, PhaseStatus status, std::string_view detail,
                       const Moment& now, Batch& out) {
  const Node& state = live.plan.node(node);
  const Phase phase = state.phase;
  const auto next = live.plan.phaseAfter(node, phase);
  live.interrupted[node] = 0;
  Entry entry = makeEntry(EntryKind::PhaseEnded, state, now);
  entry.phase = phase;
  entry.status = status;
  entry.detail = detail;
  const bool mustWait = next && live.plan.needsLandingSlot(node, *next) &&
                        live.plan.landingSlot() && *live.plan.landingSlot() != node;
  if (!mustWait) entry.next = next;
  // A join has no work, so the caller does not report that it began.
  if (state.status == NodeStatus::Scheduled)
    began(live.id, state.spec.id, static_cast<uint32_t>(state.attempts.size()), now, out);
  record(live, entry, out);
  if (phase == Phase::Commit) probe(live, node, out);
  if (next) {
    if (!mustWait) run(live, node, *next, false, out);
    return;
  }
  record(live, makeEntry(EntryKind::NodeSucceeded, state, now), out);
  release(live, node);
  out.effects.emplace_back(CleanUp{live.id, node});
  grantLandingSlot(live, now, out);
  endIfDone(live, now, out);
}

void Engine::stale(Live& live, NodeIndex node, std::string_view detail, const Moment& now,
                   Batch& out) {
  const Node& state = live.plan.node(node);
  // If nodes were added that depend on it, it does not land at all.
  const auto next = live.plan.firstPhase(node, Phase::Postchecks);
  if (!live.plan.lands(node) || !next) {
    return succeeded(live, node, PhaseStatus::Succeeded, detail, now, out);
  }
  if (++live.stale[node] > kMaxStale) {
    return failPhase(
        live, node,
        errorDetail("TARGET_MOVES",
                    "the target branch has moved each time that this was about to land; "
                    "retry the node when others have finished with it"),
        now, out);
  }
  Entry entry = makeEntry(EntryKind::PhaseEnded, state, now);
  entry.phase = state.phase;
  entry.status = PhaseStatus::Interrupted;
  entry.next = next;
  entry.detail = detail;
  record(live, entry, out);
  run(live, node, *next, false, out);
}

void Engine::failPhase(Live& live, NodeIndex node, std::string_view detail, const Moment& now,
                       Batch& out) {
  Entry entry = makeEntry(EntryKind::PhaseEnded, live.plan.node(node), now);
  entry.phase = live.plan.node(node).phase;
  entry.status = PhaseStatus::Failed;
  entry.detail = detail;
  record(live, entry, out);
  failed(live, node, now, out);
}

void Engine::failed(Live& live, NodeIndex node, const Moment& now, Batch& out) {
  const Node& state = live.plan.node(node);
  Entry entry = makeEntry(EntryKind::NodeFailed, state, now);
  const bool again = state.retries < state.spec.maxRetries;
  entry.retry = again;
  record(live, entry, out);
  release(live, node);
  if (again) {
    Entry retried = makeEntry(EntryKind::Retried, state, now);
    const bool fromStart = state.spec.retriesFromStart && !state.isRelanding();
    retried.phase = retryPhase(state, fromStart ? RetryFrom::Start : RetryFrom::FailedPhase);
    record(live, retried, out);
  } else if (!std::exchange(live.notifiedFailed, true)) {
    out.effects.emplace_back(Notice{live.id, Notice::Kind::Failed, state.spec.id});
  }
  grantLandingSlot(live, now, out);
  endIfDone(live, now, out);
}

void Engine::stopped(std::string_view plan, std::string_view node, const Moment& now, Batch& out) {
  Live* const found = live(plan);
  if (found == nullptr) return;
  const auto index = found->plan.find(node);
  if (!index || holdsPlace(found->plan.node(*index).status)) return;
  release(*found, *index);
  endIfDone(*found, now, out);
  startReady(now, out);
}

void Engine::overlap(std::string_view plan, std::string_view node, std::string_view detail,
                     const Moment& now, Batch& out) {
  Live* const found = live(plan);
  if (found == nullptr) return;
  const auto index = found->plan.find(node);
  if (!index || found->plan.overlaps().size() >= Plan::kMaxOverlaps) return;
  Entry entry = makeEntry(EntryKind::Overlap, found->plan.node(*index), now);
  entry.detail = detail;
  record(*found, entry, out);
}

}  // namespace tap::plan
