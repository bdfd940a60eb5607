#include "lines/prefilter.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/text_map.h"

namespace tap::lines {
namespace {

constexpr size_t kMostShift = std::numeric_limits<uint8_t>::max();

[[nodiscard]] char upperCase(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

// The first of the two characters that are an ASCII letter in another case: U+017F and U+212A.
[[nodiscard]] size_t findFolded(std::string_view text, size_t from) {
  return std::min(text.find("\u017F", from), text.find("\u212A", from));
}

}  // namespace

size_t Prefilter::rowOf(const char* pair) {
  uint16_t value = 0;
  std::memcpy(&value, pair, sizeof value);
  return static_cast<uint16_t>(value * 0x9E37U) >> (16 - kBits);
}

Prefilter::Prefilter(std::vector<Literal> literals) : literals_(std::move(literals)) {
  window_ = kMostShift;
  for (const Literal& literal : literals_) window_ = std::min(window_, literal.text.size());
  shifts_.fill(static_cast<uint8_t>(window_ - 1));
  for (size_t i = 0; i < literals_.size(); ++i) {
    const auto& [text, caseless] = literals_[i];
    for (size_t at = 0; at + 1 < window_; ++at) {
      enter(text.data() + at, caseless, static_cast<uint8_t>(window_ - 2 - at));
    }
    folds_ = folds_ || (caseless && text.find_first_of("ks") != npos);
    chain(static_cast<uint16_t>(i));
  }
  std::sort(heads_.begin(), heads_.end());
  heads_.erase(std::unique(heads_.begin(), heads_.end()), heads_.end());
  heads_.shrink_to_fit();
}

void Prefilter::enter(const char* pair, bool caseless, uint8_t shift) {
  for (const char first : {pair[0], caseless ? upperCase(pair[0]) : pair[0]}) {
    for (const char second : {pair[1], caseless ? upperCase(pair[1]) : pair[1]}) {
      const std::array<char, 2> one{first, second};
      uint8_t& row = shifts_[rowOf(one.data())];
      row = std::min(row, shift);
    }
  }
}

void Prefilter::chain(uint16_t literal) {
  const auto& [text, caseless] = literals_[literal];
  const char* pair = text.data() + window_ - 2;
  for (const char first : {pair[0], caseless ? upperCase(pair[0]) : pair[0]}) {
    for (const char second : {pair[1], caseless ? upperCase(pair[1]) : pair[1]}) {
      const std::array<char, 2> one{first, second};
      heads_.push_back({static_cast<uint16_t>(rowOf(one.data())), literal});
    }
  }
}

bool Prefilter::matchesAt(std::string_view text, size_t at, size_t row) const {
  auto head = std::lower_bound(heads_.begin(), heads_.end(), Head{static_cast<uint16_t>(row), 0});
  for (; head != heads_.end() && head->row == row; ++head) {
    const auto& [literal, caseless] = literals_[head->literal];
    const std::string_view there = text.substr(at, literal.size());
    if (caseless ? equalIgnoringCase(there, literal) : there == literal) return true;
  }
  return false;
}

size_t Prefilter::findLiteral(std::string_view text, size_t from) const {
  const char* const begin = text.data();
  // Of the window's last two bytes.
  for (size_t at = from + window_ - 2; at + 2 <= text.size();) {
    const size_t row = rowOf(begin + at);
    const uint8_t shift = shifts_[row];
    if (shift > 0) {
      at += shift;
      continue;
    }
    const size_t start = at + 2 - window_;
    if (matchesAt(text, start, row)) return start;
    ++at;
  }
  return npos;
}

size_t Prefilter::find(std::string_view text, size_t from) const {
  const size_t found = findLiteral(text, from);
  if (!folds_) return found;
  return std::min(found, findFolded(text.substr(0, found), from));
}

size_t Prefilter::bytes() const {
  size_t bytes = heads_.capacity() * sizeof(Head) + literals_.capacity() * sizeof(Literal);
  for (const Literal& literal : literals_) bytes += literal.text.capacity();
  return bytes;
}

}  // namespace tap::lines
