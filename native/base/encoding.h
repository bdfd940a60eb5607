// Small encodings and comparisons that have no better home.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace tap {

[[nodiscard]] std::string base64(std::string_view bytes);            // RFC 4648, padded
[[nodiscard]] bool isBase64(std::string_view text);                  // of that form, not empty
[[nodiscard]] std::array<uint8_t, 20> sha1(std::string_view bytes);  // RFC 3174; no secrecy
[[nodiscard]] std::string hex(std::string_view bytes);               // lower case

// A name as part of a path: percent-encoded outside [a-zA-Z0-9._-], never "." or ".." or empty.
[[nodiscard]] std::string fileName(std::string_view name);

// Takes the same time wherever the two differ. The length is not a secret.
[[nodiscard]] bool equalConstantTime(std::string_view a, std::string_view b);

// The text with what is not seen as it is made visible: control and format characters, marks of
// direction, tags, variation selectors, fillers (characters.h). ASCII becomes \xNN, any other
// \u{N…}; bytes that are not UTF-8 become \xNN. \n and \t stay if `keepLines`; joiners and
// selectors stay within an emoji or a word that needs them. Never longer than `maxBytes`: a cut
// text ends in "…". Visible text is not changed. js/lib/visible.mjs does the same.
[[nodiscard]] std::string visible(std::string_view text, bool keepLines, size_t maxBytes = 16384);
// For a text that a model reads: control characters stay, too, since they hide no words.
[[nodiscard]] std::string visibleToModel(std::string_view text, size_t maxBytes);
// A quotation mark inside becomes \": the name cannot end the quotes.
[[nodiscard]] std::string inQuotes(std::string_view name);
// For people: "7 s", and "150 ms" where it is less than a second.
[[nodiscard]] std::string inSeconds(Millis time);

}  // namespace tap
