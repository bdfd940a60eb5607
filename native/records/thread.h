// A thread for work that nobody waits for.
#pragma once

#include <functional>
#include <memory>

namespace tap::records {

class Thread {
 public:
  Thread();
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread();  // REQUIRES: it was joined, or never started

  // Runs `body` on a new thread, with a small stack and without signals. Returns: whether the
  // system gave one.
  [[nodiscard]] bool start(std::function<void()> body);
  [[nodiscard]] bool started() const { return running_ != nullptr; }
  void join();

  // The calling thread gives way to others from now on, as far as the system knows that.
  static void lowerPriority();

 private:
  struct Running;
  std::unique_ptr<Running> running_;
};

}  // namespace tap::records
