// The end of the event loop's turn: after the events that it found, and before it waits for more.
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
  // Not any more, until it is requested again.
  void stop();

 private:
  struct Handles {
    uv_check_t afterEvents{};
    uv_prepare_t beforeWaiting{};  // where no event asked, but a timer or JavaScript
    std::function<void()> run;
    bool requested = false;
    int open = 2;
  };
  static void fire(Handles& handles);
  static void stop(Handles& handles);

  Handles* handles_;  // outlives this object until libuv has closed both
};

}  // namespace tap::uv
