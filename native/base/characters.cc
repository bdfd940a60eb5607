#include "base/characters.h"

#include <algorithm>
#include <iterator>

#include "base/character_classes.h"

namespace tap::characters {

uint8_t classBits(char32_t point) {
  if (point >= 0x20 && point < 0x7F) return 0;
  const uint32_t last = static_cast<uint32_t>(point) << 8 | 0xFF;
  // The first entry is for 0, so a previous entry always exists.
  return static_cast<uint8_t>(*std::prev(std::ranges::upper_bound(kClasses, last)) & 0xFF);
}

}  // namespace tap::characters
