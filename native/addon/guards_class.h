// The JavaScript class `HookGuards`: hook rules that a session applies on its own while it has no
// gateway. See js/lib/addon.d.ts for its types.
#pragma once

#include <napi.h>

#include <vector>

#include "protocol/hook_rules.h"

namespace tap::addon {

class GuardsClass final : public Napi::ObjectWrap<GuardsClass> {
 public:
  static Napi::Function define(Napi::Env env);

  explicit GuardsClass(const Napi::CallbackInfo& info);

 private:
  Napi::Value covers(const Napi::CallbackInfo& info);

  std::vector<protocol::HookRule> rules_;
};

}  // namespace tap::addon
