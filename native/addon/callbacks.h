// Calling into JavaScript from the loop.
#pragma once

#include <napi.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace tap::addon {

// Whether JavaScript can still run. It cannot while its environment (a worker, the process) ends,
// when our objects are finalised in any order.
class Liveness {
 public:
  explicit Liveness(Napi::Env env) : env_(env) { napi_add_env_cleanup_hook(env_, end, this); }
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;
  ~Liveness() {
    if (alive_) napi_remove_env_cleanup_hook(env_, end, this);
  }

  [[nodiscard]] bool alive() const { return alive_; }

 private:
  static void end(void* self) { static_cast<Liveness*>(self)->alive_ = false; }

  napi_env env_;
  bool alive_ = true;
};

// A JavaScript function that native code calls for an event. An exception reaches the process's
// uncaughtException handler, as with any event listener.
class Callback {
 public:
  enum class Lives : uint8_t { ByItself, WithItsOwner };

  // `owner[name]` must be a function; otherwise the callback has no effect. WithItsOwner: the owner
  // keeps the function alive.
  Callback(const Napi::Object& owner, const char* name, Lives lives = Lives::ByItself)
      : env_(owner.Env()), context_(env_, name) {
    const Napi::Value value = owner.Get(name);
    if (!value.IsFunction()) return;
    const auto function = value.As<Napi::Function>();
    function_ = lives == Lives::ByItself ? Napi::Persistent(function) : Napi::Weak(function);
  }

  [[nodiscard]] Napi::Env env() const { return env_; }

  // Call within a HandleScope.
  void operator()(std::initializer_list<napi_value> arguments) {
    (*this)(std::span(arguments.begin(), arguments.size()));
  }
  void operator()(std::span<const napi_value> arguments) { (void)call(arguments); }
  // Whether it returns true.
  [[nodiscard]] bool callPredicate(std::initializer_list<napi_value> arguments) {
    const Napi::Value answer = call(std::span(arguments.begin(), arguments.size()));
    return !answer.IsEmpty() && answer.IsBoolean() && answer.As<Napi::Boolean>().Value();
  }

 private:
  // Returns: the function's result; empty if there is no function, or if it throws.
  [[nodiscard]] Napi::Value call(std::span<const napi_value> arguments) {
    if (function_.IsEmpty() || function_.Value().IsEmpty()) return {};
    const Napi::Value answer =
        function_.MakeCallback(env_.Global(), arguments.size(), arguments.data(), context_);
    if (!env_.IsExceptionPending()) return answer;
    const Napi::Error error = env_.GetAndClearPendingException();
    napi_fatal_exception(env_, error.Value());
    return {};
  }

  Napi::Env env_;
  Napi::AsyncContext context_;
  Napi::FunctionReference function_;
};

}  // namespace tap::addon
