// Functions to skip pieces of JSON text, for the json*.cc files only.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/json.h"

namespace tap::json::text {

[[nodiscard]] inline bool isBlank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

[[nodiscard]] inline bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

[[nodiscard]] inline const char* skipBlanks(const char* p, const char* end) {
  while (p != end && isBlank(*p)) ++p;
  return p;
}

// Inside a string three sorts of bytes are special; all others are copied or skipped.
[[nodiscard]] inline bool isPlain(char c) {
  return c != '"' && c != '\\' && static_cast<uint8_t>(c) >= 0x20;
}

#if defined(__SSE2__)

inline constexpr int kBlock = 16;

// 0xFF for each special byte.
[[nodiscard]] inline __m128i special(__m128i bytes) {
  const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes);
  const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i escape = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  return _mm_or_si128(control, _mm_or_si128(quote, escape));
}

// The number of plain bytes at the start of the block at `p`.
[[nodiscard]] inline int plainInBlock(const char* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return std::countr_zero(static_cast<uint16_t>(_mm_movemask_epi8(special(bytes))));
}

inline constexpr int kWideBlock = 64;

// A bit for each of the 64 bytes at `p` for which `find` sets the top bit; the first byte has the
// lowest bit. In a text with many escapes this finds several at once.
template <class Find>
[[nodiscard]] inline uint64_t bitsOfWideBlock(const char* p, Find find) {
  const auto bitsAt = [&](int offset) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + offset));
    return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(find(bytes)))) << offset;
  };
  return bitsAt(0) | bitsAt(16) | bitsAt(32) | bitsAt(48);
}

// Without the escape that begins at bit `at`: its letter may be a quote or a backslash.
[[nodiscard]] inline uint64_t withoutEscape(uint64_t bits, int at) {
  return bits & ~(uint64_t{3} << at);
}

#else

inline constexpr int kBlock = 8;

// The top bit of each byte of `word` that is less than `bound` (at most 0x80); bytes above such a
// byte may be set as well, so only zero and non-zero are meaningful.
[[nodiscard]] inline uint64_t anyBelow(uint64_t word, uint64_t bound) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  return (word - kOnes * bound) & ~word & (kOnes * 0x80);
}

[[nodiscard]] inline int plainInBlock(const char* p) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  uint64_t word = 0;
  std::memcpy(&word, p, sizeof word);
  const uint64_t special =
      anyBelow(word, 0x20) | anyBelow(word ^ (kOnes * '"'), 1) | anyBelow(word ^ (kOnes * '\\'), 1);
  if (special == 0) return kBlock;
  int count = 0;
  while (count < kBlock && isPlain(p[count])) ++count;
  return count;
}

#endif

// The first byte from `p` on that is not plain, or `end`. It reads by blocks, because long strings
// spend their time here.
[[nodiscard]] inline const char* skipPlain(const char* p, const char* end) {
  if (end - p < kBlock) {
    while (p != end && isPlain(*p)) ++p;
    return p;
  }
  const char* const last = end - kBlock;
  while (p < last) {
    const int count = plainInBlock(p);
    p += count;
    if (count != kBlock) return p;
  }
  // The last block overlaps the block before, whose bytes are all plain.
  return last + plainInBlock(last);
}

// From an opening quote to the place after the closing quote. Null if the text ends before, or has
// a control character in the string.
[[nodiscard]] inline const char* skipString(const char* p, const char* end) {
  ++p;
  while ((p = skipPlain(p, end)) != end && *p == '\\') {
    if (end - p < 2) return nullptr;
    p += 2;
  }
  return p != end && *p == '"' ? p + 1 : nullptr;
}

// The kind of value that begins with this byte, if any.
[[nodiscard]] inline Kind valueKind(char first) {
  switch (first) {
    case '{':
      return Kind::Object;
    case '[':
      return Kind::Array;
    case '"':
      return Kind::String;
    case 't':
    case 'f':
      return Kind::Boolean;
    case 'n':
      return Kind::Null;
    default:
      return Kind::Number;
  }
}

[[nodiscard]] inline std::string_view between(const char* from, const char* to) {
  return {from, static_cast<size_t>(to - from)};
}

}  // namespace tap::json::text
