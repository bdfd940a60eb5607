// Fields and names that session messages share, for the two decoders and the encoder.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "protocol/field_reader.h"
#include "protocol/link/session_messages.h"

namespace tap::protocol::session {

// In the order of the enumerators.
inline constexpr std::array<std::string_view, 2> kModes{"live", "reload"};
inline constexpr std::array<std::string_view, 3> kActivities{"idle", "busy", "user-prompt"};
inline constexpr std::array<std::string_view, 3> kLevels{"info", "warning", "error"};
inline constexpr std::array<std::string_view, 3> kHookOutcomes{"in-force", "denied", "unavailable"};

inline constexpr std::array<std::pair<std::string_view, std::string SessionRuntime::*>, 5>
    kRuntimeFields{{{"execPath", &SessionRuntime::execPath},
                    {"sdkPath", &SessionRuntime::sdkPath},
                    {"cliVersion", &SessionRuntime::cliVersion},
                    {"copilotHome", &SessionRuntime::copilotHome},
                    {"distDir", &SessionRuntime::distDir}}};

inline constexpr std::array<std::string_view, 4> kTraceKinds{"opened", "received", "sent",
                                                             "closed"};

// Both ends are tap's own, and the secret has been checked: bounds only stop nonsense.
constexpr int64_t kMaxInteger = (int64_t{1} << 53) - 1;

struct Fields : FieldReader {
  using FieldReader::FieldReader;
  std::string string(std::string_view key) {
    const std::optional<json::Value> value = required(key, json::Kind::String);
    return value ? json::decodeString(*value) : std::string();
  }
  int64_t integer(std::string_view key) { return requiredInteger(key, 0, kMaxInteger); }
  bool boolean(std::string_view key) {
    const std::optional<json::Value> value = optional(key, json::Kind::Boolean);
    return value && json::decodeBoolean(*value);
  }
};

inline std::optional<std::vector<std::string>> readOptionalStrings(Fields& fields,
                                                                   std::string_view key) {
  const std::optional<json::Value> array = fields.optional(key, json::Kind::Array);
  if (!array) return std::nullopt;
  std::vector<std::string> strings;
  json::Elements elements(*array);
  for (json::Value value; elements.next(value);) {
    if (value.kind == json::Kind::String) {
      strings.push_back(json::decodeString(value));
    } else {
      fields.reportExpected(key, "strings only", value);
    }
  }
  return strings;
}

inline std::vector<std::string> readStrings(Fields& fields, std::string_view key) {
  return readOptionalStrings(fields, key).value_or(std::vector<std::string>());
}

inline std::vector<ProviderDigest> readDigests(Fields& fields, std::string_view key) {
  std::vector<ProviderDigest> digests;
  const std::optional<json::Value> object = fields.optional(key, json::Kind::Object);
  if (!object) return digests;
  json::Members members(*object);
  for (json::Member member; members.next(member);) {
    if (member.value.kind != json::Kind::String) {
      fields.reportExpected(key, "strings only", member.value);
      continue;
    }
    const std::string quoted = "\"" + std::string(member.key) + "\"";
    digests.push_back(
        {json::decodeString({json::Kind::String, quoted}), json::decodeString(member.value)});
  }
  return digests;
}

inline std::optional<std::string> readOptionalString(Fields& fields, std::string_view key) {
  const std::optional<json::Value> value = fields.optional(key, json::Kind::String);
  if (!value) return std::nullopt;
  return json::decodeString(*value);
}

template <class Enum, size_t N>
Enum readEnum(Fields& fields, std::string_view key, const std::array<std::string_view, N>& names) {
  const std::optional<json::Value> value = fields.required(key, json::Kind::String);
  if (!value) return Enum{};
  const std::string name = json::decodeString(*value);
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  fields.reportExpected(key, "a known name", value);
  return Enum{};
}

inline std::optional<SyncMode> readMode(Fields& fields) {
  if (!fields.optional("mode", json::Kind::String)) return std::nullopt;
  return readEnum<SyncMode>(fields, "mode", kModes);
}

template <class Item>
std::vector<Item> readObjects(Fields& fields, std::string_view key, Problem& problem,
                              Item (*read)(json::Value, Problem&)) {
  std::vector<Item> items;
  const std::optional<json::Value> array = fields.required(key, json::Kind::Array);
  if (!array) return items;
  json::Elements elements(*array);
  for (json::Value element; elements.next(element);) {
    if (element.kind == json::Kind::Object) {
      items.push_back(read(element, problem));
    } else {
      fields.reportExpected(key, "objects only", element);
    }
  }
  return items;
}

template <class Variant>
struct Reader {
  std::string_view type;
  Variant (*read)(Fields& fields, const Slice& text, Problem& problem);
};

template <class Variant, auto read>
Variant reading(Fields& fields, const Slice& text, Problem&) {
  return read(fields, text);
}

template <class Variant, size_t N>
Result<Variant, std::string> decode(json::Scanner& scanner, const Slice& text,
                                    const std::array<Reader<Variant>, N>& readers) {
  Result<json::Value, json::SyntaxError> root = scanner.scan(text.view(), json::kMaxEnvelopeDepth);
  if (!root) return std::string("link frame is not JSON: ") + root.error().reason;
  if (root.value().kind != json::Kind::Object)
    return std::string("the link frame is not an object");
  const std::optional<json::Value> type = scanner.find("type");
  const std::string name =
      type && type->kind == json::Kind::String ? json::decodeString(*type) : std::string();
  for (const Reader<Variant>& reader : readers) {
    if (reader.type != name) continue;
    Problem problem;
    Fields fields(scanner, name, problem);
    Variant message = reader.read(fields, text, problem);
    if (problem.any()) return problem.text();
    return message;
  }
  return "link frame of unknown type \"" + std::string(utf8::truncate(name, 64)) + "\"";
}

}  // namespace tap::protocol::session
