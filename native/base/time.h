// Time is an argument: the core reads no clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace tap {

using Millis = std::chrono::milliseconds;

// Monotonic time since an arbitrary start, as the event loop counts it.
struct LoopClock {
  using rep = int64_t;
  using period = std::milli;
  using duration = Millis;
  using time_point = std::chrono::time_point<LoopClock>;
  static constexpr bool is_steady = true;
};
using Time = LoopClock::time_point;

// The time of an input to the core.
struct Now {
  Time steady;           // for deadlines
  int64_t unixMillis{};  // for people: stream entries and logs
};

}  // namespace tap
