// How much one provider may push to one session (specification v2, "Push loop prevention").
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "base/limits.h"
#include "base/time.h"

namespace tap::gateway {

class PushBudget {
 public:
  // Counts one push; false if there were too many in the last second.
  [[nodiscard]] bool take(const Limits& limits, Time now);

  // What becomes of an inject.
  enum class Inject : uint8_t { Send, Wait, Refuse };
  // `prompt` is kept where it has to wait. Only one is under way until the session is idle.
  [[nodiscard]] Inject inject(std::string prompt, const Limits& limits);
  // True once, when this provider has just been paused: it has had its answers in a row.
  [[nodiscard]] bool takePauseNotice();

  // The session is idle: the inject under way has been answered. The next one to send, if any.
  [[nodiscard]] std::string idle(const Limits& limits);
  // The session's process is gone: whatever was under way will not be answered.
  void interrupted() { underWay_ = false; }
  // The user has spoken: the loop, if it was one, is broken.
  void userHasSpoken();

  [[nodiscard]] size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] size_t waitingBytes() const;

 private:
  [[nodiscard]] bool mayInject(const Limits& limits);

  std::deque<Time> recent_;  // pushes of the last second
  std::deque<std::string> waiting_;
  bool underWay_ = false;
  bool paused_ = false;
  bool pauseNotice_ = false;
  int64_t cycles_ = 0;  // injects answered since the user last spoke
};

}  // namespace tap::gateway
