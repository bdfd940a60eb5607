// A queue of deadlines: a binary heap with handles, so that cancelling costs O(log n) and frees the
// entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"

namespace tap {

// A handle is never reused for a different timer. 0 is no timer.
enum class TimerId : uint64_t { None = 0 };

// `Payload` describes the timer; it is moved out when the timer is due. Timers due at the same time
// are returned in the order in which they were scheduled.
template <class Payload>
class TimerQueue {
 public:
  TimerId schedule(Time at, Payload payload);
  // Returns false if the timer has fired or was cancelled before.
  bool cancel(TimerId id);
  // The next payload that is due, if any.
  [[nodiscard]] std::optional<Payload> popDue(Time now);
  // The time of the next timer.
  [[nodiscard]] std::optional<Time> next() const;
  [[nodiscard]] size_t size() const { return heap_.size(); }

 private:
  struct Entry {
    Time at;
    uint64_t order;  // of scheduling: decides between equal times
    uint32_t slot;

    [[nodiscard]] bool before(const Entry& other) const {
      return at != other.at ? at < other.at : order < other.order;
    }
  };

  // The target of a handle. It stays in place while its entry moves in the heap. The generation
  // distinguishes the successive timers of a slot.
  struct Slot {
    uint32_t generation = 1;
    size_t position = 0;  // in the heap
    std::optional<Payload> payload;
  };

  [[nodiscard]] uint32_t takeSlot();
  [[nodiscard]] Payload release(uint32_t slot);
  [[nodiscard]] Payload remove(size_t position);
  void place(size_t position, const Entry& entry);
  void siftUp(size_t position);
  void siftDown(size_t position);

  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;  // slots without a timer
  uint64_t scheduled_ = 0;
};

template <class Payload>
TimerId TimerQueue<Payload>::schedule(Time at, Payload payload) {
  const uint32_t slot = takeSlot();
  slots_[slot].payload.emplace(std::move(payload));
  slots_[slot].position = heap_.size();
  heap_.push_back({at, scheduled_++, slot});
  siftUp(heap_.size() - 1);
  return static_cast<TimerId>(uint64_t{slots_[slot].generation} << 32 | slot);
}

template <class Payload>
bool TimerQueue<Payload>::cancel(TimerId id) {
  const auto handle = static_cast<uint64_t>(id);
  const auto slot = static_cast<uint32_t>(handle);
  if (slot >= slots_.size() || slots_[slot].generation != handle >> 32) return false;
  if (!slots_[slot].payload) return false;
  (void)remove(slots_[slot].position);
  return true;
}

template <class Payload>
std::optional<Payload> TimerQueue<Payload>::popDue(Time now) {
  if (heap_.empty() || heap_.front().at > now) return std::nullopt;
  return remove(0);
}

template <class Payload>
std::optional<Time> TimerQueue<Payload>::next() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().at;
}

template <class Payload>
uint32_t TimerQueue<Payload>::takeSlot() {
  if (free_.empty()) {
    slots_.emplace_back();
    return static_cast<uint32_t>(slots_.size() - 1);
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

// A slot whose generations are used up is not used again, so that no handle is reused.
template <class Payload>
Payload TimerQueue<Payload>::release(uint32_t slot) {
  Payload payload = std::move(*slots_[slot].payload);
  slots_[slot].payload.reset();
  if (slots_[slot].generation != std::numeric_limits<uint32_t>::max()) {
    ++slots_[slot].generation;
    free_.push_back(slot);
  }
  return payload;
}

template <class Payload>
Payload TimerQueue<Payload>::remove(size_t position) {
  const uint32_t slot = heap_[position].slot;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (position < heap_.size()) {
    place(position, last);
    siftUp(position);
    siftDown(slots_[last.slot].position);
  }
  return release(slot);
}

template <class Payload>
void TimerQueue<Payload>::place(size_t position, const Entry& entry) {
  heap_[position] = entry;
  slots_[entry.slot].position = position;
}

template <class Payload>
void TimerQueue<Payload>::siftUp(size_t position) {
  const Entry entry = heap_[position];
  while (position > 0) {
    const size_t parent = (position - 1) / 2;
    if (!entry.before(heap_[parent])) break;
    place(position, heap_[parent]);
    position = parent;
  }
  place(position, entry);
}

template <class Payload>
void TimerQueue<Payload>::siftDown(size_t position) {
  const Entry entry = heap_[position];
  for (;;) {
    size_t child = 2 * position + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1].before(heap_[child])) ++child;
    if (!heap_[child].before(entry)) break;
    place(position, heap_[child]);
    position = child;
  }
  place(position, entry);
}

}  // namespace tap
