#include "records/secret_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tap::records {

namespace {

constexpr size_t kLongestName = 200;

// Words of a name under which a secret stands.
constexpr std::array<std::string_view, 24> kSecretWords{
    "token",       "tokens",     "secret",   "secrets", "password",  "passwords",
    "passwd",      "passphrase", "passcode", "pwd",     "pass",      "authorization",
    "auth",        "bearer",     "jwt",      "cookie",  "cookies",   "credential",
    "credentials", "otp",        "apikey",   "apikeys", "accesskey", "privatekey"};
// Words that make a key a secret: api key, private key, and so on.
constexpr std::array<std::string_view, 9> kKeyKinds{
    "api", "access", "private", "secret", "encryption", "session", "signing", "ssh", "account"};
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

[[nodiscard]] NameClass classifyWords(std::string_view name) {
  NameClass looks;
  Words words(name);
  std::string_view before;
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    looks.lastIsTokens = word == "tokens";
    looks.lastIsSecret = isSecretWord(word);
    const bool isKey = word == "key" || word == "keys";
    looks.ends = looks.lastIsSecret || (isKey && isOne(kKeyKinds, before)) ||
                 (word == "string" && before == "connection");
    looks.secret |= looks.ends;
    before = word;
  }
  return looks;
}

// The same names come again and again: the last ones are remembered.
class NameClassCache {
 public:
  [[nodiscard]] NameClass classifyName(std::string_view name) {
    if (name.size() > kLongest || name.empty()) return classifyWords(name);
    const auto first = static_cast<uint8_t>(name.front());
    const auto last = static_cast<uint8_t>(name.back());
    Entry& entry = entries_[(first * 31u + last * 7u + name.size()) % entries_.size()];
    if (std::string_view(entry.name.data(), entry.size) != name) {
      entry.looks = classifyWords(name);
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
    NameClass looks;
  };
  std::array<Entry, 64> entries_;
};

}  // namespace

NameClass classifyName(std::string_view name) {
  thread_local NameClassCache judged;
  return judged.classifyName(name);
}

bool namesSecret(std::string_view name) {
  return classifyName(name).secret;
}

}  // namespace tap::records
