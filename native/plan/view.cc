#include "plan/view.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"
#include "plan/view_parts.h"

namespace tap::plan {
namespace {

constexpr std::string_view kSandboxOff = R"("off")";

// The detail of the phase that the last attempt failed in.
[[nodiscard]] std::string_view failureDetail(const Node& node) {
  if (node.attempts.empty()) return {};
  const PhaseRecord& record = node.attempts.back().phases[static_cast<size_t>(node.phase)];
  return record.status == PhaseStatus::Failed ? std::string_view(record.detail)
                                              : std::string_view();
}

void writeError(json::Writer& writer, const Plan& plan, NodeIndex index) {
  const Node& node = plan.node(index);
  if (node.status == NodeStatus::Blocked) {
    const auto other = plan.blockedBy(index);
    if (!other) return;
    const Node& before = plan.node(*other);
    writer.field("error",
                 "waits for " + before.spec.id + ", which is " + std::string(text(before.status)));
  }
  if (node.status != NodeStatus::Failed) return;
  const std::string_view detail = failureDetail(node);
  const auto error = detail.empty() ? std::optional<json::Value>()
                                    : json::find({json::Kind::Object, detail}, "error");
  const auto message = error ? json::find(*error, "message") : std::optional<json::Value>();
  writer.field("error", message && message->kind == json::Kind::String
                            ? json::decodeString(*message)
                            : "failed in " + std::string(text(node.phase)));
}

// The last value of a fact.
[[nodiscard]] std::optional<json::Value> findFact(const Attempt& attempt, std::string_view name) {
  std::optional<json::Value> found;
  for (const std::string& step : attempt.steps) {
    if (const auto value = json::find({json::Kind::Object, step}, name)) found = value;
  }
  return found;
}

// The policy that the last attempt has recorded; before that, the plan's field and the facts of its
// creation.
[[nodiscard]] bool isUnsandboxed(const Plan& plan, NodeIndex index) {
  const Node& node = plan.node(index);
  const auto policy =
      node.attempts.empty() ? std::nullopt : findFact(node.attempts.back(), "policy");
  if (const auto word = policy ? json::find(*policy, "sandbox") : std::nullopt) {
    return word->raw == kSandboxOff;
  }
  const std::string& own = node.spec.sandbox.front();
  return (own.empty() ? plan.spec().sandbox.front() : own) == kSandboxOff || plan.isUnsandboxed();
}

[[nodiscard]] int64_t wholeMember(json::Value object, std::string_view name) {
  constexpr int64_t kMost = 1'000'000;
  const auto value = json::find(object, name);
  const bool isNumber = value && value->kind == json::Kind::Number;
  const auto number = isNumber ? json::decodeInteger(*value) : std::optional<int64_t>();
  return std::clamp(number.value_or(0), int64_t{0}, kMost);
}

// Of all attempts. A retry that continues has copied the facts of the attempt before.
[[nodiscard]] int64_t countRefusals(const Node& node) {
  int64_t count = 0;
  for (size_t i = 0; i < node.attempts.size(); ++i) {
    const auto refusals = findFact(node.attempts[i], "refusals");
    if (!refusals || wholeMember(*refusals, "attempt") != static_cast<int64_t>(i + 1)) continue;
    count += wholeMember(*refusals, "count");
  }
  return count;
}

// The latest note for the user, also of a phase before the last.
[[nodiscard]] std::optional<json::Value> findNote(const Node& node) {
  for (auto attempt = node.attempts.rbegin(); attempt != node.attempts.rend(); ++attempt) {
    for (const PhaseRecord& record : attempt->phases) {
      if (record.detail.empty()) continue;
      const auto note = json::find({json::Kind::Object, record.detail}, "note");
      if (note && note->kind == json::Kind::String) return note;
    }
  }
  return std::nullopt;
}

void writeBrief(json::Writer& writer, const Plan& plan, NodeIndex index) {
  const Node& node = plan.node(index);
  writer.field("id", node.spec.id).field("name", node.spec.name);
  if (!node.spec.group.empty()) writer.field("group", node.spec.group);
  writer.field("status", text(node.status));
  if (!node.attempts.empty()) {
    writer.field("phase", text(node.phase)).field("attempt", node.attempts.size());
  }
  if (isUnsandboxed(plan, index)) writer.field("sandboxed", false);
  if (const int64_t count = countRefusals(node); count > 0) writer.field("refusals", count);
  if (const auto note = findNote(node)) writer.rawField("note", note->raw);
  if (node.landing == LandingState::Queued) writer.field("waitsFor", "a node that is landing");
  if (node.notBefore > 0) writer.field("notBefore", node.notBefore);
  if (const auto by = plan.graph().replacement(index)) {
    writer.field("replacedBy", plan.node(*by).spec.id);
  }
  writeError(writer, plan, index);
}

void writeWork(json::Writer& writer, json::Name name, const Work& work) {
  if (work.kind != WorkKind::None) writer.rawField(name, work.json);
}

void writeSandbox(json::Writer& writer, const SandboxSpec& sandbox) {
  for (size_t i = 0; i < kSandboxFields.size(); ++i) {
    if (!sandbox[i].empty()) writer.key(kSandboxFields[i]).raw(sandbox[i]);
  }
}

void writeTimes(json::Writer& writer, int64_t started, int64_t ended) {
  if (started > 0) writer.field("startedAt", started);
  if (ended > 0) writer.field("endedAt", ended);
}

void writeAttempt(json::Writer& writer, const Attempt& attempt, size_t number) {
  writer.beginObject().field("attempt", number).field("status", text(attempt.status));
  writer.field("scheduledAt", attempt.scheduledAt);
  writeTimes(writer, attempt.startedAt, attempt.endedAt);
  if (attempt.interruptions > 0) writer.field("interruptions", attempt.interruptions);
  writer.key("phases").beginArray();
  for (const auto& word : kPhaseWords) {
    const PhaseRecord& record = attempt.phases[static_cast<size_t>(word.id)];
    if (record.status == PhaseStatus::Pending) continue;
    writer.beginObject().field("phase", word.text).field("status", text(record.status));
    writeTimes(writer, record.startedAt, record.endedAt);
    if (record.interruptions > 0) writer.field("interruptions", record.interruptions);
    if (!record.detail.empty()) writer.rawField("detail", record.detail);
    writer.endObject();
  }
  writer.endArray().key("steps").beginArray();
  for (const std::string& step : attempt.steps) writer.raw(step);
  writer.endArray();
  if (!attempt.request.empty()) writer.rawField("request", attempt.request);
  writer.endObject();
}

void writeNode(json::Writer& writer, const Plan& plan, NodeIndex index) {
  const Node& node = plan.node(index);
  writeBrief(writer, plan, index);
  writer.key("dependencies").beginArray();
  for (const NodeIndex other : plan.graph().dependencies(index)) {
    writer.string(plan.node(other).spec.id);
  }
  writer.endArray().key("dependents").beginArray();
  for (const NodeIndex other : plan.graph().dependents(index)) {
    writer.string(plan.node(other).spec.id);
  }
  writer.endArray();
  writeWork(writer, "prechecks", node.spec.prechecks);
  writeWork(writer, "work", node.spec.work);
  writeWork(writer, "postchecks", node.spec.postchecks);
  if (node.landing != LandingState::None) writer.field("landing", text(node.landing));
  if (node.isRelanding()) writer.field("landsAgain", true);
  if (node.spec.expectsNoChanges) writer.field("expectsNoChanges", true);
  if (node.spec.timeout > Millis(0)) {
    writer.rawField("timeout", decimal(static_cast<double>(node.spec.timeout.count()) / 1000));
  }
  if (node.spec.maxRetries > 0) {
    writer.key("retry").beginObject().field("max", node.spec.maxRetries);
    writer.field("from", node.spec.retriesFromStart ? "start" : "failed-phase").endObject();
  }
  if (!node.spec.cwd.empty()) writer.field("cwd", node.spec.cwd);
  writeSandbox(writer, node.spec.sandbox);
  if (!node.commit.empty()) writer.field("commit", node.commit);
  writer.key("changes");
  writeChanges(writer, node.changes);
  writer.key("usage");
  writeUsage(writer, node.usage);
}

void writeIds(json::Writer& writer, std::string_view name, const Plan& plan,
              const std::vector<NodeIndex>& nodes) {
  if (nodes.empty()) return;
  writer.key(name).beginArray();
  for (const NodeIndex index : nodes) writer.string(plan.node(index).spec.id);
  writer.endArray();
}

[[nodiscard]] int rank(NodeStatus status) {
  switch (status) {
    case NodeStatus::Failed:
      return 0;
    case NodeStatus::Running:
    case NodeStatus::Scheduled:
      return 1;
    case NodeStatus::Ready:
    case NodeStatus::Canceled:
      return 2;
    case NodeStatus::Succeeded:
      return 3;
    case NodeStatus::Pending:
    case NodeStatus::Blocked:
    case NodeStatus::Count_:
      break;
  }
  return 4;
}

[[nodiscard]] bool isWithin(std::string_view group, std::string_view outer) {
  return group.starts_with(outer) && (group.size() == outer.size() || group[outer.size()] == '/');
}

[[nodiscard]] bool isAbout(std::string_view overlap, std::string_view id) {
  const json::Value value{json::Kind::Object, overlap};
  return std::ranges::any_of(std::array{"node", "other"}, [&](std::string_view side) {
    const auto node = json::find(value, side);
    return node && node->kind == json::Kind::String && json::decodeString(*node) == id;
  });
}

// Of a node; without an id, all.
void writeOverlaps(json::Writer& writer, const Plan& plan, std::string_view id = {}) {
  bool any = false;
  for (const std::string& overlap : plan.overlaps()) {
    if (!id.empty() && !isAbout(overlap, id)) continue;
    if (!std::exchange(any, true)) writer.key("overlaps").beginArray();
    writer.raw(overlap);
  }
  if (any) writer.endArray();
}

void writeEffect(json::Writer& writer, const Engine& engine, const RunPhase& effect) {
  const Plan& plan = *engine.find(effect.plan);
  const Node& node = plan.node(effect.node);
  const Attempt& attempt = node.attempts.back();
  writer.field("effect", "run").field("planId", effect.plan).field("phase", text(effect.phase));
  writer.field("first", effect.isFirst).field("lands", plan.lands(effect.node));
  writer.field("timeoutMs", node.spec.phaseTimeout(effect.phase).count());
  writer.field("from", text(attempt.from));
  if (plan.replacesAny(effect.node)) writer.field("replaces", true);
  writer.key("commits").beginArray();
  for (const NodeIndex other : plan.graph().dependencies(effect.node)) {
    writer.beginObject().field("node", plan.node(other).spec.id);
    writer.field("commit", plan.node(other).commit).endObject();
  }
  writer.endArray();
  // The attempt before this one: a retry gets its failure.
  const size_t before = node.attempts.size() - 1;
  if (before > 0) {
    writer.key("before");
    writeAttempt(writer, node.attempts[before - 1], before);
  }
  writer.key("current");
  writeAttempt(writer, attempt, node.attempts.size());
  writer.key("node").beginObject();
  writeNode(writer, plan, effect.node);
  writer.endObject();
}

void writeEffect(json::Writer& writer, const Engine& engine, const StopNode& effect) {
  const Node& node = engine.find(effect.plan)->node(effect.node);
  writer.field("effect", "stop").field("planId", effect.plan).field("node", node.spec.id);
  writer.field("attempt", node.attempts.size());
}

void writeEffect(json::Writer& writer, const Engine& engine, const CleanUp& effect) {
  writer.field("effect", "clean-up").field("planId", effect.plan);
  writer.field("node", engine.find(effect.plan)->node(effect.node).spec.id);
}

void writeEffect(json::Writer& writer, const Engine& engine, const Probe& effect) {
  const Plan& plan = *engine.find(effect.plan);
  const auto write = [&](NodeIndex index) {
    writer.beginObject().field("node", plan.node(index).spec.id);
    writer.field("commit", plan.node(index).commit).endObject();
  };
  writer.field("effect", "probe").field("planId", effect.plan).key("of");
  write(effect.node);
  writer.key("others").beginArray();
  for (const NodeIndex other : effect.others) write(other);
  writer.endArray();
}

void writeEffect(json::Writer& writer, const Engine& /*engine*/, const Notice& effect) {
  writer.field("effect", "notice").field("planId", effect.plan).field("kind", text(effect.kind));
  if (!effect.node.empty()) writer.field("node", effect.node);
}

}  // namespace

std::string planJson(std::string_view id, const Plan& plan) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject()
      .field("planId", id)
      .field("name", plan.spec().name)
      .field("status", text(plan.status()))
      .key("counts");
  writeCounts(writer, plan.countOwn());
  if (const size_t replaced = plan.graph().replacements().size(); replaced > 0) {
    writer.field("replaced", replaced);
  }
  if (plan.isBeingCanceled()) writer.field("canceling", true);
  writer.field("total", plan.size()).field("createdAt", plan.createdAt());
  writeTimes(writer, plan.startedAt(), plan.endedAt());
  if (plan.isPaused()) {
    writer.field("pausedFor", plan.pause()).key("spent").beginArray();
    if (creditShare(plan.usage(), plan.budget()) >= 1) writer.string("aiCredits");
    if (tokenShare(plan.usage(), plan.budget()) >= 1) writer.string("tokens");
    writer.endArray();
  }
  if (const auto next = plan.nextDelayed()) writer.field("waitsUntil", *next);
  if (plan.isUnlanded()) {
    const auto message = json::find({json::Kind::Object, plan.unlanded()}, "message");
    if (message && message->kind == json::Kind::String) {
      writer.field("error", json::decodeString(*message));
    }
    writer.rawField("unlanded", plan.unlanded());
  }
  if (!plan.spec().targetBranch.empty()) {
    writer.field("targetBranch", plan.spec().targetBranch);
    writeIds(writer, "waiting", plan, plan.waiting());
    writeIds(writer, "leftToLand", plan, plan.leftToLand());
    writeIds(writer, "landing", plan, plan.landing());
  }
  writer.field("maxParallel", plan.spec().maxParallel);
  if (plan.budget().aiCredits || plan.budget().tokens) {
    writer.key("budget").beginObject();
    if (plan.budget().aiCredits) writer.rawField("aiCredits", decimal(*plan.budget().aiCredits));
    if (plan.budget().tokens) writer.field("tokens", *plan.budget().tokens);
    writer.endObject();
  }
  writer.key("usage");
  writeUsage(writer, plan.usage());
  writer.key("landed");
  writeChanges(writer, plan.landedChanges());
  if (plan.isUnlanded()) {
    writer.key("notLanded");
    writeChanges(writer, plan.waitingChanges());
  }
  writeOverlaps(writer, plan);
  writer.rawField("facts", plan.facts()).endObject();
  return out;
}

std::string nodesJson(const Plan& plan, const NodeFilter& filter) {
  std::vector<std::pair<int, NodeIndex>> found;
  size_t before = 0;
  for (NodeIndex i = 0; i < plan.size(); ++i) {
    const Node& node = plan.node(i);
    if (filter.status && node.status != *filter.status) continue;
    if (filter.phase && (node.attempts.empty() || node.phase != *filter.phase)) continue;
    if (!filter.group.empty() && !isWithin(node.spec.group, filter.group)) continue;
    if (filter.inOrder && i < filter.from) {
      ++before;
    } else {
      const NodeStatus status = plan.isReplaced(i) ? NodeStatus::Succeeded : node.status;
      found.emplace_back(filter.inOrder ? 0 : rank(status), i);
    }
  }
  if (!filter.inOrder) std::ranges::sort(found);
  const size_t rest = found.size();
  if (rest > filter.most) found.resize(filter.most);
  std::string out;
  json::Writer writer(out);
  writer.beginObject().key("nodes").beginArray();
  for (const auto& [_, index] : found) {
    writer.beginObject();
    writeBrief(writer, plan, index);
    writer.endObject();
  }
  writer.endArray().key("places").beginArray();
  for (const auto& [_, index] : found) writer.integer(static_cast<int64_t>(index));
  writer.endArray().field("rest", rest).field("total", before + rest).endObject();
  return out;
}

std::string nodeJson(const Plan& plan, NodeIndex index, bool isBusy) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject();
  writeNode(writer, plan, index);
  const SandboxSpec& ofPlan = plan.spec().sandbox;
  if (std::ranges::any_of(ofPlan, [](const std::string& field) { return !field.empty(); })) {
    writer.key("ofPlan").beginObject();
    writeSandbox(writer, ofPlan);
    writer.endObject();
  }
  writer.field("busy", isBusy).key("attempts").beginArray();
  const auto& attempts = plan.node(index).attempts;
  for (size_t i = 0; i < attempts.size(); ++i) writeAttempt(writer, attempts[i], i + 1);
  writer.endArray();
  const auto& edits = plan.node(index).edits;
  if (!edits.empty()) writer.key("edited").beginArray();
  for (const std::string& one : edits) writer.raw(one);
  if (!edits.empty()) writer.endArray();
  writeOverlaps(writer, plan, plan.node(index).spec.id);
  writer.endObject();
  return out;
}

std::string graphJson(const Plan& plan) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().key("nodes").beginArray();
  for (NodeIndex i = 0; i < plan.size(); ++i) {
    writer.beginObject();
    writeNode(writer, plan, i);
    writer.endObject();
  }
  writer.endArray().rawField("head", plan.spec().head).endObject();
  return out;
}

bool isCurrent(const Engine& engine, const Effect& effect) {
  const Plan* const plan =
      engine.find(std::visit([](const auto& one) -> std::string_view { return one.plan; }, effect));
  if (plan == nullptr) return false;
  const auto* const run = std::get_if<RunPhase>(&effect);
  if (run == nullptr) return true;
  const Node& node = plan->node(run->node);
  return holdsPlace(node.status) && node.phase == run->phase;
}

std::string effectJson(const Engine& engine, const Effect& effect) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject();
  std::visit([&](const auto& one) { writeEffect(writer, engine, one); }, effect);
  writer.endObject();
  return out;
}

}  // namespace tap::plan
