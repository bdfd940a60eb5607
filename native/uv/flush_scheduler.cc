#include "uv/flush_scheduler.h"

#include <utility>

namespace tap::uv {

FlushScheduler::FlushScheduler(uv_loop_t* loop, std::function<void()> run) : handles_(new Handles) {
  handles_->run = std::move(run);
  uv_check_init(loop, &handles_->afterEvents);
  uv_prepare_init(loop, &handles_->beforeWaiting);
  handles_->afterEvents.data = handles_->beforeWaiting.data = handles_;
  // Pending output does not keep the process alive; its sockets do.
  uv_unref(reinterpret_cast<uv_handle_t*>(&handles_->afterEvents));
  uv_unref(reinterpret_cast<uv_handle_t*>(&handles_->beforeWaiting));
}

FlushScheduler::~FlushScheduler() {
  handles_->run = nullptr;
  const auto closed = [](uv_handle_t* handle) {
    auto* handles = static_cast<Handles*>(handle->data);
    if (--handles->open == 0) delete handles;
  };
  uv_close(reinterpret_cast<uv_handle_t*>(&handles_->afterEvents), closed);
  uv_close(reinterpret_cast<uv_handle_t*>(&handles_->beforeWaiting), closed);
}

void FlushScheduler::request() {
  if (std::exchange(handles_->requested, true)) return;
  uv_check_start(&handles_->afterEvents,
                 [](uv_check_t* handle) { fire(*static_cast<Handles*>(handle->data)); });
  uv_prepare_start(&handles_->beforeWaiting,
                   [](uv_prepare_t* handle) { fire(*static_cast<Handles*>(handle->data)); });
}

void FlushScheduler::stop() {
  stop(*handles_);
}

void FlushScheduler::stop(Handles& handles) {
  handles.requested = false;
  uv_check_stop(&handles.afterEvents);
  uv_prepare_stop(&handles.beforeWaiting);
}

void FlushScheduler::fire(Handles& handles) {
  stop(handles);
  if (handles.run) handles.run();
}

}  // namespace tap::uv
