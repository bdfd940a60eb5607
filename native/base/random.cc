#include "base/random.h"

#include <bit>
#include <cstring>
#include <string_view>

namespace tap {

namespace {

// Of each of eight bytes.
constexpr uint64_t each(uint64_t byte) {
  return byte * 0x0101010101010101;
}

// Compilers know this for the instruction that it is.
constexpr uint64_t reversed(uint64_t bytes) {
  bytes = (bytes & 0x00FF00FF00FF00FF) << 8 | (bytes >> 8 & 0x00FF00FF00FF00FF);
  bytes = (bytes & 0x0000FFFF0000FFFF) << 16 | (bytes >> 16 & 0x0000FFFF0000FFFF);
  return std::rotl(bytes, 32);
}

// Eight bytes as a number whose first byte is the highest, and back.
uint64_t load(const char* text) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, text, sizeof bytes);
  return std::endian::native == std::endian::little ? reversed(bytes) : bytes;
}
void store(char* text, uint64_t bytes) {
  if constexpr (std::endian::native == std::endian::little) bytes = reversed(bytes);
  std::memcpy(text, &bytes, sizeof bytes);
}

// The value of eight hexadecimal digits, all at once; for other bytes, an arbitrary number.
uint32_t valueOf(uint64_t digits) {
  uint64_t value = (digits & each(0x0F)) + 9 * (digits >> 6 & each(1));  // letters have bit 6
  value = (value | value >> 4) & 0x00FF00FF00FF00FF;
  value = (value | value >> 8) & 0x0000FFFF0000FFFF;
  return static_cast<uint32_t>(value | value >> 16);
}

// The eight digits of it, in lower case.
uint64_t digitsOf(uint32_t value) {
  uint64_t digits = value;
  digits = (digits | digits << 16) & 0x0000FFFF0000FFFF;
  digits = (digits | digits << 8) & 0x00FF00FF00FF00FF;
  digits = (digits | digits << 4) & each(0x0F);
  const uint64_t letters = (digits + each(0x76)) >> 7 & each(1);  // where it is more than 9
  return digits + each('0') + letters * ('a' - '9' - 1);
}

}  // namespace

// RFC 9562, section 4: 8-4-4-4-12 digits.
std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != kTextSize) return std::nullopt;
  const char* const p = text.data();
  const auto fours = [p](size_t first, size_t second) {
    return load(p + first) >> 32 << 32 | load(p + second - 4) << 32 >> 32;
  };
  Uuid id;
  id.high = uint64_t{valueOf(load(p))} << 32 | valueOf(fours(9, 14));
  id.low = uint64_t{valueOf(fours(19, 24))} << 32 | valueOf(load(p + 28));
  // Whatever was no digit, or no hyphen, is another text now.
  const Text own = id.chars();
  if (text != std::string_view(own.data(), own.size())) return std::nullopt;
  return id;
}

Uuid::Text Uuid::chars() const {
  Text text;
  char* const p = text.data();
  // Each writes eight bytes; the next one overwrites those beyond its share.
  const uint64_t second = digitsOf(static_cast<uint32_t>(high));
  const uint64_t third = digitsOf(static_cast<uint32_t>(low >> 32));
  store(p, digitsOf(static_cast<uint32_t>(high >> 32)));
  store(p + 9, second);
  store(p + 14, second << 32);
  store(p + 19, third);
  store(p + 24, third << 32);
  store(p + 28, digitsOf(static_cast<uint32_t>(low)));
  for (const size_t at : {8, 13, 18, 23}) text[at] = '-';
  return text;
}

RandomIds::RandomIds(const std::array<uint64_t, 4>& seed) : state_(seed) {
  // All zero is the one state this generator never leaves.
  state_[0] |= 1;
}

uint64_t RandomIds::next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

Uuid RandomIds::uuid() {
  constexpr uint64_t kVersion4 = 0x4000;
  constexpr uint64_t kVariant = uint64_t{0b10} << 62;
  const uint64_t high = next();
  const uint64_t low = next();
  return {(high & ~uint64_t{0xF000}) | kVersion4, (low >> 2) | kVariant};
}

std::string RandomIds::shortId() {
  std::string out;
  uint64_t value = next();
  for (int i = 0; i < 8; ++i, value >>= 4) out += "0123456789abcdef"[value & 0xF];
  return out;
}

}  // namespace tap
