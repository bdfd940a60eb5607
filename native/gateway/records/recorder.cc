#include "gateway/records/recorder.h"

namespace tap::gateway {

std::shared_ptr<RowBox> Recorder::take() {
  if (next_ >= boxes_.size()) next_ = 0;
  // The oldest box is free, as a rule: rows are handed over in the order in which they are made.
  if (next_ < boxes_.size() && boxes_[next_].use_count() == 1) {
    std::shared_ptr<RowBox> box = boxes_[next_++];
    static_cast<protocol::Row&>(*box) = {};
    box->text.clear();
    return box;
  }
  auto box = std::make_shared<RowBox>();
  if (boxes_.size() < kKept) {
    boxes_.insert(boxes_.begin() + static_cast<std::ptrdiff_t>(next_), box);
    ++next_;
  }
  return box;
}

}  // namespace tap::gateway
