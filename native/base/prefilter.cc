#include "base/prefilter.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/text_map.h"

namespace tap {
namespace {

[[nodiscard]] char upperCase(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

// Calls `visit` with the pair, and for a caseless literal with its other forms.
template <class Visit>
void eachCase(const char* pair, bool caseless, const Visit& visit) {
  for (const char first : {pair[0], caseless ? upperCase(pair[0]) : pair[0]}) {
    for (const char second : {pair[1], caseless ? upperCase(pair[1]) : pair[1]}) {
      visit(std::array<char, 2>{first, second});
    }
  }
}

// The first of the two characters whose other case is an ASCII letter: U+017F and U+212A.
[[nodiscard]] size_t findFolded(std::string_view text, size_t from) {
  return std::min(text.find("\u017F", from), text.find("\u212A", from));
}

}  // namespace

size_t Prefilter::pairIndex(const char* pair) {
  uint16_t value = 0;
  std::memcpy(&value, pair, sizeof value);
  return static_cast<uint16_t>(value * 0x9E37U) >> (16 - kBits);
}

Prefilter::Prefilter(std::vector<Literal> literals, Folding folding)
    : literals_(std::move(literals)) {
  for (const Literal& literal : literals_) window_ = std::min(window_, literal.text.size());
  for (size_t i = 0; i < literals_.size(); ++i) enter(static_cast<uint16_t>(i));
  std::sort(heads_.begin(), heads_.end());
  heads_.erase(std::unique(heads_.begin(), heads_.end()), heads_.end());
  heads_.shrink_to_fit();
  folds_ = folds_ && folding == Folding::Unicode;
}

void Prefilter::enter(uint16_t literal) {
  const auto& [text, caseless] = literals_[literal];
  folds_ = folds_ || (caseless && text.find_first_of("ks") != npos);
  for (size_t place = 0; place + 1 < window_; ++place) {
    eachCase(text.data() + place, caseless, [&](const std::array<char, 2>& pair) {
      const size_t row = pairIndex(pair.data());
      places_[row] = static_cast<uint8_t>(places_[row] | 1U << place);
      if (place == 0) heads_.push_back({static_cast<uint16_t>(row), literal});
    });
  }
}

// Returns: its index, or npos.
size_t Prefilter::literalAt(std::string_view text, size_t at) const {
  const auto row = static_cast<uint16_t>(pairIndex(text.data() + at));
  auto head = std::lower_bound(heads_.begin(), heads_.end(), Head{row, 0});
  for (; head != heads_.end() && head->row == row; ++head) {
    const auto& [literal, caseless] = literals_[head->literal];
    const std::string_view there = text.substr(at, literal.size());
    if (caseless ? equalIgnoringCase(there, literal) : there == literal) return head->literal;
  }
  return npos;
}

// The possible places of the pair at `at` in a window. The neighbouring pairs must fit, too.
uint8_t Prefilter::placesAt(std::string_view text, size_t from, size_t at) const {
  uint32_t places = places_[pairIndex(text.data() + at)];
  if (at + 3 <= text.size()) {
    const uint32_t last = 1U << (window_ - 2);
    places &= static_cast<uint32_t>(places_[pairIndex(text.data() + at + 1)] >> 1) | last;
  }
  if (at > from)
    places &= static_cast<uint32_t>(places_[pairIndex(text.data() + at - 1)] << 1) | 1U;
  return static_cast<uint8_t>(places);
}

Prefilter::Hit Prefilter::findLiteral(std::string_view text, size_t from) const {
  const size_t step = window_ - 1;
  for (size_t at = from; at + 2 <= text.size(); at += step) {
    if (places_[pairIndex(text.data() + at)] == 0) continue;
    // The last place first: it belongs to the literal that begins first.
    for (uint32_t places = placesAt(text, from, at); places != 0;) {
      const auto place = static_cast<size_t>(std::bit_width(places)) - 1;
      places &= ~(1U << place);
      if (at < from + place) continue;
      const size_t literal = literalAt(text, at - place);
      if (literal != npos) return {at - place, literal};
    }
  }
  return {npos, npos};
}

Prefilter::Hit Prefilter::findHit(std::string_view text, size_t from) const {
  const Hit found = findLiteral(text, from);
  if (!folds_) return found;
  const size_t folded = findFolded(text.substr(0, found.at), from);
  return folded < found.at ? Hit{folded, npos} : found;
}

size_t Prefilter::bytes() const {
  size_t bytes = heads_.capacity() * sizeof(Head) + literals_.capacity() * sizeof(Literal);
  for (const Literal& literal : literals_) bytes += literal.text.capacity();
  return bytes;
}

}  // namespace tap
