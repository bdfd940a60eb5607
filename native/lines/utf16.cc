#include "lines/utf16.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace tap::lines {
namespace {

constexpr std::string_view kLoneUnit = "\uFFFD";
constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";
constexpr std::string_view kLittleMark = "\xFF\xFE";
constexpr std::string_view kBigMark = "\xFE\xFF";

[[nodiscard]] constexpr bool isHigh(char16_t unit) {
  return unit >= 0xD800 && unit <= 0xDBFF;
}
[[nodiscard]] constexpr bool isLow(char16_t unit) {
  return unit >= 0xDC00 && unit <= 0xDFFF;
}

}  // namespace

// `nul`: 1 where the second byte of each unit is NUL and the first is not, 0 the other way round.
bool Utf16Decoder::alternates(size_t nul) const {
  for (size_t i = 0; i < probed_; ++i) {
    if ((probe_[i] == '\0') != (i % 2 == nul)) return false;
  }
  return true;
}

void Utf16Decoder::decide(Encoding encoding, size_t mark) {
  encoding_ = encoding;
  const std::string_view rest = probed().substr(mark);
  if (encoding == Encoding::Utf8) {
    text_ = rest;
  } else {
    convert(rest);
  }
  probed_ = 0;
}

// False: further bytes decide.
bool Utf16Decoder::probe(bool isAll) {
  const std::string_view seen = probed();
  if (seen.front() == '\n')
    return decide(Encoding::Utf8, 0), true;  // a whole line waits for nothing
  if (seen.starts_with(kLittleMark)) return decide(Encoding::Little, 2), true;
  if (seen.starts_with(kBigMark)) return decide(Encoding::Big, 2), true;
  if (seen.starts_with(kUtf8Mark)) return decide(Encoding::Utf8, 3), true;
  const bool isEnough = isAll ? probed_ >= kProbe / 2 : probed_ == kProbe;
  for (const auto& [nul, encoding] : {std::pair<size_t, Encoding>{1, Encoding::Little},
                                      std::pair<size_t, Encoding>{0, Encoding::Big}}) {
    if (!alternates(nul)) continue;
    if (isEnough) return decide(encoding, 0), true;
    if (!isAll) return false;
  }
  const bool mayBeMark =
      kLittleMark.starts_with(seen) || kBigMark.starts_with(seen) || kUtf8Mark.starts_with(seen);
  if (mayBeMark && !isAll) return false;
  return decide(Encoding::Utf8, 0), true;
}

std::string_view Utf16Decoder::decode(std::string_view bytes) {
  if (encoding_ == Encoding::Utf8) {
    if (!text_.empty()) std::string().swap(text_);
    return bytes;
  }
  text_.clear();
  const size_t before = probed_;
  std::string_view rest = bytes;
  while (encoding_ == Encoding::Unknown && !rest.empty()) {
    probe_[probed_++] = rest.front();
    rest.remove_prefix(1);
    (void)probe(false);
  }
  if (encoding_ == Encoding::Unknown) return {};
  if (encoding_ != Encoding::Utf8) {
    convert(rest);
  } else if (before == 0) {
    return bytes.substr(bytes.size() - rest.size() - text_.size());
  } else {
    text_ += rest;
  }
  return text_;
}

std::string_view Utf16Decoder::release() {
  text_.clear();
  if (waits()) (void)probe(true);
  return text_;
}

std::string_view Utf16Decoder::end() {
  (void)release();
  if (hasHalf_ || high_ != 0) text_ += kLoneUnit;
  encoding_ = Encoding::Unknown;
  hasHalf_ = false;
  high_ = 0;
  return text_;
}

void Utf16Decoder::convert(std::string_view bytes) {
  for (const char byte : bytes) {
    if (!std::exchange(hasHalf_, !hasHalf_)) {
      half_ = byte;
      continue;
    }
    const auto [low, high] =
        encoding_ == Encoding::Little ? std::pair(half_, byte) : std::pair(byte, half_);
    unit(static_cast<char16_t>(static_cast<uint8_t>(high) << 8 | static_cast<uint8_t>(low)));
  }
}

void Utf16Decoder::unit(char16_t unit) {
  const char16_t high = std::exchange(high_, isHigh(unit) ? unit : char16_t{0});
  if (high != 0 && isLow(unit)) {
    const auto point = 0x10000 + ((char32_t{high} & 0x3FF) << 10) + (char32_t{unit} & 0x3FF);
    text_ += utf8::encode(point).view();
    return;
  }
  if (high != 0) text_ += kLoneUnit;
  if (isHigh(unit)) return;
  text_ += isLow(unit) ? kLoneUnit : utf8::encode(unit).view();
}

}  // namespace tap::lines
