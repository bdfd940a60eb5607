#include "protocol/hook_rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/encoding.h"
#include "base/paths.h"

namespace tap::protocol {

namespace {

// The sections of the CLI (docs/decisions.md D-18); the place of other sections would be undefined.
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

// Absent: empty. Of any length up to the limit; it may be empty.
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

// The names of a JSON Pointer (RFC 6901), unescaped; empty optional if it is not a JSON Pointer.
std::optional<std::vector<std::string>> readPointer(std::string_view pointer) {
  std::vector<std::string> names;
  if (!pointer.empty() && pointer.front() != '/') return std::nullopt;
  for (size_t at = 0; at < pointer.size(); ++at) {
    if (pointer[at] == '/') {
      names.emplace_back();
    } else if (pointer[at] != '~') {
      names.back() += pointer[at];
    } else {
      const char escaped = ++at < pointer.size() ? pointer[at] : '\0';
      if (escaped != '0' && escaped != '1') return std::nullopt;
      names.back() += escaped == '0' ? '~' : '/';
    }
  }
  return names;
}

void readArgs(HookRule& rule, json::Value value, const std::string& path, Problem& problem,
              PatternSource& patterns) {
  FieldReader fields(value, path, problem);
  const std::string pointer = fields.requiredText("path", kMaxIdBytes);
  rule.argsPath = readPointer(pointer);
  if (!rule.argsPath) {
    problem.report(path + ".path: expected a JSON Pointer such as \"/command\", got \"" +
                   visible(pointer, false, 64) + "\"");
  }
  rule.args = readPattern(fields.requiredText("pattern", Pattern::kMaxPatternBytes),
                          path + ".pattern", problem, patterns);
}

void readMatch(HookRule& rule, json::Value value, const std::string& path, Problem& problem,
               PatternSource& patterns) {
  FieldReader fields(value, path, problem);
  rule.tool = fields.optionalText("tool", kMaxIdBytes).value_or(std::string());
  rule.provider = fields.optionalText("provider", kMaxIdBytes).value_or(std::string());
  const auto args = fields.find("args");
  if (args && args->kind == json::Kind::Object) {
    readArgs(rule, *args, path + ".args", problem, patterns);
  } else {
    rule.args = readPattern(fields.optionalText("args", Pattern::kMaxPatternBytes), path + ".args",
                            problem, patterns);
  }
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

// The argument of that name, if it is a string.
std::optional<json::Value> findText(std::string_view args, std::string_view name) {
  const auto value = json::find(json::viewValue(args), name);
  return value && value->kind == json::Kind::String ? value : std::nullopt;
}

// The element with that index, as a JSON Pointer counts.
std::optional<json::Value> findElement(json::Value array, std::string_view index) {
  json::Elements elements(array);
  json::Value element;
  for (size_t at = 0; elements.next(element); ++at) {
    if (std::to_string(at) == index) return element;
  }
  return std::nullopt;
}

std::optional<json::Value> findAt(json::Value value, const std::vector<std::string>& path) {
  for (const std::string& name : path) {
    const bool isArray = value.kind == json::Kind::Array;
    const auto found = isArray ? findElement(value, name) : json::find(value, name);
    if (!found) return std::nullopt;
    value = *found;
  }
  return value;
}

// A shell continues a line that ends with a backslash.
std::string joinContinuedLines(std::string_view text) {
  std::string joined;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      joined += text[at];
    } else if (++at == text.size() || text[at] != '\n') {
      joined += text.substr(at - 1, 2);
    }
  }
  return joined;
}

// Calls `visit` with each line, without its end, until it returns true. Returns: whether it did.
template <class Visit>
bool visitLines(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    if (visit(text.substr(0, end))) return true;
    text.remove_prefix(end);
    text.remove_prefix(text.starts_with("\r\n") ? 2 : std::min<size_t>(1, text.size()));
  }
  return false;
}

bool isWithin(std::string_view part, std::string_view whole) {
  return part.data() >= whole.data() && part.data() < whole.data() + whole.size();
}

Match matchArgs(const HookRule& rule, const ToolUse& use, PatternBudget& time) {
  std::optional<json::Value> value = json::viewValue(use.args());
  if (rule.argsPath) value = findAt(*value, *rule.argsPath);
  if (!value) return Match::No;
  Match result = Match::No;
  const auto settles = [&](std::string_view subject) {
    const Match one = rule.args->matches(subject, time);
    if (one != Match::No) result = one;
    return one == Match::Yes || one == Match::TimedOut;
  };
  // A string at a given path has no quotes around it.
  const bool isNamedText = rule.argsPath && value->kind == json::Kind::String;
  if (!isNamedText && settles(value->raw)) return result;
  for (const ToolUse::Text& one : use.texts()) {
    if (!isWithin(one.raw, value->raw)) continue;
    if (settles(one.text)) return result;
    const bool isOneLine = one.text.find_first_of("\r\n") == one.text.npos;
    if (!isOneLine && visitLines(one.text, settles)) return result;
  }
  return result == Match::No && use.hasMoreTexts(value->raw) ? Match::Unseen : result;
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
    const auto path = findText(args_, "path");
    files_ = path ? listSpellings(json::decodeString(*path), folder_) : std::vector<std::string>();
  }
  return *files_;
}

const std::vector<ToolUse::Text>& ToolUse::texts() const {
  if (texts_) return *texts_;
  texts_.emplace();
  json::Strings strings(args_);
  size_t bytes = 0;
  for (json::Value value; strings.next(value);) {
    bytes += value.raw.size();
    if (texts_->size() == kMaxStrings || bytes > kMaxStringBytes) {
      beyond_ = args_.substr(static_cast<size_t>(value.raw.data() - args_.data()));
      break;
    }
    texts_->push_back({value.raw, json::decodeString(value)});
    std::string& text = texts_->back().text;
    if (text.find("\\\n") == text.npos || !isTool("shell", tool_)) continue;
    const auto command = findText(args_, "command");
    if (command && command->raw.data() == value.raw.data()) text = joinContinuedLines(text);
  }
  return *texts_;
}

bool ToolUse::hasMoreTexts(std::string_view part) const {
  return !beyond_.empty() && part.data() + part.size() > beyond_.data();
}

Match matches(const HookRule& rule, const ToolUse& use, PatternBudget& time) {
  if (!isTool(rule.tool, use.tool())) return Match::No;
  if (!rule.provider.empty() && rule.provider != use.provider()) return Match::No;
  if (rule.file && std::ranges::none_of(use.files(), [&rule](const std::string& file) {
        return rule.file->matches(file);
      })) {
    return Match::No;
  }
  return rule.args ? matchArgs(rule, use, time) : Match::Yes;
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
