// Finds where one of many literals occurs in a block (S. Wu, U. Manber: A fast algorithm for
// multi-pattern searching, 1994). It looks at the end of a window as wide as the shortest literal,
// and moves on by as much as the two bytes there allow.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tap::lines {

class Prefilter {
 public:
  // Whether ASCII letters of both cases count as the same, and so do U+212A with k, U+017F with s.
  // A caseless literal is in lower case.
  struct Literal {
    std::string text;
    bool caseless = false;
  };
  // REQUIRES: at least one literal, at most kMostLiterals; each has kLeastLiteral bytes or more.
  explicit Prefilter(std::vector<Literal> literals);
  static constexpr size_t kMostLiterals = 2000;

  // Where the first literal at or after `from` begins; npos if there is none. Places that only look
  // like a caseless literal with U+212A or U+017F in it are found, too.
  [[nodiscard]] size_t find(std::string_view text, size_t from) const;
  static constexpr size_t npos = std::string_view::npos;

  // Memory that it holds, besides itself.
  [[nodiscard]] size_t bytes() const;

 private:
  static constexpr size_t kBits = 12;
  static constexpr size_t kRows = size_t{1} << kBits;

  [[nodiscard]] static size_t rowOf(const char* pair);
  void enter(const char* pair, bool caseless, uint8_t shift);
  void chain(uint16_t literal);
  [[nodiscard]] bool matchesAt(std::string_view text, size_t at, size_t row) const;
  [[nodiscard]] size_t findLiteral(std::string_view text, size_t from) const;

  std::vector<Literal> literals_;
  size_t window_ = 0;
  bool folds_ = false;                   // a caseless literal has a k or an s
  std::array<uint8_t, kRows> shifts_{};  // by the last two bytes of the window
  struct Head {
    uint16_t row;
    uint16_t literal;
    friend auto operator<=>(const Head&, const Head&) = default;
  };
  std::vector<Head> heads_;  // the literals whose window ends with these bytes; sorted by row
};

}  // namespace tap::lines
