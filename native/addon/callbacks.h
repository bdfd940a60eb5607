// Calling into JavaScript from the loop.
#pragma once

#include <napi.h>

#include <initializer_list>
#include <string>

namespace tap::addon {

// A JavaScript function that native code calls when something has happened. What it throws goes to
// the process's uncaughtException handler, as with any event listener.
class Callback {
 public:
  // `owner[name]` must be a function; otherwise the callback does nothing.
  Callback(const Napi::Object& owner, const char* name) : env_(owner.Env()), context_(env_, name) {
    const Napi::Value value = owner.Get(name);
    if (value.IsFunction()) function_ = Napi::Persistent(value.As<Napi::Function>());
  }

  [[nodiscard]] Napi::Env env() const { return env_; }

  // Call within a HandleScope.
  void operator()(const std::initializer_list<napi_value>& arguments) {
    if (function_.IsEmpty()) return;
    function_.MakeCallback(env_.Global(), arguments, context_);
    if (env_.IsExceptionPending()) {
      const Napi::Error error = env_.GetAndClearPendingException();
      napi_fatal_exception(env_, error.Value());
    }
  }

 private:
  Napi::Env env_;
  Napi::AsyncContext context_;
  Napi::FunctionReference function_;
};

}  // namespace tap::addon
