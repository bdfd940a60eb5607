// A provider's declarations about the agent's actions and prompts: rules that are evaluated before
// a tool runs, and changes to sections of the system message (docs/protocol.md, "Hooks").
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/glob.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/pattern.h"
#include "protocol/field_reader.h"

namespace tap::protocol {

enum class HookAction : uint8_t { Deny, Context, Gate };

// One onPreToolUse rule. A field that its match does not name matches anything.
struct HookRule {
  std::string tool;
  std::string provider;  // whose tool it must be
  std::shared_ptr<const Pattern> args;
  std::optional<std::vector<std::string>> argsPath;  // a JSON Pointer: args is about that value
  std::shared_ptr<const Glob> file;
  HookAction action = HookAction::Deny;
  std::string text;    // deny: the reason; context: what the model is told
  std::string gateId;  // gate: the provider's name for it
  bool failOpen = false;
  std::string json;  // the rule as it was declared
};

// Whether it denies where nobody can be asked.
[[nodiscard]] inline bool isGuard(const HookRule& rule) {
  return rule.action != HookAction::Context && !rule.failOpen;
}

// For the patterns of all rules that one use of a tool is held to.
inline constexpr std::chrono::milliseconds kRulesTime{50};

// A tool that is about to run. It views what it is made of.
class ToolUse {
 public:
  // Of the strings in its arguments, so many are matched, with so many bytes of JSON text.
  static constexpr size_t kMaxStrings = 256;
  static constexpr size_t kMaxStringBytes = Pattern::kMaxSubjectBytes;

  // `provider`: empty for one of the CLI's own; `args`: JSON text, as JSON.stringify writes it;
  // `folder`: where the session works, which relative paths begin in.
  ToolUse(std::string_view tool, std::string_view provider, std::string_view args,
          std::string_view folder)
      : tool_(tool), provider_(provider), args_(args), folder_(folder) {}

  [[nodiscard]] std::string_view tool() const { return tool_; }
  [[nodiscard]] std::string_view provider() const { return provider_; }
  [[nodiscard]] std::string_view args() const { return args_; }
  // The spellings (base/paths.h) of the file that it names; none: it names none. They are made when
  // the first rule asks for them, and once for all rules.
  [[nodiscard]] const std::vector<std::string>& files() const;

  // A string in the arguments, at any depth, keys left out.
  struct Text {
    std::string_view raw;  // where it stands
    std::string text;      // of a shell's command: with continued lines joined
  };
  // Made when the first rule asks for them, and once for all rules.
  [[nodiscard]] const std::vector<Text>& texts() const;
  // Whether this part of the arguments has strings that are beyond the limits.
  [[nodiscard]] bool hasMoreTexts(std::string_view part) const;

 private:
  std::string_view tool_;
  std::string_view provider_;
  std::string_view args_;
  std::string_view folder_;
  mutable std::optional<std::vector<std::string>> files_;
  mutable std::optional<std::vector<Text>> texts_;
  mutable std::string_view beyond_;  // the arguments from the first string on that is in no text
};

// Whether the rule is about this use, as its pattern says within that time. The pattern is searched
// in the JSON text, in each string and in each line of a string; one will do. Of a file any
// spelling will do, so that a file that matches under one name also matches under its others.
[[nodiscard]] Match matches(const HookRule& rule, const ToolUse& use, PatternBudget& time);

enum class TransformAction : uint8_t { Append, Prepend, Replace, Callback };

struct Transform {
  TransformAction action = TransformAction::Append;
  std::string content;  // empty for Callback
};
using Transforms = std::map<std::string, Transform, std::less<>>;  // by section

// The content of hello.hooks or hooks.update. Absent fields do not change anything.
struct HooksChange {
  std::optional<std::vector<HookRule>> rules;
  std::map<std::string, std::optional<Transform>, std::less<>> transforms;  // nothing: taken away

  [[nodiscard]] bool empty() const { return !rules && transforms.empty(); }
};

// Sections to which text can be appended and nothing else be done.
[[nodiscard]] bool isProtectedSection(std::string_view section);
// Sections that are closed to paired providers: those, and the one that has the last word.
[[nodiscard]] bool isClosedToPaired(std::string_view section);

// Reads `onPreToolUse` and `transforms` of an object at `path`. Mistakes go to `problem`.
[[nodiscard]] HooksChange readHooks(json::Value object, std::string_view path, const Limits& limits,
                                    Problem& problem,
                                    PatternSource& patterns = PatternSource::unbounded());

// One rule, as in HookRule::json.
[[nodiscard]] HookRule readHookRule(json::Value value, const std::string& path,
                                    const Limits& limits, Problem& problem,
                                    PatternSource& patterns = PatternSource::unbounded());

}  // namespace tap::protocol
