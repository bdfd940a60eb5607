// Hexadecimal digits, eight at a time: identifiers are parsed and written in each call.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace tap::hexdigits {

// The byte in each of the eight bytes.
constexpr uint64_t each(uint64_t byte) {
  return byte * 0x0101010101010101;
}

// Compilers turn this into a single instruction.
constexpr uint64_t reversed(uint64_t bytes) {
  bytes = (bytes & 0x00FF00FF00FF00FF) << 8 | (bytes >> 8 & 0x00FF00FF00FF00FF);
  bytes = (bytes & 0x0000FFFF0000FFFF) << 16 | (bytes >> 16 & 0x0000FFFF0000FFFF);
  return std::rotl(bytes, 32);
}

// Eight bytes as a number whose first byte is the highest, and back.
inline uint64_t load(const char* text) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, text, sizeof bytes);
  return std::endian::native == std::endian::little ? reversed(bytes) : bytes;
}
inline void store(char* text, uint64_t bytes) {
  if constexpr (std::endian::native == std::endian::little) bytes = reversed(bytes);
  std::memcpy(text, &bytes, sizeof bytes);
}

// The value of eight hexadecimal digits, all at once; for other bytes, an arbitrary number.
inline uint32_t parseDigits(uint64_t digits) {
  uint64_t value = (digits & each(0x0F)) + 9 * (digits >> 6 & each(1));  // letters have bit 6
  value = (value | value >> 4) & 0x00FF00FF00FF00FF;
  value = (value | value >> 8) & 0x0000FFFF0000FFFF;
  return static_cast<uint32_t>(value | value >> 16);
}

// The eight digits of it, in lower case.
inline uint64_t toDigits(uint32_t value) {
  uint64_t digits = value;
  digits = (digits | digits << 16) & 0x0000FFFF0000FFFF;
  digits = (digits | digits << 8) & 0x00FF00FF00FF00FF;
  digits = (digits | digits << 4) & each(0x0F);
  const uint64_t letters = (digits + each(0x76)) >> 7 & each(1);  // for digits above 9
  return digits + each('0') + letters * ('a' - '9' - 1);
}

// The sixteen digits of it, in lower case, into `text`.
inline void storeDigits(char* text, uint64_t value) {
  store(text, toDigits(static_cast<uint32_t>(value >> 32)));
  store(text + 8, toDigits(static_cast<uint32_t>(value)));
}
// The value of sixteen digits; for other bytes, an arbitrary number.
inline uint64_t loadValue(const char* text) {
  return uint64_t{parseDigits(load(text))} << 32 | parseDigits(load(text + 8));
}

}  // namespace tap::hexdigits
