#include "plan/plan_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "base/json.h"
#include "plan/fields.h"
#include "plan/sandbox_reader.h"
#include "plan/work_reader.h"

namespace tap::plan {
namespace {

constexpr size_t kMaxGroupBytes = 256;
constexpr size_t kMaxRefBytes = 200;
constexpr int64_t kMaxRetries = 10;
constexpr Millis kMinTimeout{1'000};
constexpr Millis kMaxTimeout{int64_t{7} * 24 * 3600 * 1000};

// The names of fields, and behind them those of kSandboxFields.
template <size_t kCount>
[[nodiscard]] constexpr auto withSandbox(const std::array<std::string_view, kCount>& names) {
  static_assert(kCount + kSandboxFields.size() <= Fields::kMaxFields);
  std::array<std::string_view, kCount + kSandboxFields.size()> all{};
  std::ranges::copy(kSandboxFields, std::ranges::copy(names, all.begin()).out);
  return all;
}

namespace node {
enum : size_t {
  kId,
  kName,
  kGroup,
  kDependencies,
  kPrechecks,
  kWork,
  kPostchecks,
  kExpectsNoChanges,
  kTimeout,
  kRetry,
  kCwd,
  kSandbox,  // and the rest of kSandboxFields
};
constexpr auto kNames = withSandbox(
    std::array<std::string_view, 11>{"id", "name", "group", "dependencies", "prechecks", "work",
                                     "postchecks", "expectsNoChanges", "timeout", "retry", "cwd"});
}  // namespace node
namespace retry {
enum : size_t { kMax, kFrom };
constexpr std::array<std::string_view, 2> kNames{"max", "from"};
}  // namespace retry

void readId(const Fields& fields, NodeSpec& spec) {
  if (!fields.require(node::kId, "a short name, unique in the plan, such as \"lexer\"")) return;
  const auto value = fields.get(node::kId, json::Kind::String);
  if (!value) return;
  spec.id = json::decodeString(*value);
  if (isId(spec.id)) return;
  fields.report(node::kId, "expected 1 to 64 letters, digits, - and _");
  spec.id.clear();
}

void readGroup(const Fields& fields, NodeSpec& spec) {
  const auto group = fields.text(node::kGroup, kMaxGroupBytes);
  if (!group) return;
  std::string_view rest = *group;
  bool isPath = !hasControls(rest);
  while (isPath) {
    const size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    isPath = !part.empty() && part.size() <= kMaxNodeIdBytes && part != "." && part != "..";
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (isPath) {
    spec.group = *group;
  } else {
    fields.report(node::kGroup,
                  "expected names of 1 to 64 bytes with / between them, such as \"parser/front\"");
  }
}

// 0: the default of the work's kind.
[[nodiscard]] Millis readTimeout(const Fields& fields, size_t field) {
  if (!fields.has(field)) return Millis(0);
  const json::Value value = fields.any(field);
  const bool isText = value.kind == json::Kind::String;
  const std::string text = isText ? json::decodeString(value) : std::string(value.raw);
  const bool isTime = isText || value.kind == json::Kind::Number;
  const auto time = isTime ? readDuration(text) : std::optional<Millis>();
  if (time && *time >= kMinTimeout && *time <= kMaxTimeout) return *time;
  fields.report(field, "expected 1s to 7d, such as \"30m\", or a number of seconds");
  return Millis(0);
}

[[nodiscard]] std::vector<std::string> readDependencies(const Fields& fields, size_t field) {
  std::vector<std::string> ids;
  fields.texts(field, kMaxDependencies,
               [&ids](std::string id, const Path&) { ids.push_back(std::move(id)); });
  return ids;
}

void readRetry(const Fields& fields, NodeSpec& spec, Problems& problems) {
  const auto value = fields.get(node::kRetry, json::Kind::Object);
  if (!value) return;
  const Path path = fields.at(node::kRetry);
  const Fields inner(*value, path, retry::kNames, problems);
  spec.maxRetries = static_cast<uint32_t>(inner.whole(retry::kMax, 0, kMaxRetries).value_or(0));
  const auto from = inner.text(retry::kFrom, kMaxNodeIdBytes);
  if (!from) return;
  spec.retriesFromStart = *from == "start";
  if (*from != "start" && *from != "failed-phase") {
    inner.report(retry::kFrom, "expected failed-phase or start");
  }
}

[[nodiscard]] NodeSpec readNode(json::Value value, const Path& path, Problems& problems) {
  NodeSpec spec;
  if (value.kind != json::Kind::Object) {
    problems.add(path.text(), "expected an object, got " + std::string(describe(value.kind)));
    return spec;
  }
  const Fields fields(value, path, node::kNames, problems);
  readId(fields, spec);
  const auto name = fields.text(node::kName, kMaxNameBytes);
  checkName(fields, node::kName, name);
  spec.name = name.value_or(spec.id);
  readGroup(fields, spec);
  spec.dependencies = readDependencies(fields, node::kDependencies);
  spec.prechecks = readWork(fields, node::kPrechecks, problems);
  spec.work = readWork(fields, node::kWork, problems);
  spec.postchecks = readWork(fields, node::kPostchecks, problems);
  spec.expectsNoChanges = fields.flag(node::kExpectsNoChanges);
  spec.timeout = readTimeout(fields, node::kTimeout);
  readRetry(fields, spec, problems);
  spec.cwd = readInnerFolder(fields, node::kCwd);
  spec.sandbox = readSandbox(fields, node::kSandbox, problems);
  return spec;
}

void readNodeList(json::Value list, const Path& path, std::vector<NodeSpec>& nodes,
                  Problems& problems) {
  json::Elements elements(list);
  json::Value element;
  for (size_t i = 0; elements.next(element); ++i) {
    if (i == kMaxNodes) {
      problems.add(path.text(), "a plan has at most " + std::to_string(kMaxNodes) + " nodes");
      return;
    }
    nodes.push_back(readNode(element, Path{&path, {}, i}, problems));
  }
  if (nodes.empty()) problems.add(path.text(), "must have a node");
}

namespace change {
enum : size_t { kWork, kPrechecks, kPostchecks, kDependencies, kTimeout, kSandbox };
constexpr auto kNames = withSandbox(
    std::array<std::string_view, 5>{"work", "prechecks", "postchecks", "dependencies", "timeout"});
}  // namespace change

namespace root {
enum : size_t {
  kName,
  kRepo,
  kBaseBranch,
  kTargetBranch,
  kMaxParallel,
  kCleanUp,
  kStartPaused,
  kBudget,
  kEnv,
  kNodes,
  kFetch,
  kCopy,
  kLink,
  kSetup,
  kGitignore,
  kSandbox,
};
constexpr auto kNames = withSandbox(std::array<std::string_view, 15>{
    "name", "repo", "baseBranch", "targetBranch", "maxParallel", "cleanUpSuccessfulWork",
    "startPaused", "budget", "env", "nodes", "fetch", "copy", "link", "setup", "gitignore"});
}  // namespace root
namespace budget {
enum : size_t { kAiCredits, kTokens };
constexpr std::array<std::string_view, 2> kNames{"aiCredits", "tokens"};
}  // namespace budget

[[nodiscard]] Budget readBudgetFields(json::Value value, const Path& path, Problems& problems) {
  Budget found;
  const Fields inner(value, path, budget::kNames, problems);
  if (const auto credits = inner.get(budget::kAiCredits, json::Kind::Number)) {
    const double number = json::decodeNumber(*credits);
    if (number > 0 && number <= 1e9) {
      found.aiCredits = number;
    } else {
      inner.report(budget::kAiCredits, "expected a number above 0");
    }
  }
  found.tokens = inner.whole(budget::kTokens, 1, int64_t{1} << 50);
  return found;
}

void readHead(const Fields& fields, PlanSpec& spec, Problems& problems) {
  if (fields.require(root::kName, "the purpose of the plan, in a few words")) {
    const auto name = fields.text(root::kName, kMaxNameBytes);
    checkName(fields, root::kName, name);
    spec.name = name.value_or("");
  }
  checkPlainText(fields, root::kRepo, fields.text(root::kRepo, kMaxWorkBytes));
  checkRef(fields, root::kBaseBranch, fields.text(root::kBaseBranch, kMaxRefBytes));
  const auto target = fields.text(root::kTargetBranch, kMaxRefBytes);
  checkRef(fields, root::kTargetBranch, target);
  spec.targetBranch = target.value_or("");
  spec.maxParallel = fields.whole(root::kMaxParallel, 1, kMaxParallelNodes).value_or(4);
  spec.startPaused = fields.flag(root::kStartPaused);
  for (const size_t flag : {root::kCleanUp, root::kFetch, root::kGitignore}) {
    (void)fields.flag(flag);
  }
  if (const auto value = fields.get(root::kBudget, json::Kind::Object)) {
    spec.budget = readBudgetFields(*value, fields.at(root::kBudget), problems);
  }
  checkEnvironment(fields, root::kEnv, problems);
  fields.texts(root::kCopy, kMaxListItems, ignore);
  fields.texts(root::kLink, kMaxListItems, ignore);
  (void)fields.text(root::kSetup, kMaxWorkBytes);
  spec.sandbox = readSandbox(fields, root::kSandbox, problems);
}

// The scanned root of `text`, or a problem.
[[nodiscard]] std::optional<json::Value> scan(json::Scanner& scanner, std::string_view text,
                                              json::Kind kind, Problems& problems) {
  if (text.size() > kMaxTextBytes) {
    problems.add("", "is longer than " + std::to_string(kMaxTextBytes >> 20) + " MB");
    return std::nullopt;
  }
  const auto scanned = scanner.scan(text);
  if (!scanned) {
    problems.add("", "is not JSON at byte " + std::to_string(scanned.error().offset) + ": " +
                         scanned.error().reason);
    return std::nullopt;
  }
  if (scanned.value().kind == kind) return scanned.value();
  problems.add("", "expected " + std::string(describe(kind)) + ", got " +
                       std::string(describe(scanned.value().kind)));
  return std::nullopt;
}

}  // namespace

PlanSpec readPlan(std::string_view text, Problems& problems) {
  PlanSpec spec;
  json::Scanner scanner;
  const auto object = scan(scanner, text, json::Kind::Object, problems);
  if (!object) return spec;
  const Path path;
  const Fields fields(scanner.members(), path, root::kNames, problems);
  readHead(fields, spec, problems);
  if (fields.require(root::kNodes, "a list of nodes")) {
    if (const auto list = fields.get(root::kNodes, json::Kind::Array)) {
      readNodeList(*list, fields.at(root::kNodes), spec.nodes, problems);
    }
  }
  spec.head = json::openWithout(scanner.members(), "nodes") + "}";
  return spec;
}

std::vector<NodeSpec> readNodes(std::string_view text, Problems& problems) {
  std::vector<NodeSpec> nodes;
  json::Scanner scanner;
  const auto list = scan(scanner, text, json::Kind::Array, problems);
  const Path path{nullptr, "nodes"};
  if (list) readNodeList(*list, path, nodes, problems);
  return nodes;
}

NodeChanges readNodeChanges(std::string_view text, Problems& problems) {
  NodeChanges changes;
  json::Scanner scanner;
  const auto object = scan(scanner, text, json::Kind::Object, problems);
  if (!object) return changes;
  const Path path;
  const Fields fields(scanner.members(), path, change::kNames, problems);
  const auto work = [&](size_t field) {
    return fields.isGiven(field) ? std::optional(readWork(fields, field, problems)) : std::nullopt;
  };
  changes.prechecks = work(change::kPrechecks);
  changes.work = work(change::kWork);
  changes.postchecks = work(change::kPostchecks);
  if (fields.isGiven(change::kDependencies)) {
    changes.dependencies = readDependencies(fields, change::kDependencies);
  }
  if (fields.isGiven(change::kTimeout)) changes.timeout = readTimeout(fields, change::kTimeout);
  SandboxSpec sandbox = readSandbox(fields, change::kSandbox, problems);
  for (size_t i = 0; i < sandbox.size(); ++i) {
    if (fields.isGiven(change::kSandbox + i)) changes.sandbox[i] = std::move(sandbox[i]);
  }
  return changes;
}

Budget readBudget(std::string_view text, Problems& problems) {
  json::Scanner scanner;
  const auto value = scan(scanner, text, json::Kind::Object, problems);
  const Path path{nullptr, "budget"};
  return value ? readBudgetFields(*value, path, problems) : Budget();
}

std::optional<Millis> readDuration(std::string_view text) {
  struct Unit {
    std::string_view name;
    double millis;
  };
  constexpr std::array<Unit, 6> kUnits{
      {{"", 1e3}, {"ms", 1}, {"s", 1e3}, {"m", 60e3}, {"h", 3600e3}, {"d", 86'400e3}}};
  double number = 0;
  const auto [end, error] =
      // cppcheck-suppress invalidLifetime ; it is the caller's
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  for (const Unit& known : kUnits) {
    if (unit != known.name) continue;
    const double millis = number * known.millis;
    if (millis > 1e15) return std::nullopt;
    return Millis(static_cast<int64_t>(millis));
  }
  return std::nullopt;
}

}  // namespace tap::plan
