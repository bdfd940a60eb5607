// Requests that change a plan that has begun: additions and edits of nodes, replacements, retries.
#include <utility>

#include "plan/engine.h"
#include "plan/engine_parts.h"
#include "plan/plan_reader.h"

namespace tap::plan {
namespace {

[[nodiscard]] Refusal wrongState(std::string message) {
  return {Refusal::Code::WrongState, std::move(message)};
}

[[nodiscard]] Refused refuseReplaced(const Plan& plan, NodeIndex node) {
  const auto by = plan.graph().replacement(node);
  if (!by) return std::nullopt;
  const std::string& id = plan.node(*by).spec.id;
  return wrongState("the node was replaced by " + id + ": use that id");
}

[[nodiscard]] std::string describeStranded(const Plan& plan, NodeIndex node) {
  const std::string& id = plan.node(node).spec.id;
  return id +
         " has succeeded and lands with the node that depends on it; without that node it would " +
         "never land";
}

[[nodiscard]] Refused refuseEdit(const Plan& plan, NodeIndex node) {
  if (auto refused = refuseReplaced(plan, node)) return refused;
  if (plan.isEditable(node)) return std::nullopt;
  const NodeStatus status = plan.node(node).status;
  return wrongState("the node is " + std::string(text(status)) +
                    (status == NodeStatus::Succeeded
                         ? ": its work cannot change; add a node that depends on it"
                         : ": wait until it has ended, or cancel the plan"));
}

// REQUIRES: its dependencies have succeeded, and it has failed or was canceled.
[[nodiscard]] Refused refuseCommitRetry(const Plan& plan, NodeIndex node) {
  const Node& state = plan.node(node);
  if (state.status != NodeStatus::Failed) {
    return wrongState("only the worktree of a failed node can be committed; this node is " +
                      std::string(text(state.status)));
  }
  if (state.isRelanding()) {
    return wrongState("the work of the node is done and waits to land: land the plan");
  }
  if (state.retryAtLatest < Phase::Commit) {
    return wrongState("the node was edited since, so it has to begin from its start");
  }
  if (plan.firstPhase(node, Phase::Commit) != Phase::Commit) {
    return wrongState("the node has no work whose result could be taken");
  }
  return std::nullopt;
}

}  // namespace

Refused Engine::addNodes(std::string_view plan, std::string_view nodes, const Moment& now,
                         Problems& problems, Batch& out, const Addition& how) {
  Live* const found = live(plan);
  if (found == nullptr) return unknownPlan(plan);
  if (auto refused = checkNodes(plan, nodes, problems, how)) return refused;
  Entry entry = makeEntry(EntryKind::NodesAdded, now);
  entry.detail = nodes;
  const bool isReopened = found->plan.ended().has_value();
  if (!found->plan.addText(nodes, Origin::Request, problems)) {
    return Refusal{Refusal::Code::InvalidPlan, "these nodes are not valid"};
  }
  if (isReopened) found->notifiedFailed = false;
  growCounters(*found);
  out.entries.push_back({found->id, {}});
  writeEntry(out.entries.back().text, entry);
  if (!how.replaces.empty()) {
    const auto by = static_cast<NodeIndex>(found->plan.size() - 1);
    const Node& old = found->plan.node(*found->plan.find(how.replaces));
    Entry replaced = makeEntry(EntryKind::NodeReplaced, old, now);
    json::Writer writer(replaced.detail);
    writer.beginObject().field("by", found->plan.node(by).spec.id);
    if (found->plan.graph().dependencies(by).empty()) writer.field("inherits", true);
    writer.endObject();
    record(*found, replaced, out);
  }
  endIfDone(*found, now, out);
  startReady(now, out);
  return std::nullopt;
}

Refused Engine::checkNodes(std::string_view plan, std::string_view nodes, Problems& problems,
                           const Addition& how) const {
  const Plan* const found = find(plan);
  if (found == nullptr) return unknownPlan(plan);
  if (found->ended() && !how.reopens) return wrongState("the plan has ended; create a new plan");
  Graph graph = found->graph();
  const std::vector<NodeSpec> specs = readNodes(nodes, problems);
  if (!graph.add(specs, Origin::Request, problems)) {
    return Refusal{Refusal::Code::InvalidPlan, "these nodes are not valid"};
  }
  if (how.replaces.empty()) return std::nullopt;
  const auto old = found->find(how.replaces);
  if (!old) return unknownNode(*found, how.replaces);
  if (specs.size() != 1) {
    return Refusal{Refusal::Code::BadInput,
                   "a node is replaced by a single node; got " + std::to_string(specs.size())};
  }
  return checkReplacement(*found, plan, *old, graph, problems);
}

// `graph`: with the new node.
Refused Engine::checkReplacement(const Plan& plan, std::string_view id, NodeIndex old, Graph& graph,
                                 Problems& problems) const {
  if (auto refused = refuseReplaced(plan, old)) return refused;
  const Node& state = plan.node(old);
  if (!plan.isEditable(old) || isBusy(id, old)) {
    const bool waits = state.landing == LandingState::Waiting;
    return wrongState("only a node that neither runs nor has succeeded can be replaced; " +
                      state.spec.id + " is " +
                      (plan.isEditable(old) ? "being stopped" : std::string(text(state.status))) +
                      (waits ? " and waits to land: land the plan first" : ""));
  }
  const auto by = static_cast<NodeIndex>(plan.size());
  if (!graph.replace(old, by, graph.dependencies(by).empty(), problems)) {
    return Refusal{Refusal::Code::InvalidPlan, "this node cannot take the place of the other"};
  }
  const auto stranded = plan.findStranded(old, graph.dependencies(by));
  if (!stranded) return std::nullopt;
  return wrongState(describeStranded(plan, *stranded) + ": let the new node depend on it");
}

Refused Engine::edit(std::string_view plan, std::string_view node, std::string_view changes,
                     const Moment& now, Problems& problems, Batch& out) {
  NodeRef at;
  if (auto refused = locate(plan, node, at)) return refused;
  Live& live = *at.live;
  if (auto refused = refuseEdit(live.plan, at.node)) return refused;
  const NodeChanges given = readNodeChanges(changes, problems);
  Graph graph = live.plan.graph();
  const bool isValid =
      !given.dependencies || graph.setDependencies(at.node, *given.dependencies, problems);
  if (!isValid || problems.any()) {
    return Refusal{Refusal::Code::InvalidPlan, "these changes are not valid"};
  }
  if (!given.any()) {
    return Refusal{
        Refusal::Code::BadInput,
        "no field to change is given, such as work, postchecks, dependencies or allowedUrls"};
  }
  if (const auto stranded = live.plan.findStranded(at.node, graph.dependencies(at.node))) {
    return wrongState(describeStranded(live.plan, *stranded) +
                      ": add a node in place of this edit, or keep the dependency");
  }
  Entry entry = makeEntry(EntryKind::NodeEdited, live.plan.node(at.node), now);
  json::Writer(entry.detail)
      .beginObject()
      .rawField("changes", changes)
      .rawField("before", live.plan.describeFields(at.node, given))
      .endObject();
  live.stale[at.node] = 0;
  live.interrupted[at.node] = 0;
  record(live, entry, out);
  endIfDone(live, now, out);
  startReady(now, out);
  return std::nullopt;
}

Refused Engine::retry(std::string_view plan, std::string_view node, RetryFrom from,
                      std::string_view detail, const Moment& now, Batch& out) {
  NodeRef at;
  if (auto refused = locate(plan, node, at)) return refused;
  Live& live = *at.live;
  const Node& state = live.plan.node(at.node);
  if (auto refused = refuseReplaced(live.plan, at.node)) return refused;
  if (const auto other = live.plan.blockedBy(at.node)) {
    const Node& before = live.plan.node(*other);
    return wrongState("the node waits for " + before.spec.id + ", which is " +
                      std::string(plan::text(before.status)) +
                      ": retry that node first; the nodes that it blocks follow automatically");
  }
  // After an edit, a blocked node may have no dependency that blocks it.
  if (state.status != NodeStatus::Failed && state.status != NodeStatus::Canceled &&
      state.status != NodeStatus::Blocked) {
    return wrongState("only a node that failed or was canceled can be retried; this node is " +
                      std::string(plan::text(state.status)));
  }
  if (from == RetryFrom::Commit) {
    if (auto refused = refuseCommitRetry(live.plan, at.node)) return refused;
  }
  Entry entry = makeEntry(EntryKind::Retried, state, now);
  entry.phase = live.plan.phaseWithRest(at.node, retryPhase(state, from));
  entry.detail = detail;
  live.notifiedFailed = false;
  live.stale[at.node] = 0;
  live.interrupted[at.node] = 0;
  record(live, entry, out);
  // The node would land with leaves that were not checked on this machine.
  if (live.plan.hasUnknownResult()) retryLanding(live, live.plan.waiting(), now, out);
  startReady(now, out);
  return std::nullopt;
}

}  // namespace tap::plan
