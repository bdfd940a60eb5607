// The encoding of a program's output: UTF-8, or UTF-16 as Windows programs write it, which becomes
// UTF-8. A byte order mark at the beginning says which, and is no text. Without one, the output is
// UTF-16 if each second byte of its beginning is NUL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tap::lines {

// How the same bytes are divided into pieces makes no difference.
class Utf16Decoder {
 public:
  // So many bytes at the beginning decide.
  static constexpr size_t kProbe = 8;

  // The next piece as UTF-8: valid until the next call, and a part of `bytes` if nothing changes.
  [[nodiscard]] std::string_view decode(std::string_view bytes);
  // Bytes wait for those that decide.
  [[nodiscard]] bool waits() const { return encoding_ == Encoding::Unknown && probed_ > 0; }
  // Decides by what is there: their text.
  [[nodiscard]] std::string_view release();
  // The text of what is not complete. Then another output begins.
  [[nodiscard]] std::string_view end();

  // The text of the last piece is no longer needed.
  void trim() { std::string().swap(text_); }
  // Memory that it holds.
  [[nodiscard]] size_t bytes() const { return text_.capacity() - std::string().capacity(); }

 private:
  enum class Encoding : uint8_t { Unknown, Utf8, Little, Big };

  [[nodiscard]] bool probe(bool isAll);
  [[nodiscard]] bool alternates(size_t nul) const;
  [[nodiscard]] std::string_view probed() const { return {probe_.data(), probed_}; }
  void decide(Encoding encoding, size_t mark);
  void unit(char16_t unit);
  void convert(std::string_view bytes);

  Encoding encoding_ = Encoding::Unknown;
  std::array<char, kProbe> probe_{};
  size_t probed_ = 0;
  bool hasHalf_ = false;  // the first byte of a unit
  char half_ = 0;
  char16_t high_ = 0;  // the first unit of a pair
  std::string text_;
};

}  // namespace tap::lines
