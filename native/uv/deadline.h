// The time, and the one timer of a loop's owner, which fires when the core's next deadline is due.
#pragma once

#include <uv.h>

#include <functional>
#include <optional>

#include "base/time.h"

namespace tap::uv {

// The loop's own monotonic time, and the wall clock for people, which is read once for each time
// that the loop has.
class Clock {
 public:
  explicit Clock(uv_loop_t* loop) : loop_(loop) {}
  [[nodiscard]] Now now();
  // For what JavaScript calls: the loop's time is of before it ran, which may be seconds ago, and a
  // deadline that is counted from then is too early.
  [[nodiscard]] Now fresh();
  [[nodiscard]] Time steady() const;

 private:
  uv_loop_t* loop_;
  std::optional<Now> last_;
};

class Deadline {
 public:
  // `ring` is called on the loop, perhaps with nothing due, and sets the timer again. It must not
  // destroy the Deadline.
  Deadline(uv_loop_t* loop, std::function<void()> ring);
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline();

  // Rings no later than then. Where it is to ring earlier already it still does: most deadlines
  // are gone before they are due, and need not cost the loop's timer a change each.
  void set(std::optional<Time> at);
  // Does not ring any more, until it is set.
  void stop();

 private:
  struct Handle {
    uv_timer_t timer{};
    std::function<void()> ring;
    std::optional<Time> at;
  };
  Handle* handle_;  // outlives this object until libuv has closed it
};

}  // namespace tap::uv
