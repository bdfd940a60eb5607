// Reads the frame headers of a client: RFC 6455, section 5.2. The caller handles the payloads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ws/frame.h"

namespace tap::ws {

using Mask = std::array<uint8_t, 4>;

struct FrameHeader {
  Opcode opcode = Opcode::Continuation;
  bool final = false;
  uint64_t size = 0;  // of the payload, in bytes
  Mask mask{};
};

// Holds at most a header's bytes. A violation of section 5 is refused at the byte that shows it, so
// the result does not depend on how the bytes were split.
class FrameParser {
 public:
  enum class Status : uint8_t { Incomplete, Complete, Invalid };

  // Removes header bytes from the front of `bytes`, never payload. After Complete the next call
  // begins a new header; after Invalid, do not call it again.
  [[nodiscard]] Status read(std::string_view& bytes);

  // The last complete header.
  [[nodiscard]] const FrameHeader& header() const { return header_; }
  // After Invalid: the rule that was broken, in words. Static storage.
  [[nodiscard]] std::string_view violation() const { return violation_; }

 private:
  static constexpr size_t kMaxSize = 14;  // 2, then 8 of length, then 4 of mask

  Status readByte(uint8_t byte);
  Status readFirst(uint8_t byte);
  Status readSecond(uint8_t byte);
  Status checkExtendedSize();
  Status finish();
  Status refuse(std::string_view violation);

  std::array<uint8_t, kMaxSize> bytes_{};
  size_t have_ = 0;       // bytes of the current header read so far
  size_t sizeBytes_ = 0;  // bytes of its extended payload length: 0, 2 or 8
  FrameHeader header_;
  std::string_view violation_;
};

// Unmasks in place (section 5.3). `offset` is where in the payload `data` begins.
void unmask(char* data, size_t size, const Mask& mask, uint64_t offset);

}  // namespace tap::ws
