#include "records/redact.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/json_writer.h"
#include "records/secret_texts.h"

namespace tap::records {

namespace {

constexpr size_t kLongestName = 200;
constexpr size_t kMaxBlanks = 100;
// JSON in a string in JSON, and so on. What is deeper is treated as text.
constexpr int kMaxNested = 4;

// Words of a name under which a secret stands.
constexpr std::array<std::string_view, 24> kSecretWords{
    "token",       "tokens",     "secret",   "secrets", "password",  "passwords",
    "passwd",      "passphrase", "passcode", "pwd",     "pass",      "authorization",
    "auth",        "bearer",     "jwt",      "cookie",  "cookies",   "credential",
    "credentials", "otp",        "apikey",   "apikeys", "accesskey", "privatekey"};
// Words that make a key a secret: api key, private key, and so on.
constexpr std::array<std::string_view, 8> kKeyKinds{"api",        "access",  "private", "secret",
                                                    "encryption", "session", "signing", "ssh"};
constexpr std::array<std::string_view, 5> kSecretEnds{"password", "passwd", "secret", "token",
                                                      "apikey"};

[[nodiscard]] bool isOne(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

[[nodiscard]] bool isSecretWord(std::string_view word) {
  if (word.size() < 3) return false;
  if (isOne(kSecretWords, word)) return true;
  if (word.ends_with('s')) {
    const std::string_view singular = word.substr(0, word.size() - 1);
    if (std::ranges::any_of(kSecretEnds, [&](auto end) { return singular.ends_with(end); }))
      return true;
  }
  return std::ranges::any_of(kSecretEnds, [&](auto end) { return word.ends_with(end); });
}

// Walks the words of a name, in lower case: those of apiKey, api_key and API-KEY are the same.
class Words {
 public:
  explicit Words(std::string_view name) : name_(name.substr(0, kLongestName)) {}

  // Empty: there are no more. Each lives until the next but one.
  [[nodiscard]] std::string_view next() {
    while (at_ < name_.size() && !isAlphanumeric(name_[at_])) ++at_;
    std::array<char, kLongestName>& letters = letters_[turn_ ^= 1];
    size_t size = 0;
    while (at_ < name_.size() && isAlphanumeric(name_[at_])) {
      const char c = name_[at_];
      if (size > 0 && isCapital(c) && !isCapital(name_[at_ - 1])) break;
      letters[size++] = isCapital(c) ? static_cast<char>(c + 32) : c;
      ++at_;
    }
    return {letters.data(), size};
  }

 private:
  [[nodiscard]] static bool isCapital(char c) { return c >= 'A' && c <= 'Z'; }
  [[nodiscard]] static bool isAlphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || isCapital(c);
  }

  std::string_view name_;
  size_t at_ = 0;
  std::array<std::array<char, kLongestName>, 2> letters_;
  size_t turn_ = 0;
};

struct NameLooks {
  bool secret = false;
  bool lastIsSecret = false;
  bool lastIsTokens = false;
};

[[nodiscard]] NameLooks judge(std::string_view name) {
  NameLooks looks;
  Words words(name);
  std::string_view before;
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    looks.lastIsTokens = word == "tokens";
    looks.lastIsSecret = isSecretWord(word);
    const bool isKey = word == "key" || word == "keys";
    looks.secret |= looks.lastIsSecret || (isKey && isOne(kKeyKinds, before)) ||
                    (word == "string" && before == "connection");
    before = word;
  }
  return looks;
}

// The same names come again and again: the last ones are remembered.
class JudgedNames {
 public:
  [[nodiscard]] NameLooks looksOf(std::string_view name) {
    if (name.size() > kLongest || name.empty()) return judge(name);
    const auto first = static_cast<uint8_t>(name.front());
    const auto last = static_cast<uint8_t>(name.back());
    Entry& entry = entries_[(first * 31u + last * 7u + name.size()) % entries_.size()];
    if (std::string_view(entry.name.data(), entry.size) != name) {
      entry.looks = judge(name);
      entry.size = static_cast<uint8_t>(name.size());
      std::copy(name.begin(), name.end(), entry.name.begin());
    }
    return entry.looks;
  }

 private:
  static constexpr size_t kLongest = 28;
  struct Entry {
    std::array<char, kLongest> name{};
    uint8_t size = 0;
    NameLooks looks;
  };
  std::array<Entry, 64> entries_;
};

[[nodiscard]] NameLooks looksOf(std::string_view name) {
  thread_local JudgedNames judged;
  return judged.looksOf(name);
}

// The names of members have escapes hardly ever; a name with one is judged without it.
[[nodiscard]] NameLooks looksOf(const json::Member& member) {
  if (!member.escaped) return looksOf(member.key);
  const std::string_view quoted(member.key.data() - 1, member.key.size() + 2);
  return looksOf(json::decodeString({json::Kind::String, quoted}));
}

// A schema describes a secret and has none.
[[nodiscard]] bool isSchema(json::Value object) {
  constexpr std::array<std::string_view, 7> kWords{"type",  "description", "$ref", "properties",
                                                   "anyOf", "oneOf",       "enum"};
  json::Members members(object);
  for (json::Member member; members.next(member);) {
    if (isOne(kWords, member.key)) return true;
  }
  return false;
}

// Results are often JSON in a string.
[[nodiscard]] bool mayBeJson(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin <= kMaxBlanks && begin < text.size() && (text[begin] == '{' || text[begin] == '[');
}

}  // namespace

bool namesSecret(std::string_view name) {
  return looksOf(name).secret;
}

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
    out_ += '"';
    out_ += one.key;
    out_ += "\":";
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

void Redactor::member(const json::Member& member, bool named) {
  const NameLooks looks = looksOf(member);
  if (!looks.secret && !named) return value(member.value);
  // A number of tokens used is not a secret.
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
  if (removeSecretTexts(text, clean)) {
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
