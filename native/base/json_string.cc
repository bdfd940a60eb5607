#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/json_text.h"
#include "base/utf8.h"

namespace tap::json {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

[[nodiscard]] bool isHighSurrogate(char32_t unit) {
  return unit >= 0xD800 && unit <= 0xDBFF;
}
[[nodiscard]] bool isLowSurrogate(char32_t unit) {
  return unit >= 0xDC00 && unit <= 0xDFFF;
}
[[nodiscard]] bool isSurrogate(char32_t unit) {
  return unit >= 0xD800 && unit <= 0xDFFF;
}

[[nodiscard]] uint32_t hexDigit(char c) {
  if (text::isDigit(c)) return static_cast<uint32_t>(c - '0');
  return static_cast<uint32_t>((c | 0x20) - 'a' + 10) & 0xF;  // other bytes give an arbitrary digit
}

[[nodiscard]] char32_t hexUnit(const char* p) {
  return hexDigit(p[0]) << 12 | hexDigit(p[1]) << 8 | hexDigit(p[2]) << 4 | hexDigit(p[3]);
}

[[nodiscard]] char32_t shortEscape(char letter) {
  switch (letter) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return static_cast<uint8_t>(letter);  // quote, backslash, slash
  }
}

// takeEscape for an escape that begins with \u.
[[nodiscard]] char32_t takeUnicode(const char*& p, const char* end) {
  if (end - p < 6) {
    p = end;
    return kReplacement;
  }
  const char32_t unit = hexUnit(p + 2);
  p += 6;
  const bool another = isHighSurrogate(unit) && end - p >= 6 && p[0] == '\\' && p[1] == 'u';
  if (!another) return unit;
  const char32_t low = hexUnit(p + 2);
  if (!isLowSurrogate(low)) return unit;
  p += 6;
  return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

// Decodes the escape at `p` and moves `p` behind it. Two escapes of a surrogate pair give a single
// character; a lone surrogate is returned as it is. In invalid text, an incomplete escape extends
// to the end.
[[nodiscard]] inline char32_t takeEscape(const char*& p, const char* end) {
  if (end - p < 2 || p[1] == 'u') return takeUnicode(p, end);
  p += 2;
  return shortEscape(p[-1]);
}

[[nodiscard]] const char* findEscape(const char* p, const char* end) {
  if (p == end) return end;  // memchr must not get a null pointer
  const auto* found = static_cast<const char*>(std::memchr(p, '\\', static_cast<size_t>(end - p)));
  return found == nullptr ? end : found;
}

[[nodiscard]] std::string_view withoutQuotes(Value string) {
  if (string.raw.size() < 2) return {};
  return string.raw.substr(1, string.raw.size() - 2);
}

// The character at `p`, which may be invalid.
[[nodiscard]] utf8::Decoded decodeCharacter(const char* p, const char* end) {
  if (end - p >= 4) return utf8::decodeValid({p, 4});
  const utf8::Decoded decoded = utf8::decode(text::between(p, end));
  return decoded.size > 0 ? decoded : utf8::Decoded{kReplacement, 1};
}

[[nodiscard]] char16_t* putUnits(char16_t* out, char32_t point) {
  if (point < 0x10000) {
    *out++ = static_cast<char16_t>(point);
    return out;
  }
  *out++ = static_cast<char16_t>(0xD800 + ((point - 0x10000) >> 10));
  *out++ = static_cast<char16_t>(0xDC00 + (point & 0x3FF));
  return out;
}

// Widens ASCII up to the first backslash or non-ASCII byte; moves `p` there.
[[nodiscard]] char16_t* widenPlain(char16_t* out, const char*& p, const char* end) {
#if defined(__SSE2__)
  const __m128i zero = _mm_setzero_si128();
  const __m128i escape = _mm_set1_epi8('\\');
  for (; end - p >= 16; p += 16, out += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    if (_mm_movemask_epi8(_mm_or_si128(bytes, _mm_cmpeq_epi8(bytes, escape))) != 0) break;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_unpacklo_epi8(bytes, zero));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 8), _mm_unpackhi_epi8(bytes, zero));
  }
#endif
  for (; p != end && static_cast<uint8_t>(*p) < 0x80 && *p != '\\'; ++p) {
    *out++ = static_cast<char16_t>(*p);
  }
  return out;
}

#if defined(__SSE2__)
// Stores the first `count` of 16 bytes, and leaves the bytes behind them, which may be unread.
void storeFirst(char* out, __m128i bytes, int count) {
  static constexpr std::array<uint8_t, 32> kOnesThenZeros{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                                                          0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                                                          0xFF, 0xFF, 0xFF, 0xFF};
  auto* const to = reinterpret_cast<__m128i*>(out);
  const __m128i mask =
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(kOnesThenZeros.data() + 16 - count));
  const __m128i behind = _mm_andnot_si128(mask, _mm_loadu_si128(to));
  _mm_storeu_si128(to, _mm_or_si128(_mm_and_si128(mask, bytes), behind));
}
#endif

// Copies ASCII up to the first backslash or non-ASCII byte; moves `p` there. `out` may lie before
// `p` in the same text.
[[nodiscard]] char* copyPlain(char* out, const char*& p, const char* end) {
#if defined(__SSE2__)
  const __m128i escape = _mm_set1_epi8('\\');
  for (; end - p >= 16; p += 16, out += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const int stops = _mm_movemask_epi8(_mm_or_si128(bytes, _mm_cmpeq_epi8(bytes, escape)));
    if (stops != 0) {
      const int plain = std::countr_zero(static_cast<unsigned>(stops));
      storeFirst(out, bytes, plain);
      p += plain;
      return out + plain;
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
  }
#endif
  while (p != end && static_cast<uint8_t>(*p) < 0x80 && *p != '\\') *out++ = *p++;
  return out;
}

}  // namespace

bool keyEquals(std::string_view rawKey, std::string_view name) {
  const char* p = rawKey.data();
  const char* const end = p + rawKey.size();
  for (;;) {
    const char* const escape = rawKey.empty() ? end : findEscape(p, end);
    const std::string_view plain = text::between(p, escape);
    if (escape == end) return plain == name;
    if (!name.starts_with(plain)) return false;
    name.remove_prefix(plain.size());
    p = escape;
    const char32_t point = takeEscape(p, end);
    if (isSurrogate(point)) return false;  // no UTF-8 text equals half a pair
    const utf8::Encoded encoded = utf8::encode(point);
    if (!name.starts_with(encoded.view())) return false;
    name.remove_prefix(encoded.view().size());
  }
}

std::optional<std::string_view> plainText(Value string) {
  const std::string_view raw = withoutQuotes(string);
  if (raw.find('\\') != std::string_view::npos) return std::nullopt;
  return raw;
}

std::string decodeString(Value string) {
  const std::string_view raw = withoutQuotes(string);
  const char* p = raw.data();
  const char* const end = p + raw.size();
  std::string out;
  out.reserve(raw.size());
  for (;;) {
    const char* const escape = findEscape(p, end);
    out.append(p, escape);
    if (escape == end) return out;
    p = escape;
    const char32_t point = takeEscape(p, end);
    out += utf8::encode(isSurrogate(point) ? kReplacement : point).view();
  }
}

std::string replaceLoneSurrogates(std::string_view text) {
  std::string out(text);
  const char* p = text.data();
  const char* const end = p + text.size();
  while ((p = findEscape(p, end)) != end) {
    const auto at = static_cast<size_t>(p - text.data());
    if (isSurrogate(takeEscape(p, end))) out.replace(at, 6, "\\ufffd");
  }
  return out;
}

std::u16string decodeString16(const AsciiText& begun) {
  const char* p = begun.rest.data();
  const char* const end = p + begun.rest.size();
  // Each byte of UTF-8 gives at most a single unit.
  std::u16string units(begun.front.size() + begun.rest.size(), u'\0');
  char16_t* out = std::copy(begun.front.begin(), begun.front.end(), units.data());
  for (;;) {
    out = widenPlain(out, p, end);
    if (p == end) break;
    if (*p == '\\') {
      out = putUnits(out, takeEscape(p, end));
    } else {
      const utf8::Decoded decoded = decodeCharacter(p, end);
      out = putUnits(out, decoded.point);
      p += decoded.size;
    }
  }
  units.resize(static_cast<size_t>(out - units.data()));
  return units;
}

std::u16string decodeString16(Value string) {
  return decodeString16(AsciiText{{}, withoutQuotes(string)});
}

AsciiText decodeAscii(Value string, char* const to) {
  const std::string_view raw = withoutQuotes(string);
  const char* p = raw.data();
  const char* const end = p + raw.size();
  char* out = to;
  for (;;) {
    out = copyPlain(out, p, end);
    const char* next = p;
    const char32_t point = p != end && *p == '\\' ? takeEscape(next, end) : 0x80;
    if (point >= 0x80) return {text::between(to, out), text::between(p, end)};
    p = next;
    *out++ = static_cast<char>(point);
  }
}

}  // namespace tap::json
