// Properties of single characters: which are hidden, and which a name must not contain. The table
// is generated (packaging/characters.mjs).
#pragma once

#include <cstdint>

namespace tap::characters {

// Bits of a class.
inline constexpr uint8_t kHidden = 1;      // not seen as it is: shown as an escape
inline constexpr uint8_t kUnnamed = 2;     // in no name; every hidden one is
inline constexpr uint8_t kPictograph = 4;  // an emoji, or kept free for one
inline constexpr uint8_t kJoins = 8;       // of a script that is written with joiners
inline constexpr uint8_t kMark = 16;       // drawn onto what is before it

[[nodiscard]] uint8_t classBits(char32_t point);
[[nodiscard]] inline bool is(char32_t point, uint8_t bits) {
  return (classBits(point) & bits) != 0;
}

}  // namespace tap::characters
