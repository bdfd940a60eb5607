#include "base/random.h"

#include <bit>
#include <string_view>

#include "base/hex_digits.h"

namespace tap {

// RFC 9562, section 4: 8-4-4-4-12 digits.
std::optional<Uuid> Uuid::parse(std::string_view text) {
  using namespace hexdigits;
  if (text.size() != kTextSize) return std::nullopt;
  const char* const p = text.data();
  const auto fours = [p](size_t first, size_t second) {
    return load(p + first) >> 32 << 32 | load(p + second - 4) << 32 >> 32;
  };
  Uuid id;
  id.high = uint64_t{parseDigits(load(p))} << 32 | parseDigits(fours(9, 14));
  id.low = uint64_t{parseDigits(fours(19, 24))} << 32 | parseDigits(load(p + 28));
  // A text with a byte that is not a digit or hyphen differs from this text.
  const Text own = id.chars();
  if (text != std::string_view(own.data(), own.size())) return std::nullopt;
  return id;
}

Uuid::Text Uuid::chars() const {
  using namespace hexdigits;
  Text text;
  char* const p = text.data();
  // Each call writes eight bytes; the next call overwrites those beyond its share.
  const uint64_t second = toDigits(static_cast<uint32_t>(high));
  const uint64_t third = toDigits(static_cast<uint32_t>(low >> 32));
  store(p, toDigits(static_cast<uint32_t>(high >> 32)));
  store(p + 9, second);
  store(p + 14, second << 32);
  store(p + 19, third);
  store(p + 24, third << 32);
  store(p + 28, toDigits(static_cast<uint32_t>(low)));
  for (const size_t at : {8, 13, 18, 23}) text[at] = '-';
  return text;
}

RandomIds::RandomIds(const std::array<uint64_t, 4>& seed) : state_(seed) {
  // From the state of all zeros this generator would return zeros only.
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

uint64_t RandomIds::spanId() {
  uint64_t id = next();
  while (id == 0) id = next();
  return id;
}

std::string RandomIds::shortId() {
  std::string out;
  uint64_t value = next();
  for (int i = 0; i < 8; ++i, value >>= 4) out += "0123456789abcdef"[value & 0xF];
  return out;
}

}  // namespace tap
