// Writes compact JSON to a string. The caller keeps the order right; commas are the writer's.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace tap::json {

// Appends to `out`, which must outlive the writer. Text must be valid UTF-8.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  Writer& beginObject();
  Writer& endObject();
  Writer& beginArray();
  Writer& endArray();
  Writer& key(std::string_view name);  // escaped like a string
  Writer& string(std::string_view text);
  Writer& integer(int64_t number);
  Writer& boolean(bool value);
  Writer& null();
  Writer& raw(std::string_view json);  // validated JSON text, copied as it is

  // key() and the value in one step.
  Writer& field(std::string_view name, std::string_view text) { return key(name).string(text); }
  Writer& field(std::string_view name, const char* text) { return key(name).string(text); }
  // A template, so that neither a bool is written as 1 nor a literal 0 taken for a null pointer.
  template <std::integral Number>
  Writer& field(std::string_view name, Number value) {
    if constexpr (std::same_as<Number, bool>) {
      return key(name).boolean(value);
    } else {
      return key(name).integer(static_cast<int64_t>(value));
    }
  }
  Writer& rawField(std::string_view name, std::string_view json) { return key(name).raw(json); }

 private:
  void separate();

  std::string& out_;
  bool comma_ = false;  // whether a value stands before the next one on this level
};

// Appends `text` as a JSON string, quotes included.
void appendQuoted(std::string& out, std::string_view text);

}  // namespace tap::json
