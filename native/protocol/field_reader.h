// Reads the fields of a JSON object and remembers the first mistake, as a sentence with the JSON
// path: "hello.tools[3].name: expected …, got a number".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/slice.h"

namespace tap::protocol {

inline constexpr size_t kMaxIdBytes = 128;  // of ids and similar texts

// Shared by all readers of a message; keeps the first problem.
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
  // The root of the last text that `scanned` has read: it knows the members, so a long text is not
  // scanned again for each field. `scanned` must outlive the reader, too.
  FieldReader(const json::Scanner& scanned, std::string_view path, Problem& problem)
      : scanned_(&scanned), path_(path), problem_(problem) {}

  [[nodiscard]] std::optional<json::Value> find(std::string_view key) const {
    return scanned_ != nullptr ? scanned_->find(key) : json::find(object_, key);
  }

  // Absent and null fields are "not there"; optional() reports any other kind.
  [[nodiscard]] std::optional<json::Value> optional(std::string_view key, json::Kind kind);
  // Reports, and returns empty, if the field is missing or of a different kind.
  [[nodiscard]] std::optional<json::Value> required(std::string_view key, json::Kind kind);

  // Text of 1 to maxBytes bytes.
  [[nodiscard]] std::string requiredText(std::string_view key, size_t maxBytes);
  // The same as a part of the text around the object, if it has no escape.
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
  // Reports a text whose size is not 1 to maxBytes bytes.
  void checkSize(std::string_view key, std::string_view text, size_t maxBytes);
  [[nodiscard]] int64_t integer(std::string_view key, json::Value value, int64_t least,
                                int64_t most);

  const json::Scanner* scanned_ = nullptr;
  json::Value object_;  // without a scanner
  std::string_view path_;
  Problem& problem_;
};

}  // namespace tap::protocol
