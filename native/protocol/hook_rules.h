// A provider's declarations for the agent's actions and prompts: rules that are evaluated before a
// tool runs, and changes to sections of the system message (docs/protocol.md, "Hooks").
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

// An onPreToolUse rule. A field that is absent in its match matches any value.
struct HookRule {
  std::string tool;
  std::string provider;  // the provider of the tool
  std::shared_ptr<const Pattern> args;
  // A JSON Pointer: `args` matches only that value.
  std::optional<std::vector<std::string>> argsPath;
  std::shared_ptr<const Glob> file;
  HookAction action = HookAction::Deny;
  std::string text;    // deny: the reason; context: a text for the model
  std::string gateId;  // gate: the id that the provider gave
  bool failOpen = false;
  std::string json;  // the rule as it was declared
};

// Whether it denies when neither provider nor gateway can be asked.
[[nodiscard]] inline bool isGuard(const HookRule& rule) {
  return rule.action != HookAction::Context && !rule.failOpen;
}

// For all patterns of the rules that are checked for a single use of a tool.
inline constexpr std::chrono::milliseconds kRulesTime{50};

// A tool that is about to run. Views the arguments of its constructor.
class ToolUse {
 public:
  // The maximum of strings in its arguments that are matched, and of their bytes of JSON text.
  static constexpr size_t kMaxStrings = 256;
  static constexpr size_t kMaxStringBytes = Pattern::kMaxSubjectBytes;

  // `provider`: empty for a tool of the CLI itself; `args`: JSON text, as JSON.stringify writes it;
  // `folder`: the session's working folder, for relative paths.
  ToolUse(std::string_view tool, std::string_view provider, std::string_view args,
          std::string_view folder)
      : tool_(tool), provider_(provider), args_(args), folder_(folder) {}

  [[nodiscard]] std::string_view tool() const { return tool_; }
  [[nodiscard]] std::string_view provider() const { return provider_; }
  [[nodiscard]] std::string_view args() const { return args_; }
  // The spellings (base/paths.h) of the file in its arguments; empty without a file. Computed at
  // the first use, and shared by all rules.
  [[nodiscard]] const std::vector<std::string>& files() const;

  // A string in the arguments, at any depth, except keys.
  struct Text {
    std::string_view raw;  // its JSON text in the arguments
    std::string text;      // of a shell's command: with continued lines joined
  };
  // Computed at the first use, and shared by all rules.
  [[nodiscard]] const std::vector<Text>& texts() const;
  // Whether this part of the arguments has strings beyond the limits.
  [[nodiscard]] bool hasMoreTexts(std::string_view part) const;

 private:
  std::string_view tool_;
  std::string_view provider_;
  std::string_view args_;
  std::string_view folder_;
  mutable std::optional<std::vector<std::string>> files_;
  mutable std::optional<std::vector<Text>> texts_;
  // The arguments from the first string on that is not in texts().
  mutable std::string_view beyond_;
};

// Whether the rule matches this use, as far as its pattern can decide within that time. The pattern
// is searched in the JSON text, in each string and in each line of a string; any match counts. For
// a file any spelling counts, so that a file is matched by all of its names.
[[nodiscard]] Match matches(const HookRule& rule, const ToolUse& use, PatternBudget& time);

enum class TransformAction : uint8_t { Append, Prepend, Replace, Callback };

struct Transform {
  TransformAction action = TransformAction::Append;
  std::string content;  // empty for Callback
};
using Transforms = std::map<std::string, Transform, std::less<>>;  // by section

// The content of hello.hooks or hooks.update. Absent fields mean no change.
struct HooksChange {
  std::optional<std::vector<HookRule>> rules;
  std::map<std::string, std::optional<Transform>, std::less<>> transforms;  // empty: removed

  [[nodiscard]] bool empty() const { return !rules && transforms.empty(); }
};

// Sections to which text may only be appended.
[[nodiscard]] bool isProtectedSection(std::string_view section);
// Sections that paired providers cannot change: the protected sections, and the last section.
[[nodiscard]] bool isClosedToPaired(std::string_view section);

// Reads `onPreToolUse` and `transforms` of an object at `path`. Mistakes go to `problem`.
[[nodiscard]] HooksChange readHooks(json::Value object, std::string_view path, const Limits& limits,
                                    Problem& problem,
                                    PatternSource& patterns = PatternSource::unbounded());

// A single rule, as in HookRule::json.
[[nodiscard]] HookRule readHookRule(json::Value value, const std::string& path,
                                    const Limits& limits, Problem& problem,
                                    PatternSource& patterns = PatternSource::unbounded());

}  // namespace tap::protocol
