// The one timer of a loop's owner: rings when the core's next deadline is due.
#pragma once

#include <uv.h>

#include <functional>
#include <optional>

#include "base/time.h"

namespace tap::uv {

// The loop's own monotonic time, and the wall clock for people.
[[nodiscard]] Now now(uv_loop_t* loop);

class Deadline {
 public:
  // `ring` is called on the loop. It must not destroy the Deadline.
  Deadline(uv_loop_t* loop, std::function<void()> ring);
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline();

  // Rings then instead of whenever it was to; never, where there is nothing to wait for.
  void set(std::optional<Time> at);

 private:
  struct Handle {
    uv_timer_t timer{};
    std::function<void()> ring;
    std::optional<Time> at;
  };
  Handle* handle_;  // outlives this object until libuv has closed it
};

}  // namespace tap::uv
