// A token bucket: how many unasked-for messages a provider may send before it is read more slowly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace tap::gateway {

class Allowance {
 public:
  Allowance(int64_t burst, int64_t perSecond)
      : most_(burst * kToken), perSecond_(perSecond), left_(most_) {}

  // Takes one; false if none is left now.
  bool take(Time now) {
    refill(now);
    if (left_ < kToken) return false;
    left_ -= kToken;
    return true;
  }
  [[nodiscard]] bool has(Time now) {
    refill(now);
    return left_ >= kToken;
  }
  // Takes so many, whether they are there or not: the next ones come that much later.
  void charge(int64_t many) { left_ -= many * kToken; }
  [[nodiscard]] bool isWhole(Time now) {
    refill(now);
    return left_ >= most_;
  }
  // How long until half the burst is there again.
  [[nodiscard]] Millis untilHalf() const {
    return Millis(std::max(most_ / 2 - left_, kToken) / perSecond_ + 1);
  }

 private:
  // In thousandths, so that a millisecond brings a whole number of them.
  static constexpr int64_t kToken = 1000;

  void refill(Time now) {
    if (last_ && now > *last_) {
      const int64_t elapsed = (now - *last_).count();
      // Divided, since after a long silence the product might be too large.
      const bool full = elapsed > (most_ - left_) / perSecond_;
      left_ = full ? most_ : left_ + elapsed * perSecond_;
    }
    last_ = now;
  }

  int64_t most_;
  int64_t perSecond_;
  int64_t left_;
  std::optional<Time> last_;
};

}  // namespace tap::gateway
