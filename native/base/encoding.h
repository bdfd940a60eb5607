// Small encodings and comparisons.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace tap {

[[nodiscard]] std::string base64(std::string_view bytes);            // RFC 4648, padded
[[nodiscard]] bool isBase64(std::string_view text);                  // in that form, not empty
[[nodiscard]] std::array<uint8_t, 20> sha1(std::string_view bytes);  // RFC 3174; not for secrets
[[nodiscard]] std::string hex(std::string_view bytes);               // lower case

// A name as part of a path: percent-encoded outside [a-zA-Z0-9._-], never "." or ".." or empty.
[[nodiscard]] std::string fileName(std::string_view name);

// Takes the same time wherever the texts differ. The length is not a secret.
[[nodiscard]] bool equalConstantTime(std::string_view a, std::string_view b);

// Escapes characters that are not visible as themselves: control and format characters, marks of
// direction, tags, variation selectors, fillers (characters.h). ASCII becomes \xNN, other
// characters \u{N…}; bytes that are not UTF-8 become \xNN. \n and \t stay if `keepLines`; joiners
// and selectors stay within an emoji or a word that needs them. Never longer than `maxBytes`: a cut
// text ends in "…". Visible text is unchanged. js/lib/visible.mjs does the same.
[[nodiscard]] std::string visible(std::string_view text, bool keepLines, size_t maxBytes = 16384);
// For a text for a model: control characters stay, too, since they hide no words.
[[nodiscard]] std::string visibleToModel(std::string_view text, size_t maxBytes);
// A quotation mark inside becomes \": the name cannot end the quotes.
[[nodiscard]] std::string inQuotes(std::string_view name);
// For people: "7 s", or "150 ms" below a second.
[[nodiscard]] std::string inSeconds(Millis time);

}  // namespace tap
