#include "ws/text_buffer.h"

#include <algorithm>
#include <utility>

namespace tap::ws {
namespace {

// After this much of a message, memory for the announced rest is reserved.
constexpr size_t kBelievedFrom = size_t{64} * 1024;

}  // namespace

bool TextBuffer::append(std::string_view piece, size_t announced) {
  if (!utf8_.feed(piece)) return false;
  reserve(text_.size() + piece.size(), announced);
  text_.append(piece);
  return true;
}

void TextBuffer::reserve(size_t needed, size_t announced) {
  if (needed <= text_.capacity()) return;
  size_t room = std::max(needed, std::min(2 * needed, cap_));
  if (needed >= kBelievedFrom) room = std::max(room, announced);
  // Not text_.reserve(): that may double the capacity past the cap.
  std::string grown;
  grown.reserve(room);
  grown.append(text_);
  text_ = std::move(grown);
}

std::string TextBuffer::take() {
  utf8_.reset();
  return std::exchange(text_, {});
}

void TextBuffer::clear() {
  std::string().swap(text_);  // clear() and assignment may keep the memory
  utf8_.reset();
}

}  // namespace tap::ws
