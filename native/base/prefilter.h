// Finds where one of many literals occurs in a block.
//
// Of each literal it knows the pairs of bytes in its first few bytes, the window. A window has a
// pair at each of its places but the last, so that it is enough to look at every so many bytes
// whether a pair is one of them. Steps of a fixed size depend on no look before them, unlike those
// of Wu and Manber (A fast algorithm for multi-pattern searching, 1994), which this is made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tap {

class Prefilter {
 public:
  // Whether ASCII letters of both cases count as the same. A caseless literal is in lower case.
  struct Literal {
    std::string text;
    bool caseless = false;
  };
  // REQUIRES: at least one literal, at most kMaxLiterals; each has three bytes or more.
  // Unicode: in a caseless literal U+212A counts as k, too, and U+017F as s.
  enum class Folding : uint8_t { Unicode, Ascii };
  explicit Prefilter(std::vector<Literal> literals, Folding folding = Folding::Unicode);
  static constexpr size_t kMaxLiterals = 2000;

  // Where the first literal at or after `from` begins; npos if there is none. Places that only look
  // like a caseless literal with U+212A or U+017F in it are found, too.
  [[nodiscard]] size_t find(std::string_view text, size_t from) const {
    return findHit(text, from).at;
  }
  // The same, and which literal it is: npos where it only looks like one. Of literals that begin
  // with each other it is any.
  struct Hit {
    size_t at;
    size_t literal;
  };
  [[nodiscard]] Hit findHit(std::string_view text, size_t from) const;
  static constexpr size_t npos = std::string_view::npos;

  // Memory that it holds, besides itself.
  [[nodiscard]] size_t bytes() const;

 private:
  static constexpr size_t kBits = 12;
  static constexpr size_t kRows = size_t{1} << kBits;
  static constexpr size_t kMaxWindow = 9;  // its pairs have a bit each

  [[nodiscard]] static size_t pairIndex(const char* pair);
  void enter(uint16_t literal);
  [[nodiscard]] uint8_t placesAt(std::string_view text, size_t from, size_t at) const;
  [[nodiscard]] size_t literalAt(std::string_view text, size_t at) const;
  [[nodiscard]] Hit findLiteral(std::string_view text, size_t from) const;

  std::vector<Literal> literals_;
  size_t window_ = kMaxWindow;
  bool folds_ = false;  // to Unicode, and a caseless literal has a k or an s
  // By a pair of bytes: at which places of a window it is, a bit for each.
  std::array<uint8_t, kRows> places_{};
  struct Head {
    uint16_t row;
    uint16_t literal;
    friend bool operator==(const Head&, const Head&) = default;
    friend bool operator<(const Head& a, const Head& b) {
      return a.row != b.row ? a.row < b.row : a.literal < b.literal;
    }
  };
  std::vector<Head> heads_;  // the literals that begin with these bytes; sorted
};

}  // namespace tap
