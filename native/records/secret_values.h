// Secrets in a text that stand beside their names: `DB_PASSWORD=…`, `"password": "…"`,
// `Cookie: …`, `--token …`.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace tap::records {

// A secret: the text from `begin` to `end`. `before` and kRemoved replace it.
struct SecretSpan {
  size_t begin = 0;
  size_t end = 0;
  std::string_view before;
};

// Colours of a terminal, such as `ESC [ 3 2 m`: the letter m of one is no part of the word after
// it. colourBefore: where the colours begin that stand right before `at`. colourAfter: where the
// colours end that begin at `at`. Both return `at` if there are none.
[[nodiscard]] size_t colourBefore(std::string_view text, size_t at);
[[nodiscard]] size_t colourAfter(std::string_view text, size_t at);

// `name=value`, and `name = value` as a line of its own; `at` is the "=".
[[nodiscard]] std::optional<SecretSpan> assignedSecret(std::string_view text, size_t at);

// `"name": "value"` in JSON, also where that is a text itself; `name: value` in a line of its own,
// as of a header. `at` is the ":".
[[nodiscard]] std::optional<SecretSpan> fieldSecret(std::string_view text, size_t at);

// `--name value`, and `--user name:password` of curl; `at` is the first "-".
[[nodiscard]] std::optional<SecretSpan> optionSecret(std::string_view text, size_t at);
// `curl -u name:password`; `at` is the "-".
[[nodiscard]] std::optional<SecretSpan> userOptionSecret(std::string_view text, size_t at);

// `machine host login name password value`, as of a .netrc; `at` is where "password" begins.
[[nodiscard]] std::optional<SecretSpan> netrcSecret(std::string_view text, size_t at);

}  // namespace tap::records
