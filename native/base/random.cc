#include "base/random.h"

#include <bit>
#include <string_view>

namespace tap {

namespace {
constexpr std::string_view kDigits = "0123456789abcdef";

constexpr size_t kUuidText = 36;
// Where the text of each byte of a UUID begins.
constexpr std::array<uint8_t, 16> kUuidBytes{0,  2,  4,  6,  9,  11, 14, 16,
                                             19, 21, 24, 26, 28, 30, 32, 34};
constexpr std::array<uint8_t, 4> kUuidHyphens{8, 13, 18, 23};

constexpr uint8_t kNoDigit = 0xFF;

constexpr std::array<uint8_t, 256> digitValues() {
  std::array<uint8_t, 256> values{};
  values.fill(kNoDigit);
  uint8_t value = 0;
  for (const char digit : kDigits) values[static_cast<uint8_t>(digit)] = value++;
  return values;
}
constexpr std::array<uint8_t, 256> kDigitValues = digitValues();
}  // namespace

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != kUuidText) return std::nullopt;
  for (const uint8_t at : kUuidHyphens) {
    if (text[at] != '-') return std::nullopt;
  }
  std::array<uint64_t, 2> halves{};
  unsigned seen = 0;  // of all digits
  for (size_t i = 0; i < kUuidBytes.size(); ++i) {
    const unsigned high = kDigitValues[static_cast<uint8_t>(text[kUuidBytes[i]])];
    const unsigned low = kDigitValues[static_cast<uint8_t>(text[kUuidBytes[i] + 1])];
    seen |= high | low;
    halves[i / 8] = halves[i / 8] << 8 | ((high << 4 | low) & 0xFF);
  }
  if (seen == kNoDigit) return std::nullopt;
  return Uuid{halves[0], halves[1]};
}

std::string Uuid::text() const {
  std::string out(kUuidText, '-');
  for (size_t i = 0; i < kUuidBytes.size(); ++i) {
    const uint64_t half = i < 8 ? high : low;
    const auto byte = static_cast<uint8_t>(half >> (56 - 8 * (i % 8)));
    out[kUuidBytes[i]] = kDigits[byte >> 4];
    out[kUuidBytes[i] + 1] = kDigits[byte & 0xF];
  }
  return out;
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
