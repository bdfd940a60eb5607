#include "addon/guards_class.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/limits.h"

namespace tap::addon {

Napi::Function GuardsClass::define(Napi::Env env) {
  return DefineClass(env, "HookGuards", {InstanceMethod<&GuardsClass::covers>("covers")});
}

GuardsClass::GuardsClass(const Napi::CallbackInfo& info) : Napi::ObjectWrap<GuardsClass>(info) {
  const std::string text = info[0].ToString().Utf8Value();
  json::Scanner scanner;
  const auto root = scanner.scan(text);
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
  const std::string tool = info[0].ToString().Utf8Value();
  const std::string owner = info[1].ToString().Utf8Value();
  const std::string args = info[2].ToString().Utf8Value();
  const std::string folder = info[3].ToString().Utf8Value();
  const protocol::ToolUse use(tool, owner, args, folder);
  // What cannot be decided in time is covered.
  const bool covered = std::any_of(
      rules_.begin(), rules_.end(),
      [&](const protocol::HookRule& rule) { return protocol::matches(rule, use) != Match::No; });
  return Napi::Boolean::New(info.Env(), covered);
}

}  // namespace tap::addon
