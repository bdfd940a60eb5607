// Frames of the session link: four bytes of length, little endian, then that many bytes of JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/slice.h"

namespace tap::link {

inline constexpr size_t kHeaderBytes = 4;

// Appends the header of a body of `size` bytes.
void appendHeader(std::string& out, size_t size);

// Bytes in, bodies out. It buffers at most an unfinished frame.
class FrameReader {
 public:
  explicit FrameReader(size_t maxBody) : maxBody_(maxBody) {}

  // Appends the complete bodies to `bodies`; a body that lies whole in `bytes` is borrowed from
  // there. Returns false if a frame is longer than allowed: the stream is then unusable.
  [[nodiscard]] bool receive(std::string_view bytes, std::vector<Slice>& bodies);
  // From the next header on.
  void allow(size_t maxBody) { maxBody_ = maxBody; }

 private:
  // Moves bytes into the unfinished frame; returns the rest.
  std::string_view fill(std::string_view bytes);

  size_t maxBody_;
  std::string header_;  // fewer than kHeaderBytes, between two reads
  std::string body_;
  std::optional<size_t> due_;  // size of the frame that has begun
};

}  // namespace tap::link
