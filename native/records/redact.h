// Removes secrets from JSON: by the names of members and by the form of texts (secrets.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace tap::records {

// Appends a value without its secrets, as JSON text. A string that is JSON is treated as JSON; if
// no secret was found in it, it is unchanged. REQUIRES: text that a json::Scanner has validated.
class Redactor {
 public:
  // Appends to `out`, and stops at `most` bytes: the text is then cut in the middle.
  explicit Redactor(std::string& out, size_t most = SIZE_MAX) : out_(out), most_(most) {}

  void value(json::Value value);
  // The value of a member whose name may make it a secret. The name is the key in the text.
  void member(const json::Member& member, bool named = false);

  // Whether a secret was removed.
  [[nodiscard]] bool removed() const { return removed_; }

  // Whether an object is `{"name": "DB_PASSWORD", "value": …}`: then its `value` is a secret.
  [[nodiscard]] static bool isNamedPair(json::Value object);

 private:
  void object(json::Value object);
  void key(const json::Member& member);
  void array(json::Value array);
  void string(json::Value string);
  // The value of a member whose name is that of a secret.
  void secret(json::Value value, bool nameCounts);
  [[nodiscard]] bool full() const { return out_.size() >= most_; }

  std::string& out_;
  size_t most_;
  bool removed_ = false;
  bool insideKey_ = false;  // a string has begun a private key, which the next strings continue
  int nested_ = 0;          // levels of JSON in strings
};

// Any text without its secrets: as JSON if it is an object or an array, otherwise by its form.
[[nodiscard]] std::string redactText(std::string_view text);

// JSON text of a value, without secrets. Text that is not JSON, or too deep, becomes a JSON string.
[[nodiscard]] std::string redactJson(std::string_view json);

}  // namespace tap::records
