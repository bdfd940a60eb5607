#include "ws/frame.h"

#include "base/utf8.h"

namespace tap::ws {
namespace {

constexpr uint8_t kFinal = 0x80;
constexpr uint8_t kSizeIn16Bits = 126;
constexpr uint8_t kSizeIn64Bits = 127;
constexpr size_t kCloseCodeSize = 2;

void appendByte(std::string& out, uint64_t value) {
  out.push_back(static_cast<char>(static_cast<uint8_t>(value & 0xFFU)));
}

// Network byte order: section 5.2.
void appendBigEndian(std::string& out, uint64_t value, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) appendByte(out, value >> shift);
}

}  // namespace

bool mayBeSent(CloseCode code) {
  const auto number = static_cast<uint16_t>(code);
  if (number >= 3000 && number <= 4999) return true;
  // 1004 is reserved without a meaning; 1005 and 1006 stand for the lack of a code, and so does
  // 1015, which ends the registered ones.
  return number >= 1000 && number <= 1014 && (number < 1004 || number > 1006);
}

void appendFrameHeader(std::string& out, Opcode opcode, uint64_t size) {
  appendByte(out, kFinal | static_cast<uint8_t>(opcode));
  if (size < kSizeIn16Bits) {
    appendByte(out, size);
  } else if (size <= UINT16_MAX) {
    appendByte(out, kSizeIn16Bits);
    appendBigEndian(out, size, 2);
  } else {
    appendByte(out, kSizeIn64Bits);
    appendBigEndian(out, size, 8);
  }
}

void appendFrame(std::string& out, Opcode opcode, std::string_view payload) {
  appendFrameHeader(out, opcode, payload.size());
  out.append(payload);
}

void appendCloseFrame(std::string& out, CloseCode code, std::string_view reason) {
  // Section 5.5.1: a reason needs a code before it.
  if (!mayBeSent(code)) return appendFrameHeader(out, Opcode::Close, 0);
  const std::string_view cut = utf8::truncate(reason, kMaxControlPayload - kCloseCodeSize);
  appendFrameHeader(out, Opcode::Close, kCloseCodeSize + cut.size());
  appendBigEndian(out, static_cast<uint16_t>(code), kCloseCodeSize);
  out.append(cut);
}

}  // namespace tap::ws
