#include "protocol/field_reader.h"

namespace tap::protocol {

std::string_view describe(json::Kind kind) {
  switch (kind) {
    case json::Kind::Object:
      return "an object";
    case json::Kind::Array:
      return "an array";
    case json::Kind::String:
      return "a string";
    case json::Kind::Number:
      return "a number";
    case json::Kind::Boolean:
      return "a boolean";
    case json::Kind::Null:
      return "null";
  }
  return "an unknown value";
}

void FieldReader::reportExpected(std::string_view key, std::string_view expected,
                                 std::optional<json::Value> got) {
  std::string text(path_);
  text += '.';
  text += key;
  text += ": expected ";
  text += expected;
  text += got ? ", got " + std::string(describe(got->kind)) : std::string(", but it is missing");
  problem_.report(std::move(text));
}

std::optional<json::Value> FieldReader::optional(std::string_view key, json::Kind kind) {
  const std::optional<json::Value> value = find(key);
  if (!value || value->kind == json::Kind::Null) return std::nullopt;
  if (value->kind != kind) {
    reportExpected(key, describe(kind), value);
    return std::nullopt;
  }
  return value;
}

std::optional<json::Value> FieldReader::required(std::string_view key, json::Kind kind) {
  const std::optional<json::Value> value = find(key);
  if (!value || value->kind != kind) {
    reportExpected(key, describe(kind), value);
    return std::nullopt;
  }
  return value;
}

void FieldReader::checkSize(std::string_view key, std::string_view text, size_t maxBytes) {
  if (!text.empty() && text.size() <= maxBytes) return;
  problem_.report(std::string(path_) + "." + std::string(key) + ": expected a string of 1 to " +
                  std::to_string(maxBytes) + " bytes, got a text of " +
                  std::to_string(text.size()));
}

std::string FieldReader::text(std::string_view key, json::Value value, size_t maxBytes) {
  std::string text = json::decodeString(value);
  checkSize(key, text, maxBytes);
  return text;
}

std::string FieldReader::requiredText(std::string_view key, size_t maxBytes) {
  const std::optional<json::Value> value = required(key, json::Kind::String);
  return value ? text(key, *value, maxBytes) : std::string();
}

Slice FieldReader::requiredSlice(std::string_view key, size_t maxBytes, const Slice& within) {
  const std::optional<json::Value> value = required(key, json::Kind::String);
  if (!value) return {};
  const std::optional<std::string_view> plain = json::plainText(*value);
  Slice text = plain ? within.part(*plain) : Slice(json::decodeString(*value));
  checkSize(key, text.view(), maxBytes);
  return text;
}

std::optional<std::string> FieldReader::optionalText(std::string_view key, size_t maxBytes) {
  const std::optional<json::Value> value = optional(key, json::Kind::String);
  if (!value) return std::nullopt;
  return text(key, *value, maxBytes);
}

int64_t FieldReader::integer(std::string_view key, json::Value value, int64_t least, int64_t most) {
  const std::optional<int64_t> number = json::decodeInteger(value);
  if (number && *number >= least && *number <= most) return *number;
  problem_.report(std::string(path_) + "." + std::string(key) + ": expected a whole number from " +
                  std::to_string(least) + " to " + std::to_string(most) + ", got " +
                  std::string(value.raw.substr(0, 32)));
  return least;
}

int64_t FieldReader::requiredInteger(std::string_view key, int64_t least, int64_t most) {
  const std::optional<json::Value> value = required(key, json::Kind::Number);
  return value ? integer(key, *value, least, most) : least;
}

std::optional<int64_t> FieldReader::optionalInteger(std::string_view key, int64_t least,
                                                    int64_t most) {
  const std::optional<json::Value> value = optional(key, json::Kind::Number);
  if (!value) return std::nullopt;
  return integer(key, *value, least, most);
}

}  // namespace tap::protocol
