// JavaScript strings. A large string uses the existing bytes: V8 would copy them to new pages,
// which takes longer than all work of the gateway on them.
#pragma once

#include <napi.h>

#include <string>
#include <string_view>

#include "base/slice.h"

namespace tap::addon {

// A string of `ascii`, which is a part of `bytes` and is copied if it is less than half of them.
// From 128 KB on V8 reads the bytes in place: they must not change, and are released when the
// string is collected or its thread ends.
[[nodiscard]] Napi::String asciiString(Napi::Env env, std::string_view ascii, Slice bytes);

// The same of UTF-16 code units.
[[nodiscard]] Napi::String utf16String(Napi::Env env, std::u16string units);

// The same of valid UTF-8. Text that is not ASCII is copied.
[[nodiscard]] Napi::String utf8String(Napi::Env env, Slice text);

}  // namespace tap::addon
