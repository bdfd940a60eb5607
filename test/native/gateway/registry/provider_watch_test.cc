// Providers that keep a call waiting: when they are pinged, and which sessions show that they hang.
#include <gtest/gtest.h>

#include <algorithm>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

struct ProviderWatch : ::testing::Test {
  Harness tap;
  PeerId session = tap.session("s");
  PeerId peer = tap.bound("slow", "s", {"wait"});

  void SetUp() override {
    tap.answersPings = false;
    tap.advance(2'000);
    tap.timeline(session);
  }
  std::string open() { return tap.callTo(session, peer, "1", "wait"); }
  // The waiting time in an inspection.
  std::string waitedMs() { return tap.inspect().get("providers.0.waitedMs"); }
  std::string noPongMs() { return tap.inspect().get("providers.0.noPongMs"); }
};

// shows: P-CONN-3
TEST_F(ProviderWatch, PingsNobodyWhileNothingWaits) {
  tap.advance(60'000);
  EXPECT_EQ(tap.pings(peer), 0);
}

// shows: P-CONN-3
TEST_F(ProviderWatch, PingsNobodyForCallsThatAreAnsweredSoon) {
  for (int i = 0; i < 100; ++i) {
    const std::string id = tap.callTo(session, peer, std::to_string(i), "wait");
    tap.advance(200);
    tap.say(peer, result(id));
  }
  EXPECT_EQ(tap.pings(peer), 0);
}

// shows: P-CONN-3
TEST_F(ProviderWatch, PingsOnceUntilItIsAnswered) {
  (void)open();
  tap.advance(4'999);
  EXPECT_EQ(tap.pings(peer), 0);
  tap.advance(30'000);
  EXPECT_EQ(tap.pings(peer), 1);
  tap.pong(peer);
  tap.advance(1'000);
  EXPECT_EQ(tap.pings(peer), 2);
}

// shows: P-CONN-3
TEST_F(ProviderWatch, TellsTheSessionOnceOfOneThatHangs) {
  (void)open();
  tap.advance(9'000);
  EXPECT_EQ(tap.timeline(session), "");
  tap.advance(51'000);
  const std::string told = tap.timeline(session);
  EXPECT_NE(told.find("tap: slow has not answered for 10 s; it does not answer pings either"),
            std::string::npos)
      << told;
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
}

// shows: P-CONN-3
TEST_F(ProviderWatch, SaysNothingOfOneThatIsOnlySlow) {
  (void)open();
  for (int i = 0; i < 60; ++i) {
    tap.advance(1'000);
    tap.pong(peer);
  }
  EXPECT_EQ(tap.timeline(session), "");
}

// shows: P-CONN-3
TEST_F(ProviderWatch, StopsOnceNothingWaits) {
  const std::string id = open();
  tap.advance(20'000);
  tap.pong(peer);
  tap.say(peer, result(id));
  const int before = tap.pings(peer);
  tap.advance(60'000);
  EXPECT_EQ(tap.pings(peer), before);
}

TEST_F(ProviderWatch, ShowsInTheInspectionHowLongACallHasWaited) {
  EXPECT_EQ(waitedMs(), "0");
  (void)open();
  tap.advance(7'000);
  EXPECT_EQ(waitedMs(), "7000");
  EXPECT_EQ(noPongMs(), "2000");
  tap.pong(peer);
  EXPECT_EQ(waitedMs(), "7000");
  EXPECT_EQ(noPongMs(), kAbsent);
}

TEST_F(ProviderWatch, SaysThatAPingHasNoAnswerOnceItHadTheTimeForOne) {
  (void)open();
  tap.advance(5'000);
  ASSERT_EQ(tap.pings(peer), 1);
  EXPECT_EQ(noPongMs(), kAbsent);
  tap.advance(1'000);
  EXPECT_EQ(noPongMs(), "1000");
}

// Its messages have not been read yet: its answer may be among them.
TEST_F(ProviderWatch, SaysOfOneThatIsReadMoreSlowlyOnlyThatItIsSlow) {
  (void)open();
  tap.advance(6'000);
  tap.state().providers.find(peer)->paused = true;
  EXPECT_EQ(waitedMs(), "6000");
  EXPECT_EQ(noPongMs(), kAbsent);
}

TEST_F(ProviderWatch, CountsACancelledCallApart) {
  (void)open();
  tap.send(session, protocol::CancelCall{"1", "aborted"});
  const auto& tools = tap.state().stats.tools();
  const ToolRecord& record = tools.find("slow")->second.find("wait")->second;
  EXPECT_EQ(record.calls, 1u);
  EXPECT_EQ(record.cancelled, 1u);
  EXPECT_EQ(record.failed, 0u);
}

}  // namespace
}  // namespace tap::gateway::test
