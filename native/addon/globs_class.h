// The JavaScript class `Globs`: matches paths with globs, in linear time. See js/lib/addon.d.ts for
// its types.
#pragma once

#include <napi.h>

#include <vector>

#include "base/glob.h"

namespace tap::addon {

class GlobsClass final : public Napi::ObjectWrap<GlobsClass> {
 public:
  static Napi::Function define(Napi::Env env);

  explicit GlobsClass(const Napi::CallbackInfo& info);

 private:
  Napi::Value matches(const Napi::CallbackInfo& info);

  std::vector<Glob> globs_;
};

}  // namespace tap::addon
