#include "base/random.h"

#include <bit>
#include <string_view>

namespace tap {

namespace {
constexpr std::string_view kDigits = "0123456789abcdef";

// RFC 9562, section 4: five groups of digits, with a hyphen between two.
constexpr std::array<size_t, 4> kHyphens{8, 13, 18, 23};

constexpr uint8_t kNoDigit = 0xFF;

constexpr std::array<uint8_t, 256> digitValues() {
  std::array<uint8_t, 256> values{};
  values.fill(kNoDigit);
  uint8_t value = 0;
  for (const char digit : kDigits) values[static_cast<uint8_t>(digit)] = value++;
  return values;
}
constexpr std::array<uint8_t, 256> kDigitValues = digitValues();

// What `Digits` digits stand for. `seen` gathers what they are worth, kNoDigit among it.
template <size_t Digits>
uint64_t readDigits(const char* text, uint8_t& seen) {
  uint64_t number = 0;
  for (size_t i = 0; i < Digits; ++i) {
    const uint8_t value = kDigitValues[static_cast<uint8_t>(text[i])];
    seen |= value;
    number = number << 4 | (value & 0xF);
  }
  return number;
}

// The last `Digits` digits of it.
template <size_t Digits>
void writeDigits(char* text, uint64_t number) {
  for (size_t i = Digits; i-- > 0; number >>= 4) text[i] = kDigits[number & 0xF];
}
}  // namespace

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != kTextSize) return std::nullopt;
  for (const size_t at : kHyphens) {
    if (text[at] != '-') return std::nullopt;
  }
  const char* const p = text.data();
  uint8_t seen = 0;
  const uint64_t high =
      readDigits<8>(p, seen) << 32 | readDigits<4>(p + 9, seen) << 16 | readDigits<4>(p + 14, seen);
  const uint64_t low = readDigits<4>(p + 19, seen) << 48 | readDigits<12>(p + 24, seen);
  if (seen == kNoDigit) return std::nullopt;
  return Uuid{high, low};
}

Uuid::Text Uuid::chars() const {
  Text text;
  for (const size_t at : kHyphens) text[at] = '-';
  char* const p = text.data();
  writeDigits<8>(p, high >> 32);
  writeDigits<4>(p + 9, high >> 16);
  writeDigits<4>(p + 14, high);
  writeDigits<4>(p + 19, low >> 48);
  writeDigits<12>(p + 24, low);
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
  for (int i = 0; i < 8; ++i, value >>= 4) out += kDigits[value & 0xF];
  return out;
}

}  // namespace tap
