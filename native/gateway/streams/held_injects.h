// Injects that may not be sent yet: one that must be recorded first, and those behind it.
#pragma once

#include <cstdint>
#include <deque>

#include "base/timer_queue.h"
#include "gateway/streams/push_budget.h"

namespace tap::gateway {

struct HeldInject {
  PendingInject inject;
  uint64_t number = 0;  // of its record; 0: it only waits for those before it
  TimerId deadline = TimerId::None;
};
// Of one session, in the order in which they will be sent.
using HeldInjects = std::deque<HeldInject>;

}  // namespace tap::gateway
