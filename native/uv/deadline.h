// The time, and the timer of a loop, which fires at the core's next deadline.
#pragma once

#include <uv.h>

#include <functional>
#include <optional>

#include "base/time.h"

namespace tap::uv {

// The loop's monotonic time, and the wall clock for people, read once per iteration of the loop.
class Clock {
 public:
  explicit Clock(uv_loop_t* loop) : loop_(loop) {}
  [[nodiscard]] Now now();
  // For calls from JavaScript: the loop's time is from before JavaScript ran, perhaps seconds ago,
  // so a deadline counted from it would be too early.
  [[nodiscard]] Now fresh();
  [[nodiscard]] Time steady() const;

 private:
  uv_loop_t* loop_;
  std::optional<Now> last_;
};

class Deadline {
 public:
  // `ring` is called on the loop, possibly before a deadline is due, and sets the timer again. It
  // must not destroy the Deadline.
  Deadline(uv_loop_t* loop, std::function<void()> ring);
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline();

  // Rings at `at` at the latest. An earlier ring stays: most deadlines are cancelled before they
  // are due, and changing the timer each time would be expensive.
  void set(std::optional<Time> at);
  // Stops it until the next set().
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
