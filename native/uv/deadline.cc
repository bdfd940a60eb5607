#include "uv/deadline.h"

#include <algorithm>
#include <utility>

namespace tap::uv {

Now now(uv_loop_t* loop) {
  uv_timeval64_t wall{};
  uv_gettimeofday(&wall);
  return {Time(Millis(static_cast<int64_t>(uv_now(loop)))),
          wall.tv_sec * 1000 + wall.tv_usec / 1000};
}

Deadline::Deadline(uv_loop_t* loop, std::function<void()> ring)
    : handle_(new Handle{{}, std::move(ring), {}}) {
  uv_timer_init(loop, &handle_->timer);
  handle_->timer.data = handle_;
  // A deadline alone is no reason to keep a process alive: its sockets are.
  uv_unref(reinterpret_cast<uv_handle_t*>(&handle_->timer));
}

Deadline::~Deadline() {
  handle_->ring = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(&handle_->timer),
           [](uv_handle_t* handle) { delete static_cast<Handle*>(handle->data); });
}

void Deadline::set(std::optional<Time> at) {
  if (at == handle_->at) return;
  handle_->at = at;
  if (!at) {
    uv_timer_stop(&handle_->timer);
    return;
  }
  const auto due = static_cast<uint64_t>(std::max<int64_t>(at->time_since_epoch().count(), 0));
  const uint64_t current = uv_now(handle_->timer.loop);
  uv_timer_start(
      &handle_->timer,
      [](uv_timer_t* timer) {
        auto* handle = static_cast<Handle*>(timer->data);
        handle->at.reset();
        if (handle->ring) handle->ring();
      },
      due > current ? due - current : 0, 0);
}

}  // namespace tap::uv
