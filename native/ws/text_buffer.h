// The part of a text message that has arrived: unmasked and checked as UTF-8 on the way in.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace tap::ws {

// Memory grows with the bytes that have arrived, not with the announced size, because an
// announcement is free for its sender. While it grows, at most twice `cap` is allocated.
class TextBuffer {
 public:
  // `cap` limits the size of a message; the caller ensures it.
  explicit TextBuffer(size_t cap) : cap_(cap) {}

  // Appends a piece. `announced`: the size of the message according to its frame headers so far
  // (not less than the arrived bytes, not more than the cap). Returns false as soon as the text
  // cannot be UTF-8 (RFC 6455, 8.1).
  [[nodiscard]] bool append(std::string_view piece, size_t announced);
  // False if the text so far ends inside a character.
  [[nodiscard]] bool complete() const { return utf8_.complete(); }
  // Returns the text and starts again, empty.
  [[nodiscard]] std::string take();
  // Starts again, empty, and frees the memory.
  void clear();

  [[nodiscard]] size_t size() const { return text_.size(); }
  [[nodiscard]] size_t capacity() const { return text_.capacity(); }

 private:
  void reserve(size_t needed, size_t announced);

  size_t cap_;
  std::string text_;
  utf8::Validator utf8_;
};

}  // namespace tap::ws
