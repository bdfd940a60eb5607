#include "uv/deadline.h"

#include <algorithm>
#include <utility>

namespace tap::uv {

Time Clock::steady() const {
  return Time(Millis(static_cast<int64_t>(uv_now(loop_))));
}

Now Clock::now() {
  const Time time = steady();
  if (last_ && last_->steady == time) return *last_;
  uv_timeval64_t wall{};
  uv_gettimeofday(&wall);
  last_ = Now{time, wall.tv_sec * 1000 + wall.tv_usec / 1000};
  return *last_;
}

Now Clock::fresh() {
  uv_update_time(loop_);
  return now();
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
  if (!at || (handle_->at && *handle_->at <= *at)) return;
  handle_->at = at;
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

void Deadline::stop() {
  handle_->at.reset();
  uv_timer_stop(&handle_->timer);
}

}  // namespace tap::uv
