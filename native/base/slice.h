// Slice: read-only bytes together with their owner.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tap {

// Copying a Slice copies a pointer, never the bytes. A Slice whose owner is null *borrows*: its
// bytes are valid only during the call that passed it; keep() makes a Slice that may be stored.
class Slice {
 public:
  Slice() = default;
  // Moves the text into shared memory.
  explicit Slice(std::string text) {
    const auto owner = std::make_shared<std::string>(std::move(text));
    view_ = *owner;
    owner_ = owner;
  }
  [[nodiscard]] static Slice borrow(std::string_view view) { return {nullptr, view}; }
  // A copy of the bytes in its own memory.
  [[nodiscard]] static Slice copy(std::string_view view) {
    const auto owner = std::make_shared_for_overwrite<char[]>(view.size());
    std::copy(view.begin(), view.end(), owner.get());
    return {owner, {owner.get(), view.size()}};
  }

  [[nodiscard]] std::string_view view() const { return view_; }
  [[nodiscard]] size_t size() const { return view_.size(); }
  [[nodiscard]] bool empty() const { return view_.empty(); }
  [[nodiscard]] bool borrowed() const { return owner_ == nullptr && !view_.empty(); }

  // The concatenation of these texts, in its own memory.
  [[nodiscard]] static Slice joined(std::initializer_list<std::string_view> texts) {
    size_t size = 0;
    for (const std::string_view text : texts) size += text.size();
    const auto owner = std::make_shared_for_overwrite<char[]>(size);
    char* out = owner.get();
    for (const std::string_view text : texts) out = std::copy(text.begin(), text.end(), out);
    return {owner, {owner.get(), size}};
  }

  // A part of these bytes with the same owner. REQUIRES: `part` lies inside view().
  [[nodiscard]] Slice part(std::string_view part) const { return {owner_, part}; }

  // The same bytes, safe to store: itself if it has an owner, otherwise a copy.
  [[nodiscard]] Slice keep() const { return borrowed() ? copy(view_) : *this; }

  // The same bytes, writable, if this Slice is their only owner. Empty if they are borrowed, or a
  // further Slice has the same owner.
  [[nodiscard]] std::span<char> exclusive() {
    if (owner_.use_count() != 1) return {};
    return {const_cast<char*>(view_.data()), view_.size()};  // no owner's bytes are constant
  }

 private:
  Slice(std::shared_ptr<const void> owner, std::string_view view)
      : owner_(std::move(owner)), view_(view) {}

  std::shared_ptr<const void> owner_;
  std::string_view view_;
};

}  // namespace tap
