// The definition of a secret, by its form and by its name, for records and for `copilot-tap trace`.
// It is a net, not a proof: docs/recordings.md lists the forms.
#pragma once

#include <string>
#include <string_view>

namespace tap::records {

// Replaces a secret.
inline constexpr std::string_view kRemoved = "<removed>";

// Appends the text without its secrets, in time in proportion to the text; a text that takes too
// many steps is removed. Returns: whether there was a secret. `insideKey` is for consecutive texts,
// such as the lines of a list: whether a private key has begun and not ended.
bool removeSecretTexts(std::string_view text, std::string& out, bool* insideKey = nullptr);

struct NameClass {
  bool secret = false;        // contains a word of a secret
  bool ends = false;          // ends with a word, or a pair of words, of a secret
  bool lastIsSecret = false;  // its last word alone is that of a secret
  bool lastIsTokens = false;  // which may be a number of tokens
  bool parameter = false;     // `key` and the like: a secret only in `key=…`
};

// Of names such as apiKey and DB_PASSWORD.
[[nodiscard]] NameClass classifyName(std::string_view name);

// Whether a value of that name is a secret.
[[nodiscard]] bool namesSecret(std::string_view name);

}  // namespace tap::records
