// Wakes a sleeping thread when it has work.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace tap::records {

class WakeSignal {
 public:
  // From any thread. Without a waiting thread, the signal stays for the next wait.
  void notify() {
    {
      const std::lock_guard lock(mutex_);
      notified_ = true;
    }
    wakes_.notify_one();
  }
  // Waits for the signal.
  void wait() {
    // A wait without a limit would need a newer libstdc++ than the addon may require.
    while (!wait(std::chrono::hours(24))) {
    }
  }
  // Waits for the signal, at most `most`. Returns: whether it came.
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
