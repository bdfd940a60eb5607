// What a provider declares about the agent's actions and prompts: rules that are evaluated before
// a tool runs, and changes to sections of the system message (specification v2, "Hook rules").
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

// One onPreToolUse rule. What its match does not name, it does not ask for.
struct HookRule {
  std::string tool;
  std::string provider;  // whose tool it must be
  std::shared_ptr<const Pattern> args;
  std::shared_ptr<const Glob> file;
  HookAction action = HookAction::Deny;
  std::string text;    // deny: the reason; context: what the model is told
  std::string gateId;  // gate: the provider's name for it
  bool failOpen = false;
  std::string json;  // the rule as it was declared
};

// A tool that is about to run. `args` is JSON text, as JSON.stringify writes it.
struct ToolUse {
  std::string_view tool;
  std::string_view provider;  // empty: one of the CLI's own
  std::string_view args;
};

// Whether the rule is about this use, as its pattern says in that time.
[[nodiscard]] Match matches(const HookRule& rule, const ToolUse& use,
                            std::chrono::microseconds deadline = Pattern::kMatchTime);

enum class TransformAction : uint8_t { Append, Prepend, Replace, Callback };

struct Transform {
  TransformAction action = TransformAction::Append;
  std::string content;  // empty for Callback
};
using Transforms = std::map<std::string, Transform, std::less<>>;  // by section

// What hello.hooks or hooks.update says. What it does not mention stays as it is.
struct HooksChange {
  std::optional<std::vector<HookRule>> rules;
  std::map<std::string, std::optional<Transform>, std::less<>> transforms;  // nothing: taken away

  [[nodiscard]] bool empty() const { return !rules && transforms.empty(); }
};

// Sections to which text can be appended and nothing else be done.
[[nodiscard]] bool isProtectedSection(std::string_view section);

// Reads `onPreToolUse` and `transforms` of an object at `path`. Mistakes go to `problem`.
[[nodiscard]] HooksChange readHooks(json::Value object, std::string_view path, const Limits& limits,
                                    Problem& problem);

// One rule, as in HookRule::json.
[[nodiscard]] HookRule readHookRule(json::Value value, const std::string& path,
                                    const Limits& limits, Problem& problem);

}  // namespace tap::protocol
