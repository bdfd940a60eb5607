#include "base/encoding.h"

#include <bit>

#include "base/utf8.h"

namespace tap {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kHexDigits = "0123456789abcdef";

[[nodiscard]] uint32_t byteAt(std::string_view bytes, size_t at) {
  return static_cast<uint8_t>(bytes[at]);
}

// --- SHA-1, RFC 3174 ---

constexpr size_t kShaBlock = 64;
using ShaState = std::array<uint32_t, 5>;

[[nodiscard]] std::array<uint32_t, 80> shaSchedule(std::string_view block) {
  std::array<uint32_t, 80> words;
  for (size_t t = 0; t < 16; ++t) {
    words[t] = byteAt(block, 4 * t) << 24 | byteAt(block, 4 * t + 1) << 16 |
               byteAt(block, 4 * t + 2) << 8 | byteAt(block, 4 * t + 3);
  }
  for (size_t t = 16; t < 80; ++t) {
    words[t] = std::rotl(words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16], 1);
  }
  return words;
}

// f(t; B, C, D) + K(t) of section 5.
[[nodiscard]] uint32_t shaMix(size_t t, uint32_t b, uint32_t c, uint32_t d) {
  if (t < 20) return ((b & c) | (~b & d)) + 0x5A827999;
  if (t < 40) return (b ^ c ^ d) + 0x6ED9EBA1;
  if (t < 60) return ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDC;
  return (b ^ c ^ d) + 0xCA62C1D6;
}

void shaBlock(ShaState& state, std::string_view block) {
  const auto words = shaSchedule(block);
  auto [a, b, c, d, e] = state;
  for (size_t t = 0; t < 80; ++t) {
    const uint32_t next = std::rotl(a, 5) + shaMix(t, b, c, d) + e + words[t];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

// What is left of the message, padded with a 1 bit, zeros and the length in bits (section 4).
[[nodiscard]] std::string shaTail(std::string_view rest, uint64_t totalBytes) {
  std::string tail(rest);
  tail += '\x80';
  while (tail.size() % kShaBlock != kShaBlock - 8) tail += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) {
    tail += static_cast<char>(totalBytes * 8 >> shift & 0xFF);
  }
  return tail;
}

void shaBlocks(ShaState& state, std::string_view& bytes) {
  for (; bytes.size() >= kShaBlock; bytes.remove_prefix(kShaBlock)) {
    shaBlock(state, bytes.substr(0, kShaBlock));
  }
}

// --- visible() ---

[[nodiscard]] bool steersText(char32_t point) {
  const bool control = point < 0x20 || (point >= 0x7F && point <= 0x9F);
  const bool separator = point == 0x2028 || point == 0x2029;
  const bool embedding = point >= 0x202A && point <= 0x202E;
  const bool isolate = point >= 0x2066 && point <= 0x2069;
  const bool mark = point == 0x061C || point == 0x200E || point == 0x200F;
  return control || separator || embedding || isolate || mark;
}

[[nodiscard]] std::string hexEscape(uint32_t byte) {
  return {'\\', 'x', kHexDigits[byte >> 4 & 0xF], kHexDigits[byte & 0xF]};
}

[[nodiscard]] std::string pointEscape(char32_t point) {
  return {'\\',
          'u',
          '{',
          kHexDigits[point >> 12 & 0xF],
          kHexDigits[point >> 8 & 0xF],
          kHexDigits[point >> 4 & 0xF],
          kHexDigits[point & 0xF],
          '}'};
}

// Appends the first character of `text`, shown, and steps over it.
void showNext(std::string& out, std::string_view& text, bool keepLines) {
  const utf8::Decoded next = utf8::decode(text);
  const bool kept = keepLines && (next.point == '\n' || next.point == '\t');
  if (next.size == 0) {
    out += hexEscape(byteAt(text, 0));
  } else if (!steersText(next.point) || kept) {
    out += text.substr(0, next.size);
  } else {
    out += next.size == 1 ? hexEscape(next.point) : pointEscape(next.point);
  }
  text.remove_prefix(next.size == 0 ? 1 : next.size);
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t left = bytes.size() - at;
    uint32_t group = byteAt(bytes, at) << 16;
    if (left > 1) group |= byteAt(bytes, at + 1) << 8;
    if (left > 2) group |= byteAt(bytes, at + 2);
    out += kBase64[group >> 18];
    out += kBase64[group >> 12 & 0x3F];
    out += left > 1 ? kBase64[group >> 6 & 0x3F] : '=';
    out += left > 2 ? kBase64[group & 0x3F] : '=';
  }
  return out;
}

bool isBase64(std::string_view text) {
  constexpr auto kInAlphabet = [] {
    std::array<bool, 256> in{};
    for (const char c : kBase64) in[static_cast<uint8_t>(c)] = true;
    return in;
  }();
  if (text.empty() || text.size() % 4 != 0) return false;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  bool good = true;  // no early end: the whole is looked at anyway where it is good
  for (const char c : text) good &= kInAlphabet[static_cast<uint8_t>(c)];
  return good;
}

std::array<uint8_t, 20> sha1(std::string_view bytes) {
  ShaState state{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  const uint64_t total = bytes.size();
  shaBlocks(state, bytes);
  const std::string tail = shaTail(bytes, total);
  std::string_view rest = tail;
  shaBlocks(state, rest);
  std::array<uint8_t, 20> digest;
  for (size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

std::string hex(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (size_t at = 0; at < bytes.size(); ++at) {
    out += kHexDigits[byteAt(bytes, at) >> 4];
    out += kHexDigits[byteAt(bytes, at) & 0xF];
  }
  return out;
}

bool equalConstantTime(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile uint8_t difference = 0;  // volatile: the loop must not learn to stop early
  for (size_t at = 0; at < a.size(); ++at) {
    difference = static_cast<uint8_t>(difference | (byteAt(a, at) ^ byteAt(b, at)));
  }
  return difference == 0;
}

std::string visible(std::string_view text, bool keepLines, size_t maxBytes) {
  constexpr std::string_view kEllipsis = "…";
  std::string out;
  size_t cut = 0;  // the last place where the ellipsis still fits
  while (!text.empty()) {
    showNext(out, text, keepLines);
    if (out.size() > maxBytes) {
      out.resize(cut);
      if (kEllipsis.size() <= maxBytes) out += kEllipsis;
      break;
    }
    if (out.size() + kEllipsis.size() <= maxBytes) cut = out.size();
  }
  return out;
}

std::string fileName(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '-';
    if (fine) {
      out += c;
    } else {
      out += "%" + hex(std::string_view(&c, 1));
    }
  }
  // A leading dot is encoded: no name is ".", ".." or hidden.
  if (out.empty()) return "%";
  return out.front() == '.' ? "%2e" + out.substr(1) : out;
}

std::string inQuotes(std::string_view name) {
  return "\"" + std::string(name) + "\"";
}

}  // namespace tap
