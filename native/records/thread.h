// A thread for background work.
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
  // thread was created.
  [[nodiscard]] bool start(std::function<void()> body);
  [[nodiscard]] bool started() const { return running_ != nullptr; }
  void join();

  // Lowers the priority of the calling thread, if the system supports that.
  static void lowerPriority();

 private:
  struct Running;
  std::unique_ptr<Running> running_;
};

}  // namespace tap::records
