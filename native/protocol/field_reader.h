// Reads the fields of one JSON object and remembers the first thing that was wrong, as a sentence
// that names the JSON path: "hello.tools[3].name: expected …, got a number".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/slice.h"

namespace tap::protocol {

inline constexpr size_t kMaxIdBytes = 128;  // of ids and other words

// Shared by all readers of one message; the first problem stays.
class Problem {
 public:
  void report(std::string text) {
    if (text_.empty()) text_ = std::move(text);
  }
  [[nodiscard]] bool any() const { return !text_.empty(); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// "a string", "an object", … for messages.
[[nodiscard]] std::string_view describe(json::Kind kind);

class FieldReader {
 public:
  // `object` is validated JSON text of kind Object. `path` and `problem` must outlive the reader.
  FieldReader(json::Value object, std::string_view path, Problem& problem)
      : object_(object), path_(path), problem_(problem) {}
  // The root of what `scanned` has read last: it knows the members, and a long one is not walked
  // through once more for each field. `scanned` must outlive the reader, too.
  FieldReader(const json::Scanner& scanned, std::string_view path, Problem& problem)
      : scanned_(&scanned), path_(path), problem_(problem) {}

  [[nodiscard]] std::optional<json::Value> find(std::string_view key) const {
    return scanned_ != nullptr ? scanned_->find(key) : json::find(object_, key);
  }

  // Absent, null and (for optional fields) nothing else count as "not there".
  [[nodiscard]] std::optional<json::Value> optional(std::string_view key, json::Kind kind);
  // Reports and returns nothing where the field is missing or of another kind.
  [[nodiscard]] std::optional<json::Value> required(std::string_view key, json::Kind kind);

  // Text of 1 to maxBytes bytes.
  [[nodiscard]] std::string requiredText(std::string_view key, size_t maxBytes);
  // The same as a part of the text that the object stands in, where it has no escape.
  [[nodiscard]] Slice requiredSlice(std::string_view key, size_t maxBytes, const Slice& within);
  [[nodiscard]] std::optional<std::string> optionalText(std::string_view key, size_t maxBytes);
  // A whole number from least to most.
  [[nodiscard]] int64_t requiredInteger(std::string_view key, int64_t least, int64_t most);
  [[nodiscard]] std::optional<int64_t> optionalInteger(std::string_view key, int64_t least,
                                                       int64_t most);

  void reportExpected(std::string_view key, std::string_view expected,
                      std::optional<json::Value> got);

 private:
  [[nodiscard]] std::string text(std::string_view key, json::Value value, size_t maxBytes);
  // Reports a text that has not 1 to maxBytes bytes.
  void checkSize(std::string_view key, std::string_view text, size_t maxBytes);
  [[nodiscard]] int64_t integer(std::string_view key, json::Value value, int64_t least,
                                int64_t most);

  const json::Scanner* scanned_ = nullptr;
  json::Value object_;  // where there is no scanner
  std::string_view path_;
  Problem& problem_;
};

}  // namespace tap::protocol
