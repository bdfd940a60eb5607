// Small encodings and comparisons that have no better home.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tap {

[[nodiscard]] std::string base64(std::string_view bytes);            // RFC 4648, padded
[[nodiscard]] bool isBase64(std::string_view text);                  // of that form, not empty
[[nodiscard]] std::array<uint8_t, 20> sha1(std::string_view bytes);  // RFC 3174; no secrecy
[[nodiscard]] std::string hex(std::string_view bytes);               // lower case

// A name as part of a path: percent-encoded outside [a-zA-Z0-9._-], never "." or ".." or empty.
[[nodiscard]] std::string fileName(std::string_view name);

// Takes the same time wherever the two differ. The length is not a secret.
[[nodiscard]] bool equalConstantTime(std::string_view a, std::string_view b);

// The text with control characters (C0, DEL, C1, bidirectional overrides and isolates, U+2028/9)
// made visible: \n and \t stay if `keepLines`, else and otherwise they become \xNN or \u{NNNN}.
// Input that is not UTF-8 has its bad bytes shown as \xNN. Never longer than `maxBytes`: a cut text
// ends in "…".
[[nodiscard]] std::string visible(std::string_view text, bool keepLines, size_t maxBytes = 16384);
[[nodiscard]] std::string inQuotes(std::string_view name);

}  // namespace tap
