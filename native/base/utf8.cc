#include "base/utf8.h"

#include <cstring>

namespace tap::utf8 {
namespace {

[[nodiscard]] bool isContinuation(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) == 0x80;
}

[[nodiscard]] uint32_t low6(char byte) {
  return static_cast<uint8_t>(byte) & 0x3F;
}

[[nodiscard]] uint8_t sequenceSize(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xE0) return 2;
  return lead < 0xF0 ? 3 : 4;
}

[[nodiscard]] char continuation(uint32_t bits) {
  return static_cast<char>(0x80 | (bits & 0x3F));
}

}  // namespace

size_t asciiPrefix(std::string_view text) {
  constexpr uint64_t kTopBits = 0x8080808080808080;
  size_t at = 0;
  for (; text.size() - at >= 2 * sizeof(uint64_t); at += 2 * sizeof(uint64_t)) {
    uint64_t words[2];
    std::memcpy(words, text.data() + at, sizeof words);
    if (((words[0] | words[1]) & kTopBits) != 0) break;
  }
  while (at < text.size() && static_cast<uint8_t>(text[at]) < 0x80) ++at;
  return at;
}

bool isValid(std::string_view text) {
  Validator validator;
  return validator.feed(text) && validator.complete();
}

bool Validator::feed(std::string_view piece) {
  while (!failed_ && !piece.empty()) {
    if (pending_ == 0) piece.remove_prefix(asciiPrefix(piece));
    while (!piece.empty()) {
      failed_ = !accept(static_cast<uint8_t>(piece.front()));
      piece.remove_prefix(1);
      if (failed_) break;
      // Text in a single script is mostly not ASCII, so ASCII is skipped only at the start of a
      // run.
      if (pending_ == 0 && !piece.empty() && static_cast<uint8_t>(piece.front()) < 0x80) break;
    }
  }
  return !failed_;
}

bool Validator::accept(uint8_t byte) {
  if (pending_ == 0) return begin(byte);
  if (byte < low_ || byte > high_) return false;
  return expect(pending_ - 1, 0x80, 0xBF);
}

// RFC 3629, section 4: the second bytes that each lead byte allows.
bool Validator::begin(uint8_t lead) {
  if (lead < 0x80) return true;
  if (lead < 0xC2) return false;
  if (lead < 0xE0) return expect(1, 0x80, 0xBF);
  if (lead == 0xE0) return expect(2, 0xA0, 0xBF);
  if (lead == 0xED) return expect(2, 0x80, 0x9F);
  if (lead < 0xF0) return expect(2, 0x80, 0xBF);
  if (lead == 0xF0) return expect(3, 0x90, 0xBF);
  if (lead < 0xF4) return expect(3, 0x80, 0xBF);
  return lead == 0xF4 && expect(3, 0x80, 0x8F);
}

bool Validator::expect(uint8_t pending, uint8_t low, uint8_t high) {
  pending_ = pending;
  low_ = low;
  high_ = high;
  return true;
}

bool Validator::complete() const {
  return !failed_ && pending_ == 0;
}

void Validator::reset() {
  *this = Validator();
}

Decoded decode(std::string_view text) {
  if (text.empty()) return {};
  const uint8_t size = sequenceSize(static_cast<uint8_t>(text.front()));
  if (text.size() < size || !isValid(text.substr(0, size))) return {};
  return decodeValid(text);
}

Decoded decodeValid(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1Fu) << 6 | low6(text[1]), 2};
  const uint32_t middle = low6(text[1]) << 6 | low6(text[2]);
  if (lead < 0xF0) return {(lead & 0x0Fu) << 12 | middle, 3};
  return {(lead & 0x07u) << 18 | middle << 6 | low6(text[3]), 4};
}

Encoded encode(char32_t point) {
  if (point < 0x80) return {{static_cast<char>(point)}, 1};
  if (point < 0x800) return {{static_cast<char>(0xC0 | point >> 6), continuation(point)}, 2};
  if (point < 0x10000) {
    return {{static_cast<char>(0xE0 | point >> 12), continuation(point >> 6), continuation(point)},
            3};
  }
  return {{static_cast<char>(0xF0 | point >> 18), continuation(point >> 12),
           continuation(point >> 6), continuation(point)},
          4};
}

std::string_view truncate(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  size_t cut = bytes;
  while (cut > 0 && bytes - cut < 3 && isContinuation(text[cut])) --cut;
  // Four continuation bytes in a row are invalid; then any place is acceptable.
  return text.substr(0, isContinuation(text[cut]) ? bytes : cut);
}

}  // namespace tap::utf8
