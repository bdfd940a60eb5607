// UTF-8 validation (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstdint>
#include <string_view>

namespace tap::utf8 {

[[nodiscard]] bool isValid(std::string_view text);

// Validation over pieces: fails at the first byte that cannot continue what came before.
class Validator {
 public:
  // False as soon as the text so far is invalid; further calls then stay false.
  [[nodiscard]] bool feed(std::string_view piece);
  // True if no sequence is left open.
  [[nodiscard]] bool complete() const;
  void reset();

 private:
  uint8_t pending_ = 0;  // continuation bytes still due
  uint8_t low_ = 0x80;   // bounds for the next one
  uint8_t high_ = 0xBF;
  bool failed_ = false;
};

// Cuts to at most `bytes` bytes without cutting a character in two.
[[nodiscard]] std::string_view truncate(std::string_view text, size_t bytes);

}  // namespace tap::utf8
