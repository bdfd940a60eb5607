// Slice: read-only bytes together with whatever keeps them alive.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tap {

// Copying a Slice copies a pointer, never the bytes. A Slice whose owner is null *borrows*: its
// bytes live only as long as the call that passed it lasts; keep() turns it into one that may stay.
class Slice {
 public:
  Slice() = default;
  // Takes the text over and shares it from now on.
  explicit Slice(std::string text)
      : owner_(std::make_shared<const std::string>(std::move(text))), view_(*owner_) {}
  Slice(std::shared_ptr<const std::string> owner, std::string_view view)
      : owner_(std::move(owner)), view_(view) {}

  [[nodiscard]] static Slice borrow(std::string_view view) { return {nullptr, view}; }

  [[nodiscard]] std::string_view view() const { return view_; }
  [[nodiscard]] size_t size() const { return view_.size(); }
  [[nodiscard]] bool empty() const { return view_.empty(); }
  [[nodiscard]] bool borrowed() const { return owner_ == nullptr && !view_.empty(); }

  // A part of these bytes with the same owner. `part` must lie inside view().
  [[nodiscard]] Slice part(std::string_view part) const { return {owner_, part}; }

  // The same bytes, safe to store: itself where it has an owner, a copy where it borrows.
  [[nodiscard]] Slice keep() const { return borrowed() ? Slice(std::string(view_)) : *this; }

 private:
  std::shared_ptr<const std::string> owner_;
  std::string_view view_;
};

}  // namespace tap
