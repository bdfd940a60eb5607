// Providers may limit how many of their calls run at once (hello.concurrency). CallQueue counts the
// slots that are taken of each limit, and keeps the calls that wait for one.
//
// A key names the calls that share a limit. Calls wait only while a slot of their key is taken, so
// that there is always a slot to be released for them.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/timer_queue.h"
#include "gateway/core/effects.h"

namespace tap::gateway {

// The slot of a call that was cancelled. It is held until the provider has answered the cancel, or
// `timer` is due (docs/decisions.md D-15).
struct HeldSlot {
  std::string key;
  PeerId provider{};
  TimerId timer = TimerId::None;
};

class CallQueue {
 public:
  // Whether one of `slots` is free. While calls wait, no slot is.
  [[nodiscard]] bool isFree(const std::string& key, size_t slots) const;
  void acquire(const std::string& key) { ++queues_[key].taken; }
  // Releases one slot. Returns: whether a call waits for it.
  [[nodiscard]] bool release(const std::string& key);

  [[nodiscard]] size_t waiting(const std::string& key) const;  // number of calls
  void enqueue(const std::string& key, const CallId& callId, size_t slots);
  void remove(const std::string& key, const CallId& callId);
  // Takes a slot for the first call that waits, and returns that call. Nothing if no slot is free.
  [[nodiscard]] std::optional<CallId> next(const std::string& key);

  void hold(const CallId& callId, HeldSlot slot);
  [[nodiscard]] const HeldSlot* held(const CallId& callId) const;
  [[nodiscard]] std::optional<HeldSlot> releaseHeld(const CallId& callId);
  [[nodiscard]] std::vector<HeldSlot> releaseAllHeld(PeerId provider);

  [[nodiscard]] bool empty() const { return queues_.empty() && held_.empty(); }

 private:
  struct Waiting {
    CallId callId;
    size_t slots;  // the limit that its provider has declared
  };
  struct Queue {
    size_t taken = 0;
    std::deque<Waiting> waiting;
  };
  std::unordered_map<std::string, Queue> queues_;
  std::unordered_map<CallId, HeldSlot, UuidHash> held_;
};

}  // namespace tap::gateway
