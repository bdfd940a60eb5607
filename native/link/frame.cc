#include "link/frame.h"

#include <algorithm>
#include <utility>

namespace tap::link {

namespace {
// An announced size costs memory only as its bytes arrive.
constexpr size_t kTrustedReserve = size_t{64} * 1024;

size_t decodeHeader(std::string_view header) {
  size_t size = 0;
  for (size_t i = kHeaderBytes; i-- > 0;) {
    size = (size << 8) | static_cast<unsigned char>(header[i]);
  }
  return size;
}
}  // namespace

void appendHeader(std::string& out, size_t size) {
  for (size_t i = 0; i < kHeaderBytes; ++i) out += static_cast<char>((size >> (8 * i)) & 0xFF);
}

std::string_view FrameReader::fill(std::string_view bytes) {
  const size_t wanted = std::min(*due_ - body_.size(), bytes.size());
  if (body_.size() + wanted >= kTrustedReserve && body_.capacity() < *due_) body_.reserve(*due_);
  body_.append(bytes.substr(0, wanted));
  return bytes.substr(wanted);
}

bool FrameReader::receive(std::string_view bytes, std::vector<Slice>& bodies) {
  while (!bytes.empty()) {
    if (!due_) {
      const size_t take = std::min(kHeaderBytes - header_.size(), bytes.size());
      header_.append(bytes.substr(0, take));
      bytes.remove_prefix(take);
      if (header_.size() < kHeaderBytes) return true;
      due_ = decodeHeader(header_);
      header_.clear();
      if (*due_ > maxBody_ || *due_ == 0) return false;
      if (bytes.size() >= *due_) {
        bodies.push_back(Slice::borrow(bytes.substr(0, *due_)));
        bytes.remove_prefix(*due_);
        due_.reset();
      }
      continue;
    }
    bytes = fill(bytes);
    if (body_.size() < *due_) return true;
    bodies.emplace_back(std::exchange(body_, {}));
    due_.reset();
  }
  return true;
}

}  // namespace tap::link
