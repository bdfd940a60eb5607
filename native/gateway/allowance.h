// A token bucket: how many unasked-for messages a provider may send before it is read more slowly.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace tap::gateway {

class Allowance {
 public:
  Allowance(int64_t burst, int64_t perSecond)
      : burst_(burst), perSecond_(perSecond), left_(burst) {}

  // Takes one; false if none is left now.
  bool take(Time now) {
    refill(now);
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }
  // How long until half the burst is there again.
  [[nodiscard]] Millis untilHalf() const {
    const int64_t missing = std::max<int64_t>(burst_ / 2 - left_, 1);
    return Millis(missing * 1000 / perSecond_ + 1);
  }

 private:
  void refill(Time now) {
    if (!started_) last_ = now;
    started_ = true;
    const int64_t gained = (now - last_).count() * perSecond_ / 1000;
    if (gained <= 0) return;
    left_ = std::min(burst_, left_ + gained);
    last_ = now;
  }

  int64_t burst_;
  int64_t perSecond_;
  int64_t left_;
  Time last_{};
  bool started_ = false;
};

}  // namespace tap::gateway
