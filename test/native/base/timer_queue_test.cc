#include "base/timer_queue.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

namespace tap {
namespace {

Time at(int64_t millis) {
  return Time(Millis(millis));
}

TEST(TimerQueue, IsEmptyAtFirst) {
  TimerQueue<int> queue;
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_FALSE(queue.next().has_value());
  EXPECT_FALSE(queue.popDue(at(1'000)).has_value());
  EXPECT_FALSE(queue.cancel(TimerId::None));
}

TEST(TimerQueue, FiresAtItsTimeAndNotBefore) {
  TimerQueue<int> queue;
  queue.schedule(at(100), 7);
  EXPECT_EQ(queue.next(), at(100));
  EXPECT_FALSE(queue.popDue(at(99)).has_value());
  EXPECT_EQ(queue.popDue(at(100)), 7);
  EXPECT_FALSE(queue.popDue(at(100)).has_value());
  EXPECT_FALSE(queue.next().has_value());
}

TEST(TimerQueue, FiresTheEarliestFirst) {
  TimerQueue<int> queue;
  for (const int when : {5, 3, 9, 1, 7}) queue.schedule(at(when), when);
  for (const int when : {1, 3, 5, 7, 9}) EXPECT_EQ(queue.popDue(at(100)), when);
}

TEST(TimerQueue, KeepsTheOrderOfSchedulingBetweenEqualTimes) {
  TimerQueue<int> queue;
  for (int i = 0; i < 100; ++i) queue.schedule(at(5), i);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(queue.popDue(at(5)), i);
}

TEST(TimerQueue, CancelsWhatHasNotFired) {
  TimerQueue<int> queue;
  const TimerId first = queue.schedule(at(1), 1);
  queue.schedule(at(2), 2);
  EXPECT_TRUE(queue.cancel(first));
  EXPECT_FALSE(queue.cancel(first));
  EXPECT_EQ(queue.next(), at(2));
  EXPECT_EQ(queue.popDue(at(5)), 2);
}

TEST(TimerQueue, DoesNotCancelWhatHasFired) {
  TimerQueue<int> queue;
  const TimerId id = queue.schedule(at(1), 1);
  EXPECT_EQ(queue.popDue(at(1)), 1);
  EXPECT_FALSE(queue.cancel(id));
}

TEST(TimerQueue, NeverGivesAHandleTwice) {
  TimerQueue<int> queue;
  std::set<TimerId> seen{TimerId::None};
  for (int i = 0; i < 1'000; ++i) {
    const TimerId id = queue.schedule(at(i), i);
    EXPECT_TRUE(seen.insert(id).second);
    EXPECT_TRUE(queue.cancel(id));
  }
}

TEST(TimerQueue, DoesNotTakeAnOldHandleForItsSuccessor) {
  TimerQueue<int> queue;
  const TimerId old = queue.schedule(at(1), 1);
  EXPECT_TRUE(queue.cancel(old));
  queue.schedule(at(1), 2);
  EXPECT_FALSE(queue.cancel(old));
  EXPECT_EQ(queue.size(), 1u);
}

TEST(TimerQueue, MovesPayloadsAndDropsThoseOfCancelledTimers) {
  TimerQueue<std::unique_ptr<int>> queue;
  queue.schedule(at(1), std::make_unique<int>(3));
  const auto payload = queue.popDue(at(1));
  ASSERT_TRUE(payload.has_value());
  EXPECT_EQ(**payload, 3);

  TimerQueue<std::shared_ptr<int>> shared;
  const auto held = std::make_shared<int>(0);
  EXPECT_TRUE(shared.cancel(shared.schedule(at(1), held)));
  EXPECT_EQ(held.use_count(), 1);
}

TEST(TimerQueue, TakesATimerFromAPayloadThatSchedulesAgain) {
  TimerQueue<int> queue;
  queue.schedule(at(1), 1);
  for (int i = 1; i < 10; ++i) {
    EXPECT_EQ(queue.popDue(at(i)), i);
    queue.schedule(at(i + 1), i + 1);
  }
  EXPECT_EQ(queue.size(), 1u);
}

// A multimap keeps equal keys in the order of insertion, which is the order that is promised.
class TimerModel {
 public:
  explicit TimerModel(unsigned seed) : random_(seed) {}

  void step() {
    const unsigned choice = random_() % 4;
    if (choice < 2) schedule();
    if (choice == 2) cancel();
    if (choice == 3) pop();
    ASSERT_EQ(queue_.size(), model_.size());
    ASSERT_EQ(queue_.next(), model_.empty() ? std::nullopt : std::optional(model_.begin()->first));
  }

 private:
  struct Timer {
    int payload;
    TimerId id;
  };

  void schedule() {
    const Time when = now_ + Millis(random_() % 50);
    const TimerId id = queue_.schedule(when, ++last_);
    model_.emplace(when, Timer{last_, id});
  }

  void cancel() {
    if (model_.empty()) return;
    const auto chosen = std::next(model_.begin(), static_cast<long>(random_() % model_.size()));
    const TimerId id = chosen->second.id;
    model_.erase(chosen);
    EXPECT_TRUE(queue_.cancel(id));
    EXPECT_FALSE(queue_.cancel(id));
  }

  void pop() {
    now_ += Millis(random_() % 20);
    while (!model_.empty() && model_.begin()->first <= now_) {
      EXPECT_EQ(queue_.popDue(now_), model_.begin()->second.payload);
      EXPECT_FALSE(queue_.cancel(model_.begin()->second.id));
      model_.erase(model_.begin());
    }
    EXPECT_FALSE(queue_.popDue(now_).has_value());
  }

  std::mt19937 random_;
  Time now_{};
  int last_ = 0;
  TimerQueue<int> queue_;
  std::multimap<Time, Timer> model_;
};

TEST(TimerQueue, DoesWhatAMultimapDoesUnderRandomOperations) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    TimerModel model(seed);
    for (int i = 0; i < 2'000; ++i) {
      model.step();
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace tap
