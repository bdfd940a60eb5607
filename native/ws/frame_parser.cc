#include "ws/frame_parser.h"

#include <cstring>

namespace tap::ws {
namespace {

constexpr uint8_t kFinalBit = 0x80;
constexpr uint8_t kReservedBits = 0x70;
constexpr uint8_t kOpcodeBits = 0x0F;
constexpr uint8_t kMaskBit = 0x80;
constexpr uint8_t kSizeBits = 0x7F;
constexpr uint64_t kTopBit = uint64_t{1} << 63U;

constexpr bool isKnown(uint8_t opcode) {
  return opcode <= 0x2 || (opcode >= 0x8 && opcode <= 0xA);
}

uint64_t bigEndian(const uint8_t* bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value = (value << 8U) | bytes[i];
  return value;
}

}  // namespace

FrameParser::Status FrameParser::read(std::string_view& bytes) {
  Status status = Status::Incomplete;
  while (status == Status::Incomplete && !bytes.empty()) {
    status = readByte(static_cast<uint8_t>(bytes.front()));
    bytes.remove_prefix(1);
  }
  return status;
}

FrameParser::Status FrameParser::readByte(uint8_t byte) {
  bytes_[have_++] = byte;
  if (have_ == 1) return readFirst(byte);
  if (have_ == 2) return readSecond(byte);
  if (have_ == 2 + sizeBytes_) return checkExtendedSize();
  if (have_ == 2 + sizeBytes_ + header_.mask.size()) return finish();
  return Status::Incomplete;
}

FrameParser::Status FrameParser::readFirst(uint8_t byte) {
  // No extension was negotiated, so the reserved bits have no meaning (5.2).
  if ((byte & kReservedBits) != 0) return refuse("reserved bits must be 0");
  const uint8_t opcode = byte & kOpcodeBits;
  if (!isKnown(opcode)) return refuse("unknown opcode");
  header_.opcode = static_cast<Opcode>(opcode);
  header_.final = (byte & kFinalBit) != 0;
  // 5.4: control frames may come between fragments, but must not be fragmented.
  if (isControl(header_.opcode) && !header_.final) return refuse("fragmented control frame");
  return Status::Incomplete;
}

FrameParser::Status FrameParser::readSecond(uint8_t byte) {
  // 5.1: a server closes the connection on a frame that is not masked.
  if ((byte & kMaskBit) == 0) return refuse("client frames must be masked");
  header_.size = byte & kSizeBits;
  if (isControl(header_.opcode) && header_.size > kMaxControlPayload) {
    return refuse("control frame longer than 125 bytes");
  }
  sizeBytes_ = header_.size == 126 ? 2 : header_.size == 127 ? 8 : 0;
  return Status::Incomplete;
}

FrameParser::Status FrameParser::checkExtendedSize() {
  header_.size = bigEndian(&bytes_[2], sizeBytes_);
  // 5.2: the minimal number of bytes must be used, and the top bit of 64 must be 0.
  const uint64_t least = sizeBytes_ == 2 ? 126 : uint64_t{UINT16_MAX} + 1;
  if (header_.size < least) return refuse("payload length not in its shortest form");
  if ((header_.size & kTopBit) != 0) return refuse("payload length above 2^63");
  return Status::Incomplete;
}

FrameParser::Status FrameParser::finish() {
  std::memcpy(header_.mask.data(), &bytes_[2 + sizeBytes_], header_.mask.size());
  have_ = 0;
  return Status::Complete;
}

FrameParser::Status FrameParser::refuse(std::string_view violation) {
  violation_ = violation;
  return Status::Invalid;
}

void unmask(char* data, size_t size, const Mask& mask, uint64_t offset) {
  // The mask repeated over a block, rotated to the position of the first byte. A block's size is a
  // multiple of the mask's, so the rotation stays; a constant size lets the compiler use vectors.
  constexpr size_t kWords = 4;
  constexpr size_t kBlock = kWords * sizeof(uint64_t);
  std::array<uint8_t, kBlock> key;
  for (size_t i = 0; i < kBlock; ++i) key[i] = mask[(offset + i) % mask.size()];
  std::array<uint64_t, kWords> keyWords;
  std::memcpy(keyWords.data(), key.data(), kBlock);

  for (; size >= kBlock; data += kBlock, size -= kBlock) {
    std::array<uint64_t, kWords> words;
    std::memcpy(words.data(), data, kBlock);
    for (size_t i = 0; i < kWords; ++i) words[i] ^= keyWords[i];
    std::memcpy(data, words.data(), kBlock);
  }
  for (size_t i = 0; i < size; ++i) {
    data[i] = static_cast<char>(static_cast<uint8_t>(data[i]) ^ key[i]);
  }
}

}  // namespace tap::ws
