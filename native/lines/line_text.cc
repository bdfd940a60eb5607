#include "lines/line_text.h"

#include <algorithm>
#include <utility>

#include "base/characters.h"
#include "base/encoding.h"
#include "base/utf8.h"

namespace tap::lines {
namespace {

constexpr char32_t kEscape = 0x1B;
constexpr char32_t kStringEnd = 0x9C;
constexpr std::string_view kReplacement = "\uFFFD";
constexpr size_t kShownControl = std::string_view("\\x00").size();

[[nodiscard]] constexpr bool isPrintable(char c) {
  return (c >= 0x20 && c < 0x7F) || c == '\t';
}

[[nodiscard]] size_t printablePrefix(std::string_view text) {
  const auto* end = std::ranges::find_if_not(text, isPrintable);
  return static_cast<size_t>(end - text.begin());
}

[[nodiscard]] constexpr bool within(char32_t point, char32_t from, char32_t to) {
  return point >= from && point <= to;
}

// CAN and SUB end any sequence.
[[nodiscard]] constexpr bool aborts(char32_t point) {
  return point == 0x18 || point == 0x1A;
}

// SOS, DCS, OSC, PM and APC, as ESC and a letter or as one C1 character.
[[nodiscard]] constexpr bool beginsString(char32_t c1) {
  return c1 == 0x90 || c1 == 0x98 || within(c1, 0x9D, 0x9F);
}

// A terminal moves nothing for it. A tab moves.
[[nodiscard]] bool isWithoutWidth(char32_t point) {
  if (point < 0xA0) return point != '\t' && !within(point, 0x20, 0x7E);
  return characters::is(point, characters::kMark | characters::kHidden);
}

}  // namespace

void LineText::begin() {
  text_.clear();
  leftOut_ = 0;
  cleared_ = false;
  returned_ = false;
  back_ = 0;
  begun_ = true;
}

void LineText::feed(std::string_view bytes) {
  if (!begun_) begin();
  while (!bytes.empty()) {
    if (state_ == State::Ground && pending_ == 0) {
      const size_t run = printablePrefix(bytes);
      if (run > 0) put(bytes.substr(0, run));
      bytes.remove_prefix(run);
      if (bytes.empty()) break;
    }
    byte(static_cast<uint8_t>(bytes.front()));
    bytes.remove_prefix(1);
  }
}

std::string_view LineText::finish() {
  if (!begun_) begin();
  if (pending_ > 0) invalid();
  pending_ = 0;
  state_ = State::Ground;
  begun_ = false;
  if (leftOut_ > 0) {
    text_ += "\u2026 [cut: " + std::to_string(leftOut_) + " bytes more]";
  }
  return text_;
}

// RFC 3629, section 4: which second byte each lead byte allows. The states are those of WHATWG's
// UTF-8 decoder.
void LineText::byte(uint8_t byte) {
  if (pending_ > 0) {
    if (byte >= low_ && byte <= high_) {
      expect(point_ << 6 | (byte & 0x3F), pending_ - 1);
      if (pending_ == 0) point(point_);
      return;
    }
    pending_ = 0;
    invalid();
  }
  if (byte < 0x80) return point(byte);
  if (byte < 0xC2 || byte > 0xF4) return invalid();
  if (byte < 0xE0) return expect(byte & 0x1F, 1);
  if (byte < 0xF0) {
    return expect(byte & 0x0F, 2, byte == 0xE0 ? 0xA0 : 0x80, byte == 0xED ? 0x9F : 0xBF);
  }
  return expect(byte & 0x07, 3, byte == 0xF0 ? 0x90 : 0x80, byte == 0xF4 ? 0x8F : 0xBF);
}

void LineText::expect(char32_t bits, uint8_t more, uint8_t low, uint8_t high) {
  point_ = bits;
  pending_ = more;
  low_ = low;
  high_ = high;
}

void LineText::invalid() {
  switch (state_) {
    case State::Ground:
      break;
    case State::Escape:
    case State::Intermediate:
    case State::Csi:
      state_ = State::Ground;
      break;
    case State::String:
    case State::StringEscape:
      state_ = State::String;
      return;
  }
  put(kReplacement);
}

void LineText::point(char32_t point) {
  switch (state_) {
    case State::Ground:
      return ground(point);
    case State::Escape:
    case State::Intermediate:
      return escape(point);
    case State::Csi:
      return csi(point);
    case State::String:
    case State::StringEscape:
      return inString(point);
  }
}

void LineText::ground(char32_t point) {
  if (point == '\r') {
    returned_ = true;
  } else if (point == kEscape) {
    state_ = State::Escape;
  } else if (point == '\b') {
    eraseLast();
  } else if (point == 0x9B) {
    state_ = State::Csi;
    parameter_ = 0;
    otherParameters_ = false;
  } else if (beginsString(point)) {
    state_ = State::String;
  } else if (returned_ && isWithoutWidth(point)) {
    return;
  } else if (point == '\t' || within(point, 0x20, 0x7E) || point >= 0xA0) {
    put(utf8::encode(point).view());
  } else if (point < 0x20 && point != '\a' && leftOut_ > 0 && !returned_) {
    leftOut_ += kShownControl;  // a flood of NULs costs no text each
  } else if (point != '\a' && point != kStringEnd) {
    put(visible(utf8::encode(point).view(), false));
  }
}

void LineText::escape(char32_t point) {
  const bool first = state_ == State::Escape;
  if (within(point, 0x20, 0x2F)) {
    state_ = State::Intermediate;
    return;
  }
  state_ = State::Ground;
  if (aborts(point)) return;
  // ESC and a character of this range stand for one of C1.
  if (first && within(point, '@', '_')) {
    const char32_t c1 = point + 0x40;
    if (c1 == 0x9B || beginsString(c1)) ground(c1);
    return;
  }
  if (first && point == 'c') cleared_ = true;
  if (!within(point, 0x30, 0x7E)) ground(point);
}

void LineText::csi(char32_t point) {
  if (within(point, '0', '9')) {
    parameter_ = static_cast<uint16_t>(std::min<char32_t>(parameter_ * 10 + (point - '0'), 9999));
    return;
  }
  if (within(point, 0x20, 0x3F)) {
    otherParameters_ = true;
    return;
  }
  state_ = State::Ground;
  if (aborts(point)) return;
  if (!within(point, 0x40, 0x7E)) return ground(point);
  if (otherParameters_) return;
  if (point == 'J' && within(parameter_, 2, 3)) cleared_ = true;
  if (point == 'K' && parameter_ == 2) eraseAll();
  if (point == 'K' && parameter_ == 0 && returned_) eraseAll();
  if (point == 'G' && parameter_ <= 1) returned_ = true;
  if (point == 'D')
    back_ = static_cast<uint16_t>(std::min(back_ + std::max<int>(parameter_, 1), 9999));
}

void LineText::inString(char32_t point) {
  if (state_ == State::StringEscape) {
    state_ = State::Escape;  // an ESC that does not end the string begins another sequence
    if (point != '\\') return escape(point);
    state_ = State::Ground;
  } else if (point == kEscape) {
    state_ = State::StringEscape;
  } else if (point == '\a' || point == kStringEnd || aborts(point)) {
    state_ = State::Ground;
  }
}

void LineText::put(std::string_view text) {
  overwrite();
  const bool full = leftOut_ > 0;
  const std::string_view fits = full ? "" : utf8::truncate(text, kMaxLineBytes - text_.size());
  append(fits);
  leftOut_ += text.size() - fits.size();
}

void LineText::overwrite() {
  if (returned_ || back_ > kMaxLineBytes) eraseAll();
  while (back_ > 0 && !text_.empty() && leftOut_ == 0) {
    eraseLast();
    --back_;
  }
  back_ = 0;
}

// A string that grows takes more than it is asked for; a new one does not.
void LineText::append(std::string_view text) {
  const size_t wanted = text_.size() + text.size();
  if (wanted > text_.capacity()) {
    std::string larger;
    larger.reserve(std::max(wanted, std::min(2 * wanted, kMaxLineBytes + kMarkRoom)));
    larger += text_;
    text_ = std::move(larger);
  }
  text_ += text;
}

void LineText::eraseLast() {
  if (returned_ || leftOut_ > 0) return;
  while (!text_.empty() && (static_cast<uint8_t>(text_.back()) & 0xC0) == 0x80) text_.pop_back();
  if (!text_.empty()) text_.pop_back();
}

void LineText::eraseAll() {
  text_.clear();
  leftOut_ = 0;
  returned_ = false;
  back_ = 0;
}

}  // namespace tap::lines
