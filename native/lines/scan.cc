#include "lines/scan.h"

#include <cstddef>
#include <cstring>

#include "base/utf8.h"

namespace tap::lines {
namespace {

constexpr size_t kStride = 64;

struct ByteBits {
  uint8_t control = 0;  // not 0: a control character besides \t and \n
  uint8_t high = 0;     // its top bit: a byte that is not ASCII
};

// REQUIRES: kStride bytes. A loop of a fixed length without branches, which compilers vectorize.
void scanStride(const uint8_t* at, ByteBits& seen) {
  uint8_t control = 0;
  uint8_t high = 0;
  for (size_t i = 0; i < kStride; ++i) {
    const uint8_t byte = at[i];
    const uint8_t fromTab = byte - '\t';
    control |= static_cast<uint8_t>((byte < 0x20) & (fromTab > 1));
    control |= static_cast<uint8_t>(byte == 0x7F);
    high |= byte;
  }
  seen.control |= control;
  seen.high |= high;
}

// The control characters U+0080 to U+009F. REQUIRES: valid UTF-8.
[[nodiscard]] bool hasC1(std::string_view text) {
  for (size_t at = text.find('\xC2'); at != std::string_view::npos;
       at = text.find('\xC2', at + 2)) {
    if (static_cast<uint8_t>(text[at + 1]) < 0xA0) return true;
  }
  return false;
}

}  // namespace

Bytes scan(std::string_view bytes) {
  const auto* at = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t left = bytes.size();
  ByteBits seen;
  for (; left >= kStride; left -= kStride, at += kStride) {
    scanStride(at, seen);
    if (seen.control != 0) return Bytes::Other;
  }
  if (left > 0) {
    uint8_t tail[kStride];
    std::memset(tail, ' ', sizeof tail);
    std::memcpy(tail, at, left);
    scanStride(tail, seen);
  }
  if (seen.control != 0) return Bytes::Other;
  if (seen.high < 0x80) return Bytes::Plain;
  return utf8::isValid(bytes) && !hasC1(bytes) ? Bytes::Plain : Bytes::Other;
}

}  // namespace tap::lines
