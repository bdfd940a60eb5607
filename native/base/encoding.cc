#include "base/encoding.h"

#include <bit>

#include "base/characters.h"
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

// The rest of the message, padded with a 1 bit, zeros and the length in bits (section 4).
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

constexpr char32_t kNonJoiner = 0x200C;
constexpr char32_t kJoiner = 0x200D;
constexpr char32_t kTextStyle = 0xFE0E;
constexpr char32_t kEmojiStyle = 0xFE0F;
constexpr char32_t kKeycap = 0x20E3;

// Which hidden characters are not escaped.
enum class Keep : uint8_t { Nothing, Lines, Controls };

[[nodiscard]] bool isKept(char32_t point, Keep keep) {
  switch (keep) {
    case Keep::Nothing:
      return false;
    case Keep::Lines:
      return point == '\n' || point == '\t';
    case Keep::Controls:
      return point < 0x20 || (point >= 0x7F && point <= 0x9F);
  }
  return false;
}

[[nodiscard]] std::string hexEscape(uint32_t byte) {
  return {'\\', 'x', kHexDigits[byte >> 4 & 0xF], kHexDigits[byte & 0xF]};
}

[[nodiscard]] std::string pointEscape(char32_t point) {
  if (point < 0x80) return hexEscape(point);
  std::string digits;
  for (char32_t rest = point; rest > 0; rest >>= 4) digits.insert(0, 1, kHexDigits[rest & 0xF]);
  return "\\u{" + digits + "}";
}

// Escapes hidden characters in order. Joiners and style selectors stay within an emoji, a keycap,
// or a word of a script that uses them: each requires a visible character on either side, so that
// no text can consist of them alone.
class VisibleWriter {
 public:
  explicit VisibleWriter(Keep keep) : keep_(keep) {}

  // Appends the first character of `text`, escaped if necessary, and skips it. Returns false if the
  // appended text belongs to the following character.
  bool next(std::string& out, std::string_view& text) {
    const utf8::Decoded first = utf8::decode(text);
    const std::string_view raw = text.substr(0, first.size == 0 ? 1 : first.size);
    text.remove_prefix(raw.size());
    if (first.size == 0) {
      out += hexEscape(byteAt(raw, 0));
      before_ = Before::Other;
      return true;
    }
    const uint8_t bits = characters::classBits(first.point);
    if ((bits & characters::kHidden) == 0) {
      out += raw;
      before_ = after(first.point, bits);
      return true;
    }
    const bool styles =
        before_ == Before::Pictograph && (first.point == kEmojiStyle || first.point == kTextStyle);
    const bool joins = joinsNext(first.point, utf8::decode(text));
    before_ = styles ? Before::Styled : Before::Other;
    if (styles || joins || isKept(first.point, keep_)) {
      out += raw;
    } else {
      out += pointEscape(first.point);
    }
    return !joins;
  }

 private:
  enum class Before : uint8_t { Other, Pictograph, Styled, Key, Letter };

  [[nodiscard]] static bool isEmoji(Before before) {
    return before == Before::Pictograph || before == Before::Styled;
  }
  [[nodiscard]] Before after(char32_t point, uint8_t bits) const {
    const bool skinTone = point >= 0x1F3FB && point <= 0x1F3FF;
    if (skinTone && isEmoji(before_)) return Before::Styled;
    if ((bits & characters::kMark) != 0 && before_ == Before::Letter) return before_;
    if ((bits & characters::kPictograph) != 0) return Before::Pictograph;
    if ((bits & characters::kJoins) != 0) return Before::Letter;
    const bool key = (point >= '0' && point <= '9') || point == '#' || point == '*';
    return key ? Before::Key : Before::Other;
  }

  [[nodiscard]] bool joinsNext(char32_t point, utf8::Decoded next) const {
    if (next.size == 0) return false;
    if (point == kEmojiStyle) return before_ == Before::Key && next.point == kKeycap;
    if (point != kJoiner && point != kNonJoiner) return false;
    const uint8_t bits = characters::classBits(next.point);
    if ((bits & characters::kHidden) != 0) return false;
    if (before_ == Before::Letter) return (bits & characters::kJoins) != 0;
    return isEmoji(before_) && point == kJoiner && (bits & characters::kPictograph) != 0;
  }

  Keep keep_;
  Before before_ = Before::Other;
};

[[nodiscard]] std::string escapeHidden(std::string_view text, Keep keep, size_t maxBytes) {
  constexpr std::string_view kEllipsis = "…";
  VisibleWriter shower(keep);
  std::string out;
  size_t cut = 0;  // the last place where the ellipsis still fits
  while (!text.empty()) {
    const bool whole = shower.next(out, text);
    if (out.size() > maxBytes) {
      out.resize(cut);
      if (kEllipsis.size() <= maxBytes) out += kEllipsis;
      break;
    }
    if (whole && out.size() + kEllipsis.size() <= maxBytes) cut = out.size();
  }
  return out;
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
  bool good = true;  // no early exit: valid text is scanned to its end anyway
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
  return escapeHidden(text, keepLines ? Keep::Lines : Keep::Nothing, maxBytes);
}

std::string visibleToModel(std::string_view text, size_t maxBytes) {
  const bool plain = utf8::asciiPrefix(text) == text.size();  // then no character is hidden
  if (plain && text.size() <= maxBytes) return std::string(text);
  return escapeHidden(text, Keep::Controls, maxBytes);
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
  // A leading dot is encoded: the result is never ".", ".." or a hidden file.
  if (out.empty()) return "%";
  return out.front() == '.' ? "%2e" + out.substr(1) : out;
}

std::string inQuotes(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out += '"';
}

std::string inSeconds(Millis time) {
  if (time < Millis(1000)) return std::to_string(time.count()) + " ms";
  return std::to_string(time.count() / 1000) + " s";
}

}  // namespace tap
