#include "plan/work_reader.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/json_writer.h"
#include "plan/sandbox_reader.h"

namespace tap::plan {
namespace {

constexpr int64_t kMaxAgentTurns = 10'000;

// The fields of each kind. `type` is always the first.
enum : size_t { kType };
namespace process {
enum : size_t { kExecutable = 1, kArgs, kEnv };
constexpr std::array<std::string_view, 4> kNames{"type", "executable", "args", "env"};
}  // namespace process
namespace shell {
enum : size_t { kCommand = 1, kShell };
constexpr std::array<std::string_view, 3> kNames{"type", "command", "shell"};
}  // namespace shell
namespace agent {
enum : size_t { kInstructions = 1, kModel, kAllowedFolders, kAllowedUrls, kMaxTurns, kTools };
constexpr std::array<std::string_view, 7> kNames{
    "type", "instructions", "model", "allowedFolders", "allowedUrls", "maxTurns", "tools"};
}  // namespace agent
namespace tool {
enum : size_t { kTool = 1, kArgs };
constexpr std::array<std::string_view, 3> kNames{"type", "tool", "args"};
}  // namespace tool

constexpr std::array<std::string_view, 4> kShells{"bash", "sh", "pwsh", "cmd"};

void checkProcess(json::Value value, const Path& path, Problems& problems) {
  const Fields fields(value, path, process::kNames, problems);
  if (fields.require(process::kExecutable, "the program to run")) {
    (void)fields.text(process::kExecutable, kMaxWorkBytes);
  }
  fields.texts(process::kArgs, kMaxDependencies, ignore);
  checkEnvironment(fields, process::kEnv, problems);
}

void checkShell(json::Value value, const Path& path, Problems& problems) {
  const Fields fields(value, path, shell::kNames, problems);
  if (fields.require(shell::kCommand, "the command line to run")) {
    (void)fields.text(shell::kCommand, kMaxWorkBytes);
  }
  const auto name = fields.text(shell::kShell, kMaxNodeIdBytes);
  if (name && std::ranges::find(kShells, *name) == kShells.end()) {
    fields.report(shell::kShell, "expected bash, sh, pwsh or cmd");
  }
}

void checkAgent(json::Value value, const Path& path, Problems& problems) {
  const Fields fields(value, path, agent::kNames, problems);
  if (fields.require(agent::kInstructions, "the task of the agent")) {
    (void)fields.text(agent::kInstructions, kMaxWorkBytes);
  }
  checkPlainText(fields, agent::kModel, fields.text(agent::kModel, kMaxNameBytes));
  for (const size_t list : {agent::kAllowedFolders, agent::kTools}) {
    fields.texts(list, kMaxListItems, ignore);
  }
  checkHosts(fields, agent::kAllowedUrls, kMaxListItems, problems);
  (void)fields.whole(agent::kMaxTurns, 1, kMaxAgentTurns);
}

void checkTool(json::Value value, const Path& path, Problems& problems) {
  const Fields fields(value, path, tool::kNames, problems);
  if (fields.require(tool::kTool, "the name of a provider's tool")) {
    checkPlainText(fields, tool::kTool, fields.text(tool::kTool, kMaxNameBytes));
  }
  (void)fields.get(tool::kArgs, json::Kind::Object);
}

// A text is a command line, or after "@agent " the instructions of an agent.
[[nodiscard]] Work workFromText(std::string_view text, const Path& path, Problems& problems) {
  constexpr std::string_view kAgent = "@agent";
  const bool isAgent =
      text.starts_with(kAgent) && (text.size() == kAgent.size() || text[kAgent.size()] == ' ');
  if (isAgent) text.remove_prefix(std::min(text.size(), kAgent.size() + 1));
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    problems.add(path.text(), isAgent ? "has no instructions: write them after \"@agent \""
                                      : "must not be empty; leave the field out instead");
  }
  (void)isWithoutNul(text, path, problems);
  Work work{isAgent ? WorkKind::Agent : WorkKind::Shell, {}};
  json::Writer(work.json)
      .beginObject()
      .field("type", plan::text(work.kind))
      .field(isAgent ? json::Name("instructions") : json::Name("command"), text)
      .endObject();
  return work;
}

}  // namespace

Work readWork(const Fields& fields, size_t field, Problems& problems) {
  if (!fields.has(field)) return {};
  const json::Value value = fields.any(field);
  const Path path = fields.at(field);
  if (value.raw.size() > kMaxWorkBytes) {
    problems.add(path.text(), "is longer than " + std::to_string(kMaxWorkBytes) + " bytes");
    return {};
  }
  if (value.kind == json::Kind::String) {
    return workFromText(json::decodeString(value), path, problems);
  }
  if (value.kind != json::Kind::Object) {
    // YAML reads `work: true` as a boolean.
    const bool isWord = value.kind == json::Kind::Boolean || value.kind == json::Kind::Number;
    const std::string got = isWord ? std::string(value.raw) : std::string(describe(value.kind));
    problems.add(path.text(), "expected a command line or an object with a type, got " +
                                  got.substr(0, 64) +
                                  (isWord ? "; put quotes around a command" : ""));
    return {};
  }
  const auto type = json::find(value, "type");
  const std::string word =
      type && type->kind == json::Kind::String ? json::decodeString(*type) : std::string();
  const auto kind = parseWord(kWorkKindWords, word);
  switch (kind.value_or(WorkKind::None)) {
    case WorkKind::Process:
      checkProcess(value, path, problems);
      break;
    case WorkKind::Shell:
      checkShell(value, path, problems);
      break;
    case WorkKind::Agent:
      checkAgent(value, path, problems);
      break;
    case WorkKind::Tool:
      checkTool(value, path, problems);
      break;
    case WorkKind::None:
    case WorkKind::Count_:
      problems.add(Path{&path, "type"}.text(), "expected process, shell, agent or tool");
      return {};
  }
  return {*kind, std::string(value.raw)};
}

}  // namespace tap::plan
