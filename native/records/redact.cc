#include "records/redact.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/json_writer.h"
#include "records/secrets.h"

namespace tap::records {

namespace {

constexpr size_t kMaxBlanks = 100;
// Of secrets that are found by their form.
constexpr size_t kShortestSecret = 14;
// JSON in a string in JSON, and so on. Deeper levels are treated as text.
constexpr int kMaxNested = 4;

// Names of members rarely have escapes; a name is judged without its escapes.
[[nodiscard]] NameClass classifyMember(const json::Member& member) {
  if (!member.escaped) return classifyName(member.key);
  const std::string_view quoted(member.key.data() - 1, member.key.size() + 2);
  return classifyName(json::decodeString({json::Kind::String, quoted}));
}

// A schema describes a secret and does not contain it.
[[nodiscard]] bool isSchema(json::Value object) {
  constexpr std::array<std::string_view, 7> kWords{"type",  "description", "$ref", "properties",
                                                   "anyOf", "oneOf",       "enum"};
  json::Members members(object);
  for (json::Member member; members.next(member);) {
    if (std::ranges::find(kWords, member.key) != kWords.end()) return true;
  }
  return false;
}

// Whether the value can be a number of tokens.
[[nodiscard]] bool isCount(json::Value value) {
  constexpr size_t kMaxDigits = 9;
  if (value.kind != json::Kind::String) return false;
  const std::string_view digits = value.raw.substr(1, value.raw.size() - 2);
  return digits.size() <= kMaxDigits &&
         std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
}

// Results are often JSON in a string.
[[nodiscard]] bool mayBeJson(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin <= kMaxBlanks && begin < text.size() && (text[begin] == '{' || text[begin] == '[');
}

}  // namespace

bool Redactor::isNamedPair(json::Value object) {
  json::Members members(object);
  for (json::Member member; members.next(member);) {
    if (member.key != "name" && member.key != "key") continue;
    if (member.value.kind == json::Kind::String && namesSecret(json::decodeString(member.value)))
      return true;
  }
  return false;
}

void Redactor::value(json::Value value) {
  switch (value.kind) {
    case json::Kind::Object:
      return object(value);
    case json::Kind::Array:
      return array(value);
    case json::Kind::String:
      return string(value);
    case json::Kind::Number:
    case json::Kind::Boolean:
    case json::Kind::Null:
      out_ += value.raw;
  }
}

void Redactor::object(json::Value object) {
  const bool paired = isNamedPair(object);
  out_ += '{';
  json::Members members(object);
  bool more = false;
  for (json::Member one; !full() && members.next(one); more = true) {
    if (more) out_ += ',';
    key(one);
    out_ += ':';
    member(one, paired && one.key == "value");
  }
  out_ += '}';
}

void Redactor::array(json::Value array) {
  out_ += '[';
  json::Elements elements(array);
  bool more = false;
  for (json::Value element; !full() && elements.next(element); more = true) {
    if (more) out_ += ',';
    value(element);
  }
  out_ += ']';
}

// A name may be a secret itself, as in a table of tokens.
void Redactor::key(const json::Member& member) {
  if (member.key.size() >= kShortestSecret) {
    const std::string_view quoted(member.key.data() - 1, member.key.size() + 2);
    std::string clean;
    if (removeSecretTexts(json::decodeString({json::Kind::String, quoted}), clean)) {
      removed_ = true;
      return json::appendQuoted(out_, clean);
    }
  }
  out_ += '"';
  out_ += member.key;
  out_ += '"';
}

void Redactor::member(const json::Member& member, bool named) {
  const NameClass looks = classifyMember(member);
  if (!looks.secret && !named) return value(member.value);
  // A number of tokens used is not a secret.
  if (looks.lastIsTokens && isCount(member.value)) return value(member.value);
  secret(member.value, looks.lastIsSecret && !looks.lastIsTokens);
}

void Redactor::secret(json::Value found, bool nameCounts) {
  const bool stays = found.kind == json::Kind::Null || found.kind == json::Kind::Boolean ||
                     found.raw == "\"\"" || (found.kind == json::Kind::Number && !nameCounts);
  if (stays) {
    out_ += found.raw;
  } else if (found.kind == json::Kind::Object && isSchema(found)) {
    object(found);
  } else {
    removed_ = true;
    json::appendQuoted(out_, kRemoved);
  }
}

void Redactor::string(json::Value string) {
  const std::optional<std::string_view> plain = json::plainText(string);
  std::string decoded;
  if (!plain) decoded = json::decodeString(string);
  const std::string_view text = plain ? *plain : std::string_view(decoded);
  std::string clean;
  if (nested_ < kMaxNested && mayBeJson(text)) {
    json::Scanner scanner;
    if (const auto root = scanner.scan(text, json::kMaxEnvelopeDepth)) {
      Redactor inner(clean, most_);
      inner.nested_ = nested_ + 1;
      inner.value(root.value());
      if (inner.removed_) {
        removed_ = true;
        json::appendQuoted(out_, clean);
      } else {
        out_ += string.raw;
      }
      return;
    }
  }
  if (removeSecretTexts(text, clean, &insideKey_)) {
    removed_ = true;
    json::appendQuoted(out_, clean);
  } else {
    out_ += string.raw;
  }
}

std::string redactText(std::string_view text) {
  std::string clean;
  if (mayBeJson(text)) {
    json::Scanner scanner;
    if (const auto root = scanner.scan(text, json::kMaxEnvelopeDepth)) {
      Redactor redactor(clean);
      redactor.value(root.value());
      return redactor.removed() ? clean : std::string(text);
    }
  }
  removeSecretTexts(text, clean);
  return clean;
}

std::string redactJson(std::string_view json) {
  std::string out;
  json::Scanner scanner;
  if (const auto root = scanner.scan(json, json::kMaxEnvelopeDepth)) {
    Redactor(out).value(root.value());
  } else {
    json::appendQuoted(out, redactText(json));
  }
  return out;
}

}  // namespace tap::records
