// Result: a value, or the reason why there is no value. The core does not throw.
#pragma once

#include <utility>
#include <variant>

namespace tap {

template <class Value, class Error>
class [[nodiscard]] Result {
 public:
  Result(Value value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok() for value(), !ok() for error().
  [[nodiscard]] Value& value() { return *std::get_if<0>(&state_); }
  [[nodiscard]] const Value& value() const { return *std::get_if<0>(&state_); }
  [[nodiscard]] Error& error() { return *std::get_if<1>(&state_); }
  [[nodiscard]] const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<Value, Error> state_;
};

}  // namespace tap
