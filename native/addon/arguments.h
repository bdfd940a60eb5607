// Arguments from JavaScript, checked. With a wrong type, an exception is pending, and the caller
// returns.
#pragma once

#include <napi.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace tap::addon {

inline constexpr double kMaxWhole = 9007199254740991.0;  // 2^53 - 1

inline void throwType(Napi::Env env, const std::string& text) {
  if (!env.IsExceptionPending()) Napi::TypeError::New(env, text).ThrowAsJavaScriptException();
}

[[nodiscard]] inline std::optional<int64_t> wholeNumber(const Napi::Value& value) {
  if (!value.IsNumber()) return std::nullopt;
  const double number = value.As<Napi::Number>().DoubleValue();
  if (!(std::abs(number) <= kMaxWhole) || std::trunc(number) != number) return std::nullopt;
  return static_cast<int64_t>(number);
}

// The arguments of a call. The exception's message begins with `signature`: "status(sessionId)".
class Arguments {
 public:
  Arguments(const Napi::CallbackInfo& info, const char* signature)
      : info_(info), signature_(signature) {}

  // Empty if it is not a string.
  [[nodiscard]] std::optional<std::string> text(size_t index) const {
    if (info_[index].IsString()) return info_[index].As<Napi::String>().Utf8Value();
    refuse(index, "a string");
    return std::nullopt;
  }
  // Empty if it is not a whole number that JavaScript represents exactly.
  [[nodiscard]] std::optional<int64_t> whole(size_t index) const {
    const std::optional<int64_t> number = wholeNumber(info_[index]);
    if (!number) refuse(index, "a whole number");
    return number;
  }
  // False if it is absent; empty if it is not a boolean.
  [[nodiscard]] std::optional<bool> flag(size_t index) const {
    if (info_[index].IsUndefined()) return false;
    if (info_[index].IsBoolean()) return info_[index].As<Napi::Boolean>().Value();
    refuse(index, "a boolean");
    return std::nullopt;
  }
  // Empty if it is not an array of strings.
  [[nodiscard]] std::optional<std::vector<std::string>> texts(size_t index) const {
    if (!info_[index].IsArray()) {
      refuse(index, "an array of strings");
      return std::nullopt;
    }
    const auto array = info_[index].As<Napi::Array>();
    std::vector<std::string> texts;
    for (uint32_t i = 0; i < array.Length(); ++i) {
      const Napi::Value value = array.Get(i);
      if (info_.Env().IsExceptionPending()) return std::nullopt;
      if (!value.IsString()) {
        refuse(index, "an array of strings");
        return std::nullopt;
      }
      texts.push_back(value.As<Napi::String>().Utf8Value());
    }
    return texts;
  }
  void refuse(size_t index, const char* expected) const {
    throwType(info_.Env(), std::string(signature_) + ": expected " + expected + " as argument " +
                               std::to_string(index + 1));
  }

 private:
  const Napi::CallbackInfo& info_;
  const char* signature_;
};

// The optional members of an argument that is an object.
class Options {
 public:
  Options(const Napi::Object& object, const char* signature)
      : object_(object), signature_(signature) {}

  [[nodiscard]] std::string text(const char* key) const {
    const Napi::Value value = get(key);
    if (value.IsString()) return value.As<Napi::String>().Utf8Value();
    if (!value.IsUndefined()) refuse(key, "a string");
    return {};
  }
  [[nodiscard]] int64_t whole(const char* key) const {
    const Napi::Value value = get(key);
    const std::optional<int64_t> number = wholeNumber(value);
    if (!number && !value.IsUndefined()) refuse(key, "a whole number");
    return number.value_or(0);
  }
  // False if it is absent.
  [[nodiscard]] bool flag(const char* key) const {
    const Napi::Value value = get(key);
    if (value.IsBoolean()) return value.As<Napi::Boolean>().Value();
    if (!value.IsUndefined()) refuse(key, "a boolean");
    return false;
  }
  void functions(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) {
      const Napi::Value value = get(key);
      if (!value.IsUndefined() && !value.IsFunction()) refuse(key, "a function");
    }
  }
  // Whether a member had a wrong type, or its getter threw.
  [[nodiscard]] bool failed() const { return object_.Env().IsExceptionPending(); }

 private:
  [[nodiscard]] Napi::Value get(const char* key) const {
    if (failed()) return object_.Env().Undefined();
    const Napi::Value value = object_.Get(key);
    return failed() ? object_.Env().Undefined() : value;
  }
  void refuse(const char* key, const char* expected) const {
    throwType(object_.Env(),
              std::string(signature_) + ": expected " + expected + " as " + std::string(key));
  }

  Napi::Object object_;
  const char* signature_;
};

}  // namespace tap::addon
