// As much of RFC 6455 as a client of the bench needs: frames that are whole, masked when they leave
// and bare when they come. Written apart from native/ws, so that no rival gets a client of its own.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tap::bench {

constexpr unsigned char kMask[] = {0x37, 0xfa, 0x21, 0x3d};

// In place, eight bytes at a time.
inline void mask(char* bytes, size_t size) {
  uint64_t key = 0;
  for (size_t i = 0; i < 8; ++i) reinterpret_cast<unsigned char*>(&key)[i] = kMask[i % 4];
  size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, 8);
    word ^= key;
    std::memcpy(bytes + at, &word, 8);
  }
  for (; at < size; ++at) bytes[at] = static_cast<char>(bytes[at] ^ kMask[at % 4]);
}

inline void appendText(std::string& out, std::string_view text) {
  out.push_back('\x81');
  const size_t size = text.size();
  const int lengthBytes = size < 126 ? 0 : size < 65536 ? 2 : 8;
  const size_t shown = lengthBytes == 0 ? size : lengthBytes == 2 ? 126 : 127;
  out.push_back(static_cast<char>(0x80 | shown));
  for (int i = lengthBytes - 1; i >= 0; --i) out.push_back(static_cast<char>(size >> (8 * i)));
  out.append(reinterpret_cast<const char*>(kMask), sizeof kMask);
  const size_t at = out.size();
  out.append(text);
  mask(out.data() + at, size);
}

// Takes the first whole frame off `bytes`. Returns: false if `bytes` has no whole frame yet.
inline bool takeFrame(std::string_view& bytes, std::string_view& text) {
  if (bytes.size() < 2) return false;
  const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const size_t shown = at(1) & 0x7fU;
  const size_t header = shown < 126 ? 2 : shown == 126 ? 4 : 10;
  if (bytes.size() < header) return false;
  uint64_t size = shown < 126 ? shown : 0;
  for (size_t i = 2; i < header; ++i) size = size << 8 | at(i);
  if (bytes.size() - header < size) return false;
  text = bytes.substr(header, size);
  bytes.remove_prefix(header + size);
  return true;
}

}  // namespace tap::bench
