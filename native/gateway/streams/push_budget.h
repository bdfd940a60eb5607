// How much a party may push to one session, and how many turns its injects may start
// (docs/decisions.md D-20). A budget belongs to an account (gateway/registry/party.h), not to a
// connection: no provider gets a new one by leaving, no paired one by another name, and a program
// of the user's takes its budget along when its connection says hello under another name. The user
// resets them by saying something.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/time.h"
#include "gateway/registry/retained_data_sums.h"
#include "protocol/provider/provider_messages.h"
#include "protocol/trace_context.h"

namespace tap::gateway {

// A prompt for the model, and the name of the provider that it comes from.
struct PendingInject {
  std::string provider;
  std::string prompt;
  std::string token = {};  // the provider's, if it has one of its own: it may be taken back
  RetainedDataShare retainedShare = {};  // while it waits
  bool trusted = false;                  // it is recorded before it is sent (injects.h)
  // A prompt of tap's own features: the user has set its bounds, so it counts as no answer in a
  // row. It does not wait.
  bool isScheduled = false;
  std::string account = {};
  std::string stream = {};
  protocol::TraceContext trace = {};  // with the span of the push
  Time pushed{};
  std::string display = {};  // the line of the timeline that stands for it
  std::string key = {};      // the next inject with this key replaces it while it waits
  bool immediate = false;    // it goes into the turn that runs, and starts none
  // Of a watcher, which counts its own turns in a row. Those about changes of the user's do not
  // count among the turns of the session.
  protocol::Cause cause = protocol::Cause::None;

  [[nodiscard]] size_t bytes() const {
    return sizeof(PendingInject) + provider.size() + prompt.size() + display.size() + key.size();
  }
};

// Turns that the injects of all providers of one session have started since the user spoke.
class TurnCount {
 public:
  [[nodiscard]] bool mayStart(const Limits& limits);
  void start() { ++started_; }
  void undoStart() { started_ -= started_ > 0 ? 1 : 0; }  // it has not started after all
  // True once after the limit was met.
  [[nodiscard]] bool takePauseNotice();
  void reset() { *this = {}; }

 private:
  int64_t started_ = 0;
  bool paused_ = false;
  bool pauseNotice_ = false;
};

// Of one account in one session.
class PushBudget {
 public:
  // Counts one push; false if there were too many in the last second.
  [[nodiscard]] bool take(const Limits& limits, Time now);

  // The verdict on an inject.
  enum class Inject : uint8_t { Send, Wait, Replace, Refuse };
  // It is taken where it has to wait. Only one is under way until the session is idle.
  [[nodiscard]] Inject inject(PendingInject& inject, TurnCount& turns, const Limits& limits);
  // The name of the provider that has just been paused: it has had its answers in a row.
  [[nodiscard]] std::optional<std::string> takePauseNotice();

  // The session is idle: the inject under way has been answered. The next one to send, if any.
  [[nodiscard]] std::optional<PendingInject> idle(TurnCount& turns, const Limits& limits);
  // Of an inject that had to be recorded first: it has left, or it will not. notSent returns:
  // whether its turn is free again.
  void sent();
  bool notSent(TurnCount& turns);
  // The session's process is gone. The turn under way still counts as started.
  void interrupted();
  // The user has typed a prompt, which ends a possible loop of injects and answers.
  void userHasSpoken();
  // Drops the waiting injects of providers with this token.
  void dropWaiting(std::string_view token);
  // Drops the waiting inject of this account with this key; false: it does not wait.
  bool withdraw(std::string_view account, std::string_view key);

  [[nodiscard]] size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] const std::deque<PendingInject>& injects() const { return waiting_; }
  // Whether a new budget would be the same.
  [[nodiscard]] bool isFresh(Time now) const;

 private:
  [[nodiscard]] bool mayInject(const PendingInject& inject, TurnCount& turns, const Limits& limits);

  std::deque<Time> recent_;  // pushes of the last second
  std::deque<PendingInject> waiting_;
  enum class UnderWay : uint8_t { None, Recording, Sent };
  [[nodiscard]] std::deque<PendingInject>::iterator findWaiting(std::string_view account,
                                                                std::string_view key);
  void begin(const PendingInject& inject, TurnCount& turns);
  // The turn of an inject that was sent is over.
  void endTurn();

  UnderWay underWay_ = UnderWay::None;
  bool counts_ = true;      // the inject under way, as a turn in a row
  bool countsTurn_ = true;  // and as a turn of the session's
  bool paused_ = false;
  std::optional<std::string> pauseNotice_;
  int64_t cycles_ = 0;  // turns started since the user last spoke
};

// Of all accounts in one session.
class PushBudgets {
 public:
  // More accounts than this share one: their number is in the hands of providers.
  static constexpr size_t kMaxAccounts = 64;

  // Holds until the next call of a function that is not const.
  [[nodiscard]] PushBudget& of(const std::string& account, Time now);
  // A provider moves from one account to another, with its budget.
  void follow(const std::string& former, const std::string& account, Time now);
  // The holder of this token may no longer push. Others on its account may.
  void dropWaiting(std::string_view token);
  void interrupted();
  void userHasSpoken(Time now);

  // The next injects of an idle session. `paused`: a provider that has just been paused.
  [[nodiscard]] std::vector<PendingInject> idle(
      const Limits& limits, const std::function<void(const std::string&)>& paused);

  [[nodiscard]] size_t size() const { return budgets_.size(); }
  [[nodiscard]] size_t maxWaiting() const;
  // The injects that wait, for tests.
  [[nodiscard]] std::vector<const PendingInject*> waiting() const;
  TurnCount turns;

 private:
  [[nodiscard]] const std::string& budgetKey(const std::string& account) const;
  void prune(Time now);

  std::map<std::string, PushBudget, std::less<>> budgets_;   // by key
  std::map<std::string, std::string, std::less<>> aliases_;  // account to key
};

}  // namespace tap::gateway
