// Matchers and cycles as JavaScript gives and gets them.
#pragma once

#include <napi.h>

#include <optional>
#include <string>

#include "base/json_writer.h"
#include "lines/cycles.h"

namespace tap::addon {

// Empty if it is wrong; a RangeError with the property `field` is then pending.
[[nodiscard]] std::optional<lines::Matcher> readMatcher(Napi::Env env, const std::string& json,
                                                        const Napi::Value& tools);

// Writes the members `opened`, `closed` and `slow`, if present.
void writeCycles(json::Writer& writer, const lines::CycleEffects& cycles);

// replay(matcher, events): the cycles of a recorded output, without waiting.
Napi::Value replayCycles(const Napi::CallbackInfo& info);

}  // namespace tap::addon
