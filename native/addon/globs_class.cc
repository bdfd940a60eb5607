#include "addon/globs_class.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "addon/arguments.h"
#include "base/result.h"

namespace tap::addon {

Napi::Function GlobsClass::define(Napi::Env env) {
  return DefineClass(env, "Globs", {InstanceMethod<&GlobsClass::matches>("matches")});
}

GlobsClass::GlobsClass(const Napi::CallbackInfo& info) : Napi::ObjectWrap<GlobsClass>(info) {
  const auto texts = Arguments(info, "new Globs(globs)").texts(0);
  if (!texts) return;
  for (const std::string& text : *texts) {
    Result<Glob, PatternError> glob = Glob::compile(text);
    if (!glob) {
      throwType(info.Env(), glob.error().message);
      return;
    }
    globs_.push_back(std::move(glob.value()));
  }
}

Napi::Value GlobsClass::matches(const Napi::CallbackInfo& info) {
  const std::optional<std::string> path = Arguments(info, "matches(path)").text(0);
  if (!path) return info.Env().Undefined();
  const bool found =
      std::ranges::any_of(globs_, [&path](const Glob& glob) { return glob.matches(*path); });
  return Napi::Boolean::New(info.Env(), found);
}

}  // namespace tap::addon
