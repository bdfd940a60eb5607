#include "gateway/push_budget.h"

#include <utility>

namespace tap::gateway {

namespace {
constexpr Millis kSecond{1000};
}  // namespace

bool PushBudget::take(const Limits& limits, Time now) {
  while (!recent_.empty() && now - recent_.front() >= kSecond) recent_.pop_front();
  if (recent_.size() >= limits.count(Limit::PushesPerSecond)) return false;
  recent_.push_back(now);
  return true;
}

bool PushBudget::mayInject(const Limits& limits) {
  if (cycles_ >= limits.get(Limit::InjectCycles)) {
    if (!std::exchange(paused_, true)) pauseNotice_ = true;
    return false;
  }
  return !underWay_;
}

PushBudget::Inject PushBudget::inject(std::string prompt, const Limits& limits) {
  if (waiting_.empty() && mayInject(limits)) {
    underWay_ = true;
    return Inject::Send;
  }
  if (waiting_.size() >= limits.count(Limit::HeldInjects)) return Inject::Refuse;
  waiting_.push_back(std::move(prompt));
  return Inject::Wait;
}

bool PushBudget::takePauseNotice() {
  return std::exchange(pauseNotice_, false);
}

std::string PushBudget::idle(const Limits& limits) {
  if (std::exchange(underWay_, false)) ++cycles_;
  if (waiting_.empty() || !mayInject(limits)) return {};
  underWay_ = true;
  std::string next = std::move(waiting_.front());
  waiting_.pop_front();
  return next;
}

size_t PushBudget::waitingBytes() const {
  size_t bytes = 0;
  for (const std::string& prompt : waiting_) bytes += prompt.size();
  return bytes;
}

void PushBudget::userHasSpoken() {
  cycles_ = 0;
  paused_ = false;
  pauseNotice_ = false;
}

}  // namespace tap::gateway
