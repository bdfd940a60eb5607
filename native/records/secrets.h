// What a secret is, in a text and by its name: the one place that says so, for records and for
// `copilot-tap trace`. It is a net, not a proof: docs/recordings.md says what it catches.
#pragma once

#include <string>
#include <string_view>

namespace tap::records {

// Stands where a secret was.
inline constexpr std::string_view kRemoved = "<removed>";

// Appends the text without secrets, in time in proportion to the text; a text that takes too many
// steps is removed. Returns: whether there was a secret. `insideKey` is for texts that follow each
// other, such as the lines of a list: whether one has begun a private key and not ended it.
bool removeSecretTexts(std::string_view text, std::string& out, bool* insideKey = nullptr);

struct NameClass {
  bool secret = false;        // one of its words is that of a secret
  bool ends = false;          // the last one is, or the last two together
  bool lastIsSecret = false;  // the last one alone is
  bool lastIsTokens = false;  // which may be a number of them
  bool parameter = false;     // `key` and the like: of a secret in `key=…`, elsewhere not
};

// Of names such as apiKey and DB_PASSWORD.
[[nodiscard]] NameClass classifyName(std::string_view name);

// Whether something of that name is a secret.
[[nodiscard]] bool namesSecret(std::string_view name);

}  // namespace tap::records
