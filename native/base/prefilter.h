// Finds the first of many literals in a block.
//
// It knows the pairs of bytes in the first few bytes of each literal, its window. A window has a
// pair at each of its places except the last, so it is enough to check a pair every few bytes. The
// steps have a fixed size, unlike those of Wu and Manber (A fast algorithm for multi-pattern
// searching, 1994), on which this is based, so a step does not depend on the check before.
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
  // Whether ASCII letters of both cases are equal. A caseless literal is in lower case.
  struct Literal {
    std::string text;
    bool caseless = false;
  };
  // REQUIRES: 1 to kMaxLiterals literals; each has three bytes or more. Unicode: in a caseless
  // literal U+212A equals k, too, and U+017F equals s.
  enum class Folding : uint8_t { Unicode, Ascii };
  explicit Prefilter(std::vector<Literal> literals, Folding folding = Folding::Unicode);
  static constexpr size_t kMaxLiterals = 2000;

  // The start of the first literal at or after `from`, or npos. Also returns candidates of caseless
  // literals that contain U+212A or U+017F.
  [[nodiscard]] size_t find(std::string_view text, size_t from) const {
    return findHit(text, from).at;
  }
  // The same, with the literal's index: npos for a candidate only. Of literals with a common
  // prefix, any.
  struct Hit {
    size_t at;
    size_t literal;
  };
  [[nodiscard]] Hit findHit(std::string_view text, size_t from) const;
  static constexpr size_t npos = std::string_view::npos;

  // Its memory outside of the object.
  [[nodiscard]] size_t bytes() const;

 private:
  static constexpr size_t kBits = 12;
  static constexpr size_t kRows = size_t{1} << kBits;
  static constexpr size_t kMaxWindow = 9;  // a bit for each of its pairs

  [[nodiscard]] static size_t pairIndex(const char* pair);
  void enter(uint16_t literal);
  [[nodiscard]] uint8_t placesAt(std::string_view text, size_t from, size_t at) const;
  [[nodiscard]] size_t literalAt(std::string_view text, size_t at) const;
  [[nodiscard]] Hit findLiteral(std::string_view text, size_t from) const;

  std::vector<Literal> literals_;
  size_t window_ = kMaxWindow;
  bool folds_ = false;  // to Unicode, and a caseless literal has a k or an s
  // By a pair of bytes: its places in windows, a bit for each.
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
