// Wakes a thread that sleeps until there is something for it to do.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace tap::records {

class WakeSignal {
 public:
  // From any thread. A ring that nobody waits for is kept for the next wait.
  void notify() {
    {
      const std::lock_guard lock(mutex_);
      notified_ = true;
    }
    wakes_.notify_one();
  }
  // Until it rings.
  void wait() {
    // A wait without an end would need a newer libstdc++ than the addon may need.
    while (!wait(std::chrono::hours(24))) {
    }
  }
  // Until it rings, or for that long. Returns: whether it rang.
  bool wait(std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    const bool rang = wakes_.wait_for(lock, most, [this] { return notified_; });
    notified_ = false;
    return rang;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wakes_;
  bool notified_ = false;
};

}  // namespace tap::records
