#include "base/random.h"

#include <bit>
#include <string_view>

namespace tap {

namespace {
constexpr std::string_view kDigits = "0123456789abcdef";

void appendHex(std::string& out, uint64_t value, int digits) {
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) {
    out += kDigits[(value >> static_cast<unsigned>(shift)) & 0xF];
  }
}
}  // namespace

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

std::string RandomIds::uuid() {
  const uint64_t high = next();
  const uint64_t low = next();
  std::string out;
  out.reserve(36);
  appendHex(out, high >> 32, 8);
  out += '-';
  appendHex(out, high >> 16, 4);
  out += "-4";
  appendHex(out, high, 3);
  out += '-';
  appendHex(out, 0x8 | ((low >> 62) & 0x3), 1);
  appendHex(out, low >> 48, 3);
  out += '-';
  appendHex(out, low, 12);
  return out;
}

std::string RandomIds::shortId() {
  std::string out;
  appendHex(out, next(), 8);
  return out;
}

}  // namespace tap
