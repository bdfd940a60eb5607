// Matchers and cycles as JavaScript gives and gets them.
#pragma once

#include <napi.h>

#include <optional>
#include <string>

#include "base/json_writer.h"
#include "lines/cycles.h"

namespace tap::addon {

// Nothing where it is wrong; a RangeError with the property `field` is then pending.
[[nodiscard]] std::optional<lines::Matcher> readMatcher(Napi::Env env, const std::string& json);

// The members `opened`, `closed` and `slow`, as far as there are any.
void writeCycles(json::Writer& writer, const lines::CycleEffects& cycles);

// replay(matcher, events): what a recorded output is read as, as fast as it can be read.
Napi::Value replayCycles(const Napi::CallbackInfo& info);

}  // namespace tap::addon
