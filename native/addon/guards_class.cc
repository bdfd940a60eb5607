#include "addon/guards_class.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "addon/arguments.h"
#include "base/json.h"
#include "base/limits.h"

namespace tap::addon {

Napi::Function GuardsClass::define(Napi::Env env) {
  return DefineClass(env, "HookGuards", {InstanceMethod<&GuardsClass::covers>("covers")});
}

GuardsClass::GuardsClass(const Napi::CallbackInfo& info) : Napi::ObjectWrap<GuardsClass>(info) {
  const std::optional<std::string> text = Arguments(info, "new HookGuards(rules)").text(0);
  if (!text) return;
  json::Scanner scanner;
  const auto root = scanner.scan(*text, json::kMaxEnvelopeDepth);
  if (!root || root.value().kind != json::Kind::Array) {
    Napi::TypeError::New(info.Env(), "new HookGuards(rules): expected JSON text of an array")
        .ThrowAsJavaScriptException();
    return;
  }
  // The gateway has checked them.
  Limits limits;
  limits.set(Limit::HookTextBytes, INT64_MAX);
  protocol::Problem problem;
  json::Elements elements(root.value());
  for (json::Value rule; elements.next(rule);) {
    rules_.push_back(protocol::readHookRule(rule, "rules[]", limits, problem));
  }
  if (problem.any()) {
    Napi::TypeError::New(info.Env(), problem.text()).ThrowAsJavaScriptException();
  }
}

Napi::Value GuardsClass::covers(const Napi::CallbackInfo& info) {
  const Arguments arguments(info, "covers(tool, owner, args, folder)");
  const std::optional<std::string> tool = arguments.text(0);
  const std::optional<std::string> owner = arguments.text(1);
  const std::optional<std::string> args = arguments.text(2);
  const std::optional<std::string> folder = arguments.text(3);
  if (!tool || !owner || !args || !folder) return info.Env().Undefined();
  const protocol::ToolUse use(*tool, *owner, *args, *folder);
  // A match that takes too long counts as covered.
  PatternBudget time{protocol::kRulesTime};
  const bool covered =
      std::any_of(rules_.begin(), rules_.end(), [&](const protocol::HookRule& rule) {
        return protocol::matches(rule, use, time) != Match::No;
      });
  return Napi::Boolean::New(info.Env(), covered);
}

}  // namespace tap::addon
