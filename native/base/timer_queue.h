// One queue of deadlines: a binary heap with handles, so that cancelling costs O(log n) and leaves
// nothing behind.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"

namespace tap {

// A handle that never comes back for another timer. 0 is no timer.
enum class TimerId : uint64_t { None = 0 };

// `Payload` says what is due; it is moved out when it is. Timers due at the same time come out in
// the order in which they were scheduled.
template <class Payload>
class TimerQueue {
 public:
  TimerId schedule(Time at, Payload payload);
  // False if the timer has fired or was cancelled before.
  bool cancel(TimerId id);
  // The next payload whose time has come, if any.
  [[nodiscard]] std::optional<Payload> popDue(Time now);
  // When to look again.
  [[nodiscard]] std::optional<Time> next() const;
  [[nodiscard]] size_t size() const;
};

}  // namespace tap
