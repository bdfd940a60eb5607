#include "records/thread.h"

#include <gtest/gtest.h>

#if defined(__linux__)
#include <sys/resource.h>
#endif

namespace tap::records {
namespace {

TEST(Thread, RunsItsBodyOnce) {
  int times = 0;
  Thread thread;
  ASSERT_TRUE(thread.start([&times] { ++times; }));
  EXPECT_TRUE(thread.started());
  thread.join();
  EXPECT_EQ(times, 1);
}

#if defined(__linux__)
TEST(Thread, LowersItsOwnPriorityAndNoOthers) {
  const int before = getpriority(PRIO_PROCESS, 0);
  int lowered = 0;
  Thread thread;
  ASSERT_TRUE(thread.start([&lowered] {
    Thread::lowerPriority();
    lowered = getpriority(PRIO_PROCESS, 0);
  }));
  thread.join();
  EXPECT_GE(lowered, 17);
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before);
}

TEST(Thread, DoesNotRaiseAPriorityThatIsLower) {
  int lowered = 0;
  Thread thread;
  ASSERT_TRUE(thread.start([&lowered] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, 0, 19), 0);
    Thread::lowerPriority();
    lowered = getpriority(PRIO_PROCESS, 0);
  }));
  thread.join();
  EXPECT_EQ(lowered, 19);
}
#endif

}  // namespace
}  // namespace tap::records
