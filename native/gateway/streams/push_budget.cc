#include "gateway/streams/push_budget.h"

#include <algorithm>
#include <utility>

namespace tap::gateway {

namespace {
constexpr Millis kSecond{1000};
const std::string kShared = "shared";  // the key of accounts for which there was no room
}  // namespace

bool TurnCount::mayStart(const Limits& limits) {
  if (started_ < limits.get(Limit::SessionInjectCycles)) return true;
  if (!std::exchange(paused_, true)) pauseNotice_ = true;
  return false;
}

bool TurnCount::takePauseNotice() {
  return std::exchange(pauseNotice_, false);
}

bool PushBudget::take(const Limits& limits, Time now) {
  while (!recent_.empty() && now - recent_.front() >= kSecond) recent_.pop_front();
  if (recent_.size() >= limits.count(Limit::PushesPerSecond)) return false;
  recent_.push_back(now);
  return true;
}

bool PushBudget::mayInject(const PendingInject& inject, TurnCount& turns, const Limits& limits) {
  if (inject.cause == protocol::Cause::None && cycles_ >= limits.get(Limit::InjectCycles)) {
    if (!std::exchange(paused_, true)) pauseNotice_ = inject.provider;
    return false;
  }
  if (underWay_ != UnderWay::None) return false;
  return inject.cause == protocol::Cause::User || turns.mayStart(limits);
}

void PushBudget::begin(const PendingInject& inject, TurnCount& turns) {
  underWay_ = inject.trusted ? UnderWay::Recording : UnderWay::Sent;
  counts_ = !inject.isScheduled && inject.cause == protocol::Cause::None;
  countsTurn_ = !inject.isScheduled && inject.cause != protocol::Cause::User;
  if (countsTurn_) turns.start();
}

void PushBudget::sent() {
  if (underWay_ == UnderWay::Recording) underWay_ = UnderWay::Sent;
}

bool PushBudget::notSent(TurnCount& turns) {
  if (underWay_ != UnderWay::Recording) return false;
  underWay_ = UnderWay::None;
  if (countsTurn_) turns.undoStart();
  return true;
}

void PushBudget::endTurn() {
  if (underWay_ != UnderWay::Sent) return;
  underWay_ = UnderWay::None;
  if (counts_) ++cycles_;
}

PushBudget::Inject PushBudget::inject(PendingInject& inject, TurnCount& turns,
                                      const Limits& limits) {
  if (inject.isScheduled) {
    if (underWay_ != UnderWay::None) return Inject::Refuse;
    begin(inject, turns);
    return Inject::Send;
  }
  // Paused injects do not hold back watchers.
  const bool isNext = waiting_.empty() || inject.cause != protocol::Cause::None;
  if (isNext && mayInject(inject, turns, limits)) {
    begin(inject, turns);
    return Inject::Send;
  }
  if (const auto former = findWaiting(inject.account, inject.key); former != waiting_.end()) {
    *former = std::move(inject);
    return Inject::Replace;
  }
  if (waiting_.size() >= limits.count(Limit::HeldInjects)) return Inject::Refuse;
  waiting_.push_back(std::move(inject));
  return Inject::Wait;
}

std::deque<PendingInject>::iterator PushBudget::findWaiting(std::string_view account,
                                                            std::string_view key) {
  return std::find_if(waiting_.begin(), waiting_.end(), [&](const PendingInject& inject) {
    return !key.empty() && inject.key == key && inject.account == account;
  });
}

bool PushBudget::withdraw(std::string_view account, std::string_view key) {
  const auto found = findWaiting(account, key);
  if (found == waiting_.end()) return false;
  waiting_.erase(found);
  return true;
}

std::optional<std::string> PushBudget::takePauseNotice() {
  return std::exchange(pauseNotice_, std::nullopt);
}

std::optional<PendingInject> PushBudget::idle(TurnCount& turns, const Limits& limits) {
  endTurn();
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& inject) {
    return mayInject(inject, turns, limits);
  });
  if (found == waiting_.end()) return std::nullopt;
  PendingInject next = std::move(*found);
  waiting_.erase(found);
  begin(next, turns);
  return next;
}

void PushBudget::dropWaiting(std::string_view token) {
  std::erase_if(waiting_, [&](const PendingInject& inject) { return inject.token == token; });
}

void PushBudget::interrupted() {
  endTurn();
}

void PushBudget::userHasSpoken() {
  cycles_ = 0;
  paused_ = false;
  pauseNotice_.reset();
}

bool PushBudget::isFresh(Time now) const {
  const bool calm = recent_.empty() || now - recent_.back() >= kSecond;
  return calm && waiting_.empty() && underWay_ == UnderWay::None && cycles_ == 0;
}

const std::string& PushBudgets::budgetKey(const std::string& account) const {
  const auto alias = aliases_.find(account);
  return alias == aliases_.end() ? account : alias->second;
}

PushBudget& PushBudgets::of(const std::string& account, Time now) {
  const std::string& key = budgetKey(account);
  if (const auto at = budgets_.find(key); at != budgets_.end()) return at->second;
  if (budgets_.size() >= kMaxAccounts) prune(now);
  return budgets_[budgets_.size() < kMaxAccounts ? account : kShared];
}

void PushBudgets::follow(const std::string& former, const std::string& account, Time now) {
  const std::string key = budgetKey(former);
  if (key == account || !budgets_.contains(key) || budgets_.contains(budgetKey(account))) return;
  if (aliases_.size() >= kMaxAccounts) prune(now);
  // Where there is no room the new name shares with all the others: that is not more than it had.
  aliases_[account] = aliases_.size() < kMaxAccounts ? key : kShared;
}

void PushBudgets::dropWaiting(std::string_view token) {
  for (auto& [key, budget] : budgets_) budget.dropWaiting(token);
}

void PushBudgets::interrupted() {
  for (auto& [key, budget] : budgets_) budget.interrupted();
}

void PushBudgets::userHasSpoken(Time now) {
  turns.reset();
  for (auto& [key, budget] : budgets_) budget.userHasSpoken();
  prune(now);
}

std::vector<PendingInject> PushBudgets::idle(
    const Limits& limits, const std::function<void(const std::string&)>& paused) {
  std::vector<PendingInject> next;
  for (auto& [key, budget] : budgets_) {
    if (auto inject = budget.idle(turns, limits)) next.push_back(std::move(*inject));
    if (const auto provider = budget.takePauseNotice()) paused(*provider);
  }
  return next;
}

std::vector<const PendingInject*> PushBudgets::waiting() const {
  std::vector<const PendingInject*> all;
  for (const auto& [key, budget] : budgets_) {
    for (const PendingInject& inject : budget.injects()) all.push_back(&inject);
  }
  return all;
}

size_t PushBudgets::maxWaiting() const {
  size_t most = 0;
  for (const auto& [key, budget] : budgets_) most = std::max(most, budget.waiting());
  return most;
}

void PushBudgets::prune(Time now) {
  std::erase_if(budgets_, [&](const auto& entry) { return entry.second.isFresh(now); });
  std::erase_if(aliases_, [&](const auto& entry) { return !budgets_.contains(entry.second); });
}

}  // namespace tap::gateway
