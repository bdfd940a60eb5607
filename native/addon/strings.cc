#include "addon/strings.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/utf8.h"

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#elif !defined(__linux__)
#include <dlfcn.h>
#endif

// Node-API has them since version 10. Node.js 20, with version 9, has the same functions as
// experimental.
extern "C" {
NAPI_EXTERN napi_status NAPI_CDECL node_api_create_external_string_latin1(
    napi_env env, char* text, size_t length, napi_finalize finalizeString, void* held,
    napi_value* result, bool* copied);
NAPI_EXTERN napi_status NAPI_CDECL node_api_create_external_string_utf16(
    napi_env env, char16_t* text, size_t length, napi_finalize finalizeString, void* held,
    napi_value* result, bool* copied);
}

namespace tap::addon {

namespace {

// In bytes. A smaller string has no pages of its own in V8, and is cheaper to copy.
constexpr size_t kLarge = size_t{128} * 1024;

template <class Owner>
struct Held {
  Owner owner;
  int64_t bytes;  // the size that V8 knows of, so that it collects in time
};

void adjustExternalMemory(napi_env env, int64_t bytes) {
  int64_t all = 0;
  napi_adjust_external_memory(env, bytes, &all);
}

template <class Owner>
void finalizeString(napi_env env, void* /*text*/, void* data) {
  const std::unique_ptr<Held<Owner>> held(static_cast<Held<Owner>*>(data));
  if (env != nullptr) adjustExternalMemory(env, -held->bytes);  // null: its thread ends
}

template <class Owner>
[[nodiscard]] Held<Owner>* hold(napi_env env, Owner owner, size_t size) {
  const auto bytes = static_cast<int64_t>(size);
  adjustExternalMemory(env, bytes);
  return new Held<Owner>{std::move(owner), bytes};
}

// V8 releases a worker's strings after the worker has unloaded the addon, so finalizeString must
// stay loaded. Returns: false if the system does not support that.
[[nodiscard]] bool staysLoaded() {
#if defined(__linux__)
  return true;  // linked with -z nodelete (binding.gyp): dlopen would need a newer glibc
#else
  static const bool pinned = [] {
    auto* const here = reinterpret_cast<void*>(&adjustExternalMemory);
#if defined(_WIN32)
    HMODULE self = nullptr;
    return GetModuleHandleExW(
               GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
               static_cast<LPCWSTR>(here), &self) != 0;
#else
    Dl_info self;
    return dladdr(here, &self) != 0 &&
           dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
#endif
  }();
  return pinned;
#endif
}

}  // namespace

Napi::String asciiString(Napi::Env env, std::string_view ascii, Slice bytes) {
  napi_value value = nullptr;
  const bool usesMost = 2 * ascii.size() >= bytes.size();
  if (ascii.size() < kLarge || !usesMost || bytes.borrowed() || !staysLoaded()) {
    napi_create_string_latin1(env, ascii.data(), ascii.size(), &value);
    return {env, value};
  }
  const size_t size = bytes.size();
  auto* const held = hold(env, std::move(bytes), size);
  bool copied = false;
  node_api_create_external_string_latin1(env, const_cast<char*>(ascii.data()), ascii.size(),
                                         &finalizeString<Slice>, held, &value, &copied);
  return {env, value};
}

Napi::String utf16String(Napi::Env env, std::u16string units) {
  const size_t length = units.size();
  const size_t size = units.capacity() * sizeof(char16_t);
  const bool usesMost = 2 * length >= units.capacity();
  if (size < kLarge || !usesMost || !staysLoaded()) {
    return Napi::String::New(env, units.data(), length);
  }
  auto* const held = hold(env, std::move(units), size);
  napi_value value = nullptr;
  bool copied = false;
  node_api_create_external_string_utf16(env, held->owner.data(), length,
                                        &finalizeString<std::u16string>, held, &value, &copied);
  return {env, value};
}

Napi::String utf8String(Napi::Env env, Slice text) {
  const std::string_view view = text.view();
  if (view.size() < kLarge || utf8::asciiPrefix(view) < view.size()) {
    return Napi::String::New(env, view.data(), view.size());
  }
  return asciiString(env, view, std::move(text));
}

}  // namespace tap::addon
