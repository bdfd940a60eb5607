#include "protocol/hook_rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/encoding.h"
#include "base/paths.h"

namespace tap::protocol {

namespace {

// Those that the CLI has (docs/decisions.md D-18); others would end up anywhere.
constexpr std::array<std::string_view, 12> kSections{"preamble",
                                                     "identity",
                                                     "tone",
                                                     "tool_efficiency",
                                                     "environment_context",
                                                     "code_change_rules",
                                                     "guidelines",
                                                     "safety",
                                                     "tool_instructions",
                                                     "custom_instructions",
                                                     "runtime_instructions",
                                                     "last_instructions"};

std::string sectionNames() {
  std::string names;
  for (const std::string_view section : kSections) {
    names += (names.empty() ? "" : ", ") + std::string(section);
  }
  return names;
}

// Absent: empty. Of any length up to the limit, the empty text included.
std::string readText(FieldReader& fields, std::string_view key, const std::string& path,
                     const Limits& limits, Problem& problem) {
  const auto value = fields.optional(key, json::Kind::String);
  std::string text = value ? json::decodeString(*value) : std::string();
  const size_t most = limits.bytes(Limit::HookTextBytes);
  if (text.size() > most) {
    problem.report(path + "." + std::string(key) + ": at most " + std::to_string(most) + " bytes");
  }
  return text;
}

std::shared_ptr<const Pattern> readPattern(const std::optional<std::string>& text,
                                           const std::string& where, Problem& problem,
                                           PatternSource& patterns) {
  if (!text) return nullptr;
  auto pattern = patterns.obtain(*text);
  if (pattern) return pattern.value();
  problem.report(where + ": " + pattern.error());
  return nullptr;
}

std::shared_ptr<const Glob> readGlob(const std::optional<std::string>& text,
                                     const std::string& where, Problem& problem) {
  if (!text) return nullptr;
  Result<Glob, PatternError> glob = Glob::compile(*text);
  if (glob) return std::make_shared<const Glob>(std::move(glob.value()));
  problem.report(where + ": not a glob, at character " + std::to_string(glob.error().offset) +
                 ": " + glob.error().message);
  return nullptr;
}

void readMatch(HookRule& rule, json::Value value, const std::string& path, Problem& problem,
               PatternSource& patterns) {
  FieldReader fields(value, path, problem);
  rule.tool = fields.optionalText("tool", kMaxIdBytes).value_or(std::string());
  rule.provider = fields.optionalText("provider", kMaxIdBytes).value_or(std::string());
  rule.args = readPattern(fields.optionalText("args", Pattern::kMaxPatternBytes), path + ".args",
                          problem, patterns);
  rule.file = readGlob(fields.optionalText("file", Glob::kMaxGlobBytes), path + ".file", problem);
}

std::optional<HookAction> hookActionFromWire(std::string_view name) {
  if (name == "deny") return HookAction::Deny;
  if (name == "context") return HookAction::Context;
  if (name == "gate") return HookAction::Gate;
  return std::nullopt;
}

std::optional<TransformAction> transformActionFromWire(std::string_view name) {
  if (name == "append") return TransformAction::Append;
  if (name == "prepend") return TransformAction::Prepend;
  if (name == "replace") return TransformAction::Replace;
  if (name == "callback") return TransformAction::Callback;
  return std::nullopt;
}

Transform readTransform(json::Value value, const std::string& path, const Limits& limits,
                        Problem& problem) {
  Transform transform;
  FieldReader fields(value, path, problem);
  const std::string action = fields.requiredText("action", kMaxIdBytes);
  const auto known = transformActionFromWire(action);
  if (!known) {
    problem.report(
        path + ".action: expected \"append\", \"prepend\", \"replace\" or \"callback\", got \"" +
        visible(action, false, 64) + "\"");
    return transform;
  }
  transform.action = *known;
  if (*known == TransformAction::Callback) return transform;
  if (!fields.find("content")) fields.reportExpected("content", "a string", std::nullopt);
  transform.content = readText(fields, "content", path, limits, problem);
  return transform;
}

void readTransforms(HooksChange& change, json::Value object, const std::string& path,
                    const Limits& limits, Problem& problem) {
  json::Members members(object);
  for (json::Member member; !problem.any() && members.next(member);) {
    const std::string quoted = "\"" + std::string(member.key) + "\"";
    const std::string section = json::decodeString({json::Kind::String, quoted});
    if (std::find(kSections.begin(), kSections.end(), section) == kSections.end()) {
      problem.report(path + ": there is no section \"" + visible(section, false, 64) +
                     "\"; there are " + sectionNames());
      return;
    }
    std::string where = path;
    where.append(".").append(section);
    if (member.value.kind == json::Kind::Null) {
      change.transforms[section] = std::nullopt;
    } else if (member.value.kind == json::Kind::Object) {
      change.transforms[section] = readTransform(member.value, where, limits, problem);
    } else {
      problem.report(where + ": expected an object or null, got " +
                     std::string(describe(member.value.kind)));
    }
  }
}

// The CLI's shell tool is called bash; rules call it shell (docs/decisions.md D-17).
bool isTool(std::string_view wanted, std::string_view tool) {
  return wanted.empty() || wanted == tool || (wanted == "shell" && tool == "bash");
}

// The argument that names a file, as the CLI's own tools call it.
std::optional<std::string> readPathArgument(std::string_view args) {
  if (args.empty() || args.front() != '{') return std::nullopt;
  const auto path = json::find({json::Kind::Object, args}, "path");
  if (!path || path->kind != json::Kind::String) return std::nullopt;
  return json::decodeString(*path);
}

}  // namespace

bool isProtectedSection(std::string_view section) {
  // preamble is a part of identity.
  return section == "identity" || section == "preamble" || section == "safety";
}

bool isClosedToPaired(std::string_view section) {
  return isProtectedSection(section) || section == "last_instructions";
}

const std::vector<std::string>& ToolUse::files() const {
  if (!files_) {
    const std::optional<std::string> path = readPathArgument(args_);
    files_ = path ? listSpellings(*path, folder_) : std::vector<std::string>();
  }
  return *files_;
}

Match matches(const HookRule& rule, const ToolUse& use) {
  PatternBudget time{Pattern::kMatchTime};
  return matches(rule, use, time);
}

Match matches(const HookRule& rule, const ToolUse& use, PatternBudget& time) {
  if (!isTool(rule.tool, use.tool())) return Match::No;
  if (!rule.provider.empty() && rule.provider != use.provider()) return Match::No;
  if (rule.file && std::ranges::none_of(use.files(), [&rule](const std::string& file) {
        return rule.file->matches(file);
      })) {
    return Match::No;
  }
  return rule.args ? rule.args->matches(use.args(), time) : Match::Yes;
}

HookRule readHookRule(json::Value value, const std::string& path, const Limits& limits,
                      Problem& problem, PatternSource& patterns) {
  HookRule rule;
  if (value.kind != json::Kind::Object) {
    problem.report(path + ": expected an object, got " + std::string(describe(value.kind)));
    return rule;
  }
  FieldReader fields(value, path, problem);
  if (const auto match = fields.optional("match", json::Kind::Object)) {
    readMatch(rule, *match, path + ".match", problem, patterns);
  }
  const std::string action = fields.requiredText("action", kMaxIdBytes);
  if (const auto known = hookActionFromWire(action)) {
    rule.action = *known;
  } else {
    problem.report(path + ".action: expected \"deny\", \"context\" or \"gate\", got \"" +
                   visible(action, false, 64) + "\"");
  }
  if (rule.action == HookAction::Gate) rule.gateId = fields.requiredText("gateId", kMaxIdBytes);
  if (rule.action == HookAction::Context) {
    if (!fields.find("content")) fields.reportExpected("content", "a string", std::nullopt);
    rule.text = readText(fields, "content", path, limits, problem);
  }
  if (rule.action == HookAction::Deny) {
    rule.text = readText(fields, "reason", path, limits, problem);
  }
  const auto failOpen = fields.optional("failOpen", json::Kind::Boolean);
  rule.failOpen = failOpen && json::decodeBoolean(*failOpen);
  rule.json = std::string(value.raw);
  return rule;
}

HooksChange readHooks(json::Value object, std::string_view path, const Limits& limits,
                      Problem& problem, PatternSource& patterns) {
  HooksChange change;
  FieldReader fields(object, path, problem);
  const std::string where(path);
  if (const auto rules = fields.optional("onPreToolUse", json::Kind::Array)) {
    change.rules.emplace();
    json::Elements elements(*rules);
    for (json::Value value; !problem.any() && elements.next(value);) {
      const std::string at = where + ".onPreToolUse[" + std::to_string(change.rules->size()) + "]";
      change.rules->push_back(readHookRule(value, at, limits, problem, patterns));
    }
  }
  if (const auto transforms = fields.optional("transforms", json::Kind::Object)) {
    readTransforms(change, *transforms, where + ".transforms", limits, problem);
  }
  return change;
}

}  // namespace tap::protocol
