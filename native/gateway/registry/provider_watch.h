// Providers that keep a call or a gate waiting: are they slow, or do they hang? While something
// waits, and only then, they are pinged with WebSocket control frames, which their program answers
// unless it is stopped or its event loop is blocked.
//
// A call costs nothing but the look whether a timer runs: one timer for all of them.
#pragma once

#include <optional>

#include "gateway/core/turn.h"

namespace tap::gateway {

// Something waits for a provider from now on.
inline void watchProviders(const Turn& turn) {
  TimerId& timer = turn.state.watchTimer;
  if (timer == TimerId::None) timer = turn.schedule(Limit::ProviderPingMs, WatchDue{});
}

// The timer is due: pings providers that keep a request waiting, and reports those that hang to
// their sessions.
void checkProviders(const Turn& turn);

// How a provider keeps others waiting.
struct Delay {
  size_t calls = 0;                       // that it has, and has not answered
  std::optional<Time> oldest = {};        // since when the oldest of them waits
  std::optional<Millis> unanswered = {};  // age of a ping without an answer: it hangs

  [[nodiscard]] Millis waited(Time now) const {
    return oldest ? std::chrono::duration_cast<Millis>(now - *oldest) : Millis(0);
  }
};
[[nodiscard]] Delay measureDelay(const Turn& turn, const Provider& provider);

}  // namespace tap::gateway
