// Runs at the end of an iteration of the event loop: after its events, before it waits for more.
#pragma once

#include <uv.h>

#include <functional>

namespace tap::uv {

class FlushScheduler {
 public:
  // `run` is called on the loop. It must not destroy the FlushScheduler.
  FlushScheduler(uv_loop_t* loop, std::function<void()> run);
  FlushScheduler(const FlushScheduler&) = delete;
  FlushScheduler& operator=(const FlushScheduler&) = delete;
  ~FlushScheduler();

  // Runs it once, however often this is called until then.
  void request();
  // Cancels the request.
  void stop();

 private:
  struct Handles {
    uv_check_t afterEvents{};
    uv_prepare_t beforeWaiting{};  // for iterations with timers or JavaScript only
    std::function<void()> run;
    bool requested = false;
    int open = 2;
  };
  static void fire(Handles& handles);
  static void stop(Handles& handles);

  Handles* handles_;  // outlives this object until libuv has closed both
};

}  // namespace tap::uv
