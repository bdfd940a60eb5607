// Properties of single characters: which are hidden, and which a name must not contain. The table
// is generated (packaging/characters.mjs).
#pragma once

#include <cstdint>

namespace tap::characters {

// Bits of a class.
inline constexpr uint8_t kHidden = 1;      // not visible as itself: shown as an escape
inline constexpr uint8_t kUnnamed = 2;     // not allowed in names; includes all hidden characters
inline constexpr uint8_t kPictograph = 4;  // an emoji, or reserved for emoji
inline constexpr uint8_t kJoins = 8;       // of a script that uses joiners
inline constexpr uint8_t kMark = 16;       // combines with the character before it

[[nodiscard]] uint8_t classBits(char32_t point);
[[nodiscard]] inline bool is(char32_t point, uint8_t bits) {
  return (classBits(point) & bits) != 0;
}

}  // namespace tap::characters
