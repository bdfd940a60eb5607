#include "plan/inputs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "base/json_writer.h"
#include "plan/view.h"

namespace tap::plan {
namespace {

// Of an entry without a plan or nodes.
constexpr size_t kMaxDetailBytes = size_t{64} << 10;

[[nodiscard]] Refusal notUnderstood(std::string message) {
  return {Refusal::Code::BadInput, std::move(message)};
}

// The members of an input. The first member of a wrong kind is a problem; it counts as absent.
class Members {
 public:
  explicit Members(std::string_view text) {
    const auto scanned = scanner_.scan(text, json::kMaxEnvelopeDepth);
    if (!scanned || scanned.value().kind != json::Kind::Object) {
      problem_ = "expected an object";
    }
  }

  [[nodiscard]] std::string text(std::string_view key) {
    const auto value = get(key, json::Kind::String);
    return value ? json::decodeString(*value) : std::string();
  }
  [[nodiscard]] int64_t whole(std::string_view key) {
    const auto value = get(key, json::Kind::Number);
    if (!value) return 0;
    const auto number = json::decodeInteger(*value);
    if (number && *number >= 0) return *number;
    note(key);
    return 0;
  }
  [[nodiscard]] bool flag(std::string_view key) {
    const auto value = get(key, json::Kind::Boolean);
    return value && json::decodeBoolean(*value);
  }
  // The text of an object or a list, or empty.
  [[nodiscard]] std::string_view raw(std::string_view key, json::Kind kind) {
    const auto value = get(key, kind);
    return value ? value->raw : std::string_view();
  }
  [[nodiscard]] std::string_view detail() {
    const std::string_view detail = raw("detail", json::Kind::Object);
    if (detail.size() <= kMaxDetailBytes) return detail;
    if (problem_.empty()) {
      problem_ = "detail: is longer than " + std::to_string(kMaxDetailBytes) + " bytes";
    }
    return {};
  }
  template <class Id, size_t kRows>
  [[nodiscard]] std::optional<Id> word(std::string_view key,
                                       const std::array<Word<Id>, kRows>& words) {
    const std::string given = text(key);
    if (given.empty()) return std::nullopt;
    const auto id = parseWord(words, given);
    if (id || !problem_.empty()) return id;
    problem_ = std::string(key) + ": expected";
    for (const auto& word : words) problem_ += " " + std::string(word.text);
    return std::nullopt;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  [[nodiscard]] std::optional<json::Value> get(std::string_view key, json::Kind kind) {
    const auto value = scanner_.find(key);
    if (!value || value->kind == json::Kind::Null) return std::nullopt;
    if (value->kind == kind) return value;
    note(key);
    return std::nullopt;
  }
  void note(std::string_view key) {
    if (problem_.empty()) problem_ = std::string(key) + ": has the wrong type";
  }

  json::Scanner scanner_;
  std::string problem_;
};

enum class Input : uint8_t {
  Check,
  CheckNodes,
  Create,
  Import,
  Add,
  Pause,
  Resume,
  Cancel,
  Retry,
  Land,
  Landed,
  Began,
  Step,
  PhaseEnded,
  Stopped,
  Overlap,
  Edit,
  Due,
  Recover,
  Count_,
};
constexpr std::array<Word<Input>, static_cast<size_t>(Input::Count_)> kInputs{{
    {Input::Check, "check"},     {Input::CheckNodes, "check-nodes"},
    {Input::Create, "create"},   {Input::Import, "import"},
    {Input::Add, "add"},         {Input::Pause, "pause"},
    {Input::Resume, "resume"},   {Input::Cancel, "cancel"},
    {Input::Retry, "retry"},     {Input::Land, "land"},
    {Input::Landed, "landed"},   {Input::Began, "began"},
    {Input::Step, "step"},       {Input::PhaseEnded, "phase-ended"},
    {Input::Stopped, "stopped"}, {Input::Overlap, "overlap"},
    {Input::Edit, "edit"},       {Input::Due, "due"},
    {Input::Recover, "recover"},
}};
static_assert(idsAreIndices(kInputs));

constexpr std::array<Word<Outcome>, 5> kOutcomes{{
    {Outcome::Succeeded, "succeeded"},
    {Outcome::Skipped, "skipped"},
    {Outcome::Failed, "failed"},
    {Outcome::Stale, "stale"},
    {Outcome::Interrupted, "interrupted"},
}};
static_assert(idsAreIndices(kOutcomes));

constexpr std::array<Word<RetryFrom>, 3> kRetryWords{{
    {RetryFrom::FailedPhase, "failed-phase"},
    {RetryFrom::Start, "start"},
    {RetryFrom::Commit, "commit"},
}};
static_assert(idsAreIndices(kRetryWords));

enum class View : uint8_t { Plan, Nodes, Node, Groups, Graph, Count_ };
constexpr std::array<Word<View>, static_cast<size_t>(View::Count_)> kViews{{
    {View::Plan, "plan"},
    {View::Nodes, "nodes"},
    {View::Node, "node"},
    {View::Groups, "groups"},
    {View::Graph, "graph"},
}};
static_assert(idsAreIndices(kViews));

void writeRefusal(json::Writer& writer, const Refusal& refusal) {
  writer.field("code", text(refusal.code)).field("message", refusal.message);
}

// All parts of an input, read before the engine is called.
struct InputFields {
  std::optional<Input> input;
  std::string plan;
  std::string node;
  std::string reason;
  std::string result;
  bool follows = false;
  RetryFrom from = RetryFrom::FailedPhase;
  bool reopens = false;
  std::string replaces;
  uint32_t attempt = 0;
  std::optional<Phase> phase;
  std::optional<Outcome> outcome;
  int64_t until = 0;
  std::string_view text;  // of the plan, or of nodes
  std::string_view facts;
  std::string_view entries;
  std::string_view budget;
  std::string_view changes;
  std::string_view detail;

  [[nodiscard]] Addition addition() const { return {reopens, replaces}; }
};

[[nodiscard]] InputFields read(Members& members) {
  InputFields given;
  given.input = members.word("input", kInputs);
  given.plan = members.text("planId");
  given.node = members.text("nodeId");
  given.reason = members.text("reason");
  given.result = members.text("result");
  given.follows = members.flag("follows");
  given.from = members.word("from", kRetryWords).value_or(RetryFrom::FailedPhase);
  given.reopens = members.flag("reopens");
  given.replaces = members.text("replaces");
  given.changes = members.raw("changes", json::Kind::Object);
  given.attempt = static_cast<uint32_t>(std::min<int64_t>(members.whole("attempt"), UINT32_MAX));
  given.phase = members.word("phase", kPhaseWords);
  given.outcome = members.word("outcome", kOutcomes);
  given.until = members.whole("until");
  const bool adds = given.input == Input::Add || given.input == Input::CheckNodes;
  given.text = members.raw(adds ? "nodes" : "plan", adds ? json::Kind::Array : json::Kind::Object);
  given.facts = members.raw("facts", json::Kind::Object);
  given.entries = members.raw("entries", json::Kind::Array);
  given.budget = members.raw("budget", json::Kind::Object);
  given.detail = members.detail();
  return given;
}

[[nodiscard]] Refused check(const InputFields& given, const Moment& now, Problems& problems) {
  if (Plan::make(given.text, "{}", now.unixMillis, problems)) return std::nullopt;
  return Refusal{Refusal::Code::InvalidPlan, "the plan is not valid"};
}

// All waiting leaves, or one canceled node.
[[nodiscard]] Refused landed(Engine& engine, const InputFields& given, const Moment& now,
                             Batch& out) {
  if (given.node.empty()) return engine.landed(given.plan, given.detail, now, out);
  engine.landedLate(given.plan, given.node, given.detail, now, out);
  return std::nullopt;
}

[[nodiscard]] Refused edit(Engine& engine, const InputFields& given, const Moment& now,
                           Problems& problems, Batch& out) {
  if (given.changes.empty()) return notUnderstood("changes are missing");
  return engine.edit(given.plan, given.node, given.changes, now, problems, out);
}

[[nodiscard]] Refused stepNode(Engine& engine, const InputFields& given, const Moment& now,
                               Batch& out) {
  if (given.detail.empty()) return notUnderstood("detail is missing");
  engine.step(given.plan, given.node, given.attempt, given.detail, now, out);
  return std::nullopt;
}

[[nodiscard]] Refused perform(Engine& engine, const InputFields& given, const Moment& now,
                              Problems& problems, Batch& out) {
  switch (*given.input) {
    case Input::Check:
      return check(given, now, problems);
    case Input::CheckNodes:
      return engine.checkNodes(given.plan, given.text, problems, given.addition());
    case Input::Create:
      if (given.plan.empty() || given.facts.empty())
        return notUnderstood("planId and facts are missing");
      return engine.create(given.plan, given.text, given.facts, now, problems, out);
    case Input::Import:
      if (given.plan.empty() || given.facts.empty() || given.entries.empty())
        return notUnderstood("planId, facts and entries are missing");
      return engine.import(given.plan, given.text, given.facts, given.entries, given.until, now,
                           problems, out);
    case Input::Add:
      return engine.addNodes(given.plan, given.text, now, problems, out, given.addition());
    case Input::Edit:
      return edit(engine, given, now, problems, out);
    case Input::Pause:
      return engine.pause(given.plan, given.reason, now, out);
    case Input::Resume:
      return engine.resume(given.plan, given.budget, now, out);
    case Input::Cancel:
      return given.node.empty() ? engine.cancel(given.plan, now, out)
                                : engine.cancelNode(given.plan, given.node, now, out);
    case Input::Retry:
      return engine.retry(given.plan, given.node, given.from, given.detail, now, out);
    case Input::Land:
      return engine.land(given.plan, given.result, given.follows, now, out);
    case Input::Landed:
      return landed(engine, given, now, out);
    case Input::Began:
      engine.began(given.plan, given.node, given.attempt, now, out);
      return std::nullopt;
    case Input::Step:
      return stepNode(engine, given, now, out);
    case Input::PhaseEnded:
      if (!given.phase || !given.outcome) return notUnderstood("phase and outcome are missing");
      engine.phaseEnded(given.plan, given.node, given.attempt, *given.phase, *given.outcome,
                        given.detail, given.until, now, out);
      return std::nullopt;
    case Input::Stopped:
      engine.stopped(given.plan, given.node, now, out);
      return std::nullopt;
    case Input::Overlap:
      if (given.detail.empty()) return notUnderstood("detail is missing");
      engine.overlap(given.plan, given.node, given.detail, now, out);
      return std::nullopt;
    case Input::Due:
      engine.due(now, out);
      return std::nullopt;
    case Input::Recover:
      engine.recover(now, out);
      return std::nullopt;
    case Input::Count_:
      break;
  }
  return std::nullopt;
}

[[nodiscard]] std::string refusedView(const Refusal& refusal) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().key("refused").beginObject();
  writeRefusal(writer, refusal);
  writer.endObject().endObject();
  return out;
}

}  // namespace

std::string applyInput(Engine& engine, std::string_view text, const Moment& now, Batch& out) {
  Members members(text);
  const InputFields given = read(members);
  out.sync = members.flag("sync");
  Problems problems;
  Refused refused;
  if (!members.problem().empty()) {
    refused = notUnderstood(members.problem());
  } else if (!given.input) {
    refused = notUnderstood("input is missing");
  } else {
    refused = perform(engine, given, now, problems, out);
  }
  if (!refused) return {};
  std::string json;
  json::Writer writer(json);
  writer.beginObject();
  writeRefusal(writer, *refused);
  if (problems.any()) {
    const std::string all = problems.json();
    writer.rawField("problems", json::find({json::Kind::Object, all}, "problems")->raw);
    if (problems.more() > 0) writer.field("more", problems.more());
  }
  writer.endObject();
  return json;
}

std::string answerView(const Engine& engine, std::string_view text) {
  Members members(text);
  const auto view = members.word("view", kViews);
  const std::string id = members.text("planId");
  const std::string node = members.text("nodeId");
  NodeFilter filter;
  filter.status = members.word("status", kNodeStatusWords);
  filter.phase = members.word("phase", kPhaseWords);
  filter.group = members.text("group");
  filter.inOrder = members.flag("inOrder");
  filter.from = static_cast<size_t>(members.whole("from"));
  const int64_t most = members.whole("most");
  if (most > 0) filter.most = static_cast<size_t>(most);
  if (!view || !members.problem().empty()) {
    return refusedView(notUnderstood(view ? members.problem() : "view is missing"));
  }
  const Plan* const plan = engine.find(id);
  if (plan == nullptr) return refusedView(Engine::unknownPlan(id));
  switch (*view) {
    case View::Plan:
      return planJson(id, *plan);
    case View::Nodes:
      return nodesJson(*plan, filter);
    case View::Groups:
      return groupsJson(*plan);
    case View::Graph:
      return graphJson(*plan);
    case View::Node:
    case View::Count_:
      break;
  }
  const auto index = plan->find(node);
  if (!index) return refusedView(Engine::unknownNode(*plan, node));
  return nodeJson(*plan, *index, engine.isBusy(id, *index));
}

}  // namespace tap::plan
