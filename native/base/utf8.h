// UTF-8 validation (RFC 3629): no overlong forms, no surrogates, no characters above U+10FFFF.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tap::utf8 {

[[nodiscard]] bool isValid(std::string_view text);

// Validation in pieces: fails at the first byte that cannot continue the text.
class Validator {
 public:
  // Returns false once the text is invalid.
  [[nodiscard]] bool feed(std::string_view piece);
  // True if no sequence is incomplete.
  [[nodiscard]] bool complete() const;
  void reset();

 private:
  [[nodiscard]] bool accept(uint8_t byte);
  [[nodiscard]] bool begin(uint8_t lead);
  [[nodiscard]] bool expect(uint8_t pending, uint8_t low, uint8_t high);

  uint8_t pending_ = 0;  // continuation bytes still due
  uint8_t low_ = 0x80;   // bounds of the next continuation byte
  uint8_t high_ = 0xBF;
  bool failed_ = false;
};

// The number of ASCII bytes at the front.
[[nodiscard]] size_t asciiPrefix(std::string_view text);

// The first character of a text; its size is 0 if the text is empty or does not begin with a whole
// valid sequence.
struct Decoded {
  char32_t point = 0;
  uint8_t size = 0;
};
[[nodiscard]] Decoded decode(std::string_view text);
// The same for text that is known to be valid. REQUIRES: `text` is valid and not empty.
[[nodiscard]] Decoded decodeValid(std::string_view text);

// A character as UTF-8. REQUIRES: a scalar value (no surrogate, up to U+10FFFF).
struct Encoded {
  std::array<char, 4> bytes{};
  uint8_t size = 0;
  [[nodiscard]] std::string_view view() const { return {bytes.data(), size}; }
};
[[nodiscard]] Encoded encode(char32_t point);

// Cuts to at most `bytes` bytes, without a partial character.
[[nodiscard]] std::string_view truncate(std::string_view text, size_t bytes);

}  // namespace tap::utf8
