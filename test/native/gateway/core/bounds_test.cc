// The cost of a connection: deadlines, number, sizes, floods, backlog.
#include <gtest/gtest.h>

#include "gateway/harness.h"
#include "gateway/registry/allowance.h"

namespace tap::gateway::test {
namespace {

// shows: P-LIMIT-4
TEST(Connections, AreFiftyAtMost) {
  Harness tap;
  std::vector<PeerId> peers;
  for (int i = 0; i < 50; ++i) peers.push_back(tap.authed());
  for (const PeerId peer : peers) EXPECT_FALSE(tap.closed(peer));
  const PeerId refused = tap.accept();
  EXPECT_EQ(tap.closeCode(refused), 1013);
  tap.lose(refused);
  tap.lose(peers[7]);
  const PeerId late = tap.accept();
  EXPECT_FALSE(tap.closed(late));
  tap.advance(20);
  EXPECT_FALSE(tap.closed(tap.accept()));  // it replaces the previous connection
  EXPECT_TRUE(tap.closed(late));
}

// shows: P-LIMIT-4
TEST(Connections, OfStrangersGiveWayTheOldestFirst) {
  Harness tap;
  tap.session("s");
  const PeerId pairing = tap.open("https://page.example");
  tap.say(pairing, R"({"type":"auth","mode":"pair"})");
  const PeerId provider = tap.bound("p", "s");
  std::vector<PeerId> strangers;
  for (int i = 0; i < 48; ++i) {
    strangers.push_back(i % 2 == 0 ? tap.open("https://evil.example") : tap.accept());
  }
  for (const PeerId stranger : strangers) EXPECT_FALSE(tap.closed(stranger));
  tap.advance(20);
  const PeerId honest = tap.authed();
  EXPECT_EQ(tap.closeCode(strangers[1]), 1013) << "the oldest connection without a message";
  EXPECT_FALSE(tap.closed(strangers[0]));
  for (int i = 0; i < 1000; ++i) {
    tap.open("https://evil.example");
    tap.advance(1);
  }
  EXPECT_TRUE(tap.closed(strangers[0]));
  for (const PeerId one : {pairing, provider, honest}) EXPECT_FALSE(tap.closed(one));
}

// shows: P-LIMIT-5
TEST(Connections, OfStrangersHaveSomeTimeBeforeTheyGiveWay) {
  Harness tap;
  std::vector<PeerId> first;
  for (int i = 0; i < 50; ++i) first.push_back(tap.accept());
  EXPECT_EQ(tap.closeCode(tap.accept()), 1013) << "all the others have just come";
  tap.advance(19);
  EXPECT_TRUE(tap.closed(tap.accept()));
  for (const PeerId peer : first) ASSERT_FALSE(tap.closed(peer));
  tap.upgrade(first[0]);
  tap.advance(1);
  const PeerId next = tap.accept();
  EXPECT_FALSE(tap.closed(next));
  EXPECT_FALSE(tap.closed(first[0])) << "it has sent its handshake";
  EXPECT_TRUE(tap.closed(first[1]));
}

// shows: P-LIMIT-5
TEST(Connections, ThatHaveShakenHandsGiveWayLast) {
  Harness tap;
  const PeerId spoken = tap.open();
  for (int i = 0; i < 2'000; ++i) {
    tap.accept();
    tap.advance(1);
    ASSERT_FALSE(tap.closed(spoken)) << i;
  }
  tap.say(spoken, auth());
  EXPECT_EQ(tap.take(spoken).type(), "sessions");
}

// shows: P-LIMIT-6
TEST(Connections, OfOnePairedTokenAreFour) {
  Harness tap;
  const PeerId session = tap.session("s");
  const auto page = [&] { return tap.open("https://page.example"); };
  const PeerId first = page();
  tap.say(first, R"({"type":"auth","mode":"pair"})");
  const std::string line = tap.timeline(session);
  const std::string code = line.substr(line.find("code: ") + 6, 6);
  tap.say(first, R"({"type":"auth.confirm","code":)" + quote(code) + "}");
  const std::string token = tap.take(first, "sessions").get("token");
  for (int i = 0; i < 3; ++i) {
    const PeerId more = page();
    tap.say(more, auth(token));
    EXPECT_FALSE(tap.closed(more));
  }
  const PeerId fifth = page();
  tap.say(fifth, auth(token));
  const Message error = tap.take(fifth);
  EXPECT_EQ(error.get("code"), "RATE_LIMITED");
  EXPECT_EQ(error.get("message"), "this token has 4 connections; close one first");
  EXPECT_EQ(tap.closeCode(fifth), 1013);
  tap.lose(first);
  const PeerId again = page();
  tap.say(again, auth(token));
  EXPECT_FALSE(tap.closed(again));
}

// shows: P-LIMIT-4
TEST(Connections, CountUntilTheyAreGone) {
  Limits limits;
  limits.set(Limit::Connections, 2);
  Harness tap(limits);
  tap.session("s");
  tap.bound("p", "s");
  const PeerId second = tap.authed();
  EXPECT_TRUE(tap.closed(tap.accept()));
  tap.say(second, R"({"type":"goodbye"})");
  EXPECT_FALSE(tap.closed(tap.accept()));
}

// shows: P-CONN-13
TEST(Deadlines, TheHandshakeHasFiveSeconds) {
  Harness tap;
  const PeerId slow = tap.accept();
  tap.advance(4'999);
  EXPECT_FALSE(tap.closed(slow));
  tap.advance(1);
  EXPECT_TRUE(tap.closed(slow));
  EXPECT_TRUE(tap.quiet(slow));  // it does not speak WebSocket yet
}

// shows: P-CONN-13
TEST(Deadlines, AuthHasTenSecondsFromTheHandshake) {
  Harness tap;
  const PeerId silent = tap.accept();
  const PeerId prompt = tap.open();
  tap.advance(4'000);
  tap.upgrade(silent);
  tap.say(prompt, auth());
  tap.advance(9'999);
  EXPECT_FALSE(tap.closed(silent));
  tap.advance(1);
  EXPECT_EQ(tap.closeCode(silent), 1008);
  EXPECT_EQ(tap.errorCode(silent), "AUTH_FAILED");
  tap.advance(600'000);
  EXPECT_FALSE(tap.closed(prompt));
}

// shows: P-CONN-13
TEST(Deadlines, HelloHasNone) {
  Harness tap;
  const PeerId peer = tap.authed();
  tap.advance(3'600'000);
  EXPECT_FALSE(tap.closed(peer));
}

TEST(Sizes, AMessageMayHaveTwoMegabytes) {
  Harness tap;
  tap.session("s");
  const PeerId peer = tap.bound("p", "s");
  const size_t cap = 2 * 1024 * 1024;
  const size_t envelope = push("keep", "").size();
  for (const size_t size : {cap - 1, cap, cap + 1}) {
    tap.say(peer, push("keep", std::string(size - envelope, 'e')));
    EXPECT_EQ(tap.errorCode(peer), size > cap ? "PAYLOAD_TOO_LARGE" : kAbsent) << size;
    EXPECT_FALSE(tap.closed(peer));
  }
}

// shows: P-LIMIT-2
TEST(Sizes, AnOversizeMessageIsRefusedInEveryState) {
  Harness tap;
  tap.session("s");
  for (const PeerId peer : {tap.authed(), tap.bound("p", "s")}) {
    tap.oversize(peer, 5 * 1024 * 1024 + 1);
    const Message error = tap.take(peer);
    EXPECT_EQ(error.get("code"), "PAYLOAD_TOO_LARGE");
    EXPECT_NE(error.get("message").find("5242880"), std::string::npos);
    EXPECT_FALSE(tap.closed(peer));
  }
}

// shows: P-LIMIT-12
TEST(Backlog, OverTheCapCostsTheConnection) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"greet"});
  tap.callTo(session, peer, "1", "greet");
  const size_t cap = 16 * 1024 * 1024;
  tap.backlog(peer, cap - 1);
  tap.backlog(peer, cap);
  EXPECT_FALSE(tap.closed(peer));
  tap.backlog(peer, cap + 1);
  EXPECT_EQ(tap.closeCode(peer), 1008);
  EXPECT_EQ(tap.outcome(session), "1 DISCONNECTED");
}

struct Flood : ::testing::Test {
  Harness tap{manyPushes()};
  PeerId session = tap.session("s");
  PeerId peer = tap.bound("p", "s", {"greet"});  // auth and hello are counted, too

  void send(int messages) {
    for (int i = 0; i < messages; ++i) tap.say(peer, push("keep", "e"));
  }
  size_t warnings() {
    size_t count = 0;
    const std::string log = tap.logged();
    for (size_t at = 0; (at = log.find("sends too fast", at)) != std::string::npos; ++at) ++count;
    return count;
  }
};

// shows: P-LIMIT-11
TEST_F(Flood, ABurstOf200IsFree) {
  send(198);
  EXPECT_FALSE(tap.paused(peer));
  send(1);
  EXPECT_TRUE(tap.paused(peer));
  EXPECT_EQ(warnings(), 1u);
}

// shows: P-LIMIT-11
TEST_F(Flood, NothingIsLostWhileItIsSlowed) {
  send(300);
  EXPECT_TRUE(tap.paused(peer));
  EXPECT_EQ(tap.state().sessions.find("s")->streams["p"].find("p")->entries().size(), 200u);
  EXPECT_TRUE(tap.quiet(peer));
}

TEST_F(Flood, ReadingResumesWhenHalfTheBurstIsBack) {
  send(199);
  ASSERT_TRUE(tap.paused(peer));
  tap.advance(999);
  EXPECT_TRUE(tap.paused(peer));
  tap.advance(2);
  EXPECT_FALSE(tap.paused(peer));
  send(100);
  EXPECT_FALSE(tap.paused(peer));
  send(1);
  EXPECT_TRUE(tap.paused(peer));
}

TEST_F(Flood, ASteadyRateIsNeverSlowed) {
  send(198);
  for (int i = 0; i < 600; ++i) {
    tap.advance(100);
    send(10);
    ASSERT_FALSE(tap.paused(peer)) << i;
  }
}

// shows: P-LIMIT-11
TEST_F(Flood, ThatNeverStopsIsClosedAfterThirtySeconds) {
  int seconds = 0;
  for (; seconds < 60 && !tap.closed(peer); ++seconds) {
    send(500);
    tap.advance(1'001);
  }
  EXPECT_EQ(tap.closeCode(peer), 1008);
  EXPECT_GE(seconds, 30);
  EXPECT_LE(seconds, 33);
  EXPECT_EQ(warnings(), 1u);
}

TEST_F(Flood, IsOverAfterTenCalmSeconds) {
  for (int round = 0; round < 20; ++round) {
    send(250);
    tap.advance(10'100);
  }
  EXPECT_FALSE(tap.closed(peer));
  EXPECT_EQ(warnings(), 20u);
}

TEST_F(Flood, AClosedFloodersCallsFail) {
  tap.callTo(session, peer, "1", "greet");
  for (int i = 0; i < 40 && !tap.closed(peer); ++i) {
    send(300);
    tap.advance(1'001);
  }
  EXPECT_EQ(tap.outcome(session), "1 DISCONNECTED");
}

// shows: P-LIMIT-11
TEST_F(Flood, AnswersToCallsAreNotCounted) {
  for (int i = 0; i < 2'000; ++i) {
    const std::string id = std::to_string(i);
    tap.say(peer, result(tap.callTo(session, peer, id, "greet")));
  }
  EXPECT_FALSE(tap.paused(peer));
}

TEST_F(Flood, AnswersToCancelsAreNotCounted) {
  for (int i = 0; i < 1'000; ++i) {
    const std::string callId = std::to_string(i);
    const std::string id = tap.callTo(session, peer, callId, "greet");
    tap.send(session, protocol::CancelCall{callId, ""});
    tap.say(peer, failure(id, "CANCELLED", "Cancelled"));
  }
  EXPECT_FALSE(tap.paused(peer));
}

TEST_F(Flood, AnswersNobodyAskedForAreCounted) {
  for (int i = 0; i < 199; ++i) tap.say(peer, result("never-called"));
  EXPECT_TRUE(tap.paused(peer));
}

TEST_F(Flood, NonsenseIsCounted) {
  for (int i = 0; i < 199; ++i) tap.say(peer, "{");
  EXPECT_TRUE(tap.paused(peer));
}

TEST_F(Flood, OfOneProviderLeavesTheOthersAlone) {
  const PeerId other = tap.bound("q", "s");
  send(1'000);
  tap.say(other, push("keep", "e"));
  EXPECT_TRUE(tap.paused(peer));
  EXPECT_FALSE(tap.paused(other));
}

TEST(Allowance, RefillsAtItsRateUpToTheBurst) {
  Allowance allowance(10, 100);
  Time now{Millis(50)};
  const auto take = [&](int wanted) {
    int taken = 0;
    while (taken < wanted && allowance.take(now)) ++taken;
    return taken;
  };
  EXPECT_EQ(take(100), 10);
  now += Millis(9);
  EXPECT_EQ(take(100), 0);
  now += Millis(1);
  EXPECT_EQ(take(100), 1);
  now += Millis(1'000'000);
  EXPECT_EQ(take(100), 10);
}

// For UBSan: the largest rates, the longest silence.
TEST(Allowance, DoesNotOverflowWhateverItsRateAndTheSilence) {
  constexpr int64_t kMaxRate =
      maxOverride(kLimitTable[static_cast<size_t>(Limit::MessagesPerSecond)]);
  for (const int64_t rate : {int64_t{1}, kMaxRate, int64_t{1} << 40}) {
    for (const int64_t silence : {int64_t{1}, int64_t{1} << 31, INT64_MAX}) {
      Allowance allowance(kMaxRate, rate);
      EXPECT_TRUE(allowance.take(Time(Millis(0))));
      EXPECT_TRUE(allowance.take(Time(Millis(silence))));
      EXPECT_GT(allowance.untilHalf().count(), 0);
    }
  }
}

TEST(Allowance, LosesNoPartOfATokenBetweenTakes) {
  Allowance allowance(10, 100);
  Time now{Millis(0)};
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(allowance.take(now));
  int taken = 0;
  for (int i = 0; i < 1'000; ++i) {
    now += Millis(3);
    if (allowance.take(now)) ++taken;
  }
  EXPECT_GE(taken, 290);
  EXPECT_LE(taken, 300);
}

}  // namespace
}  // namespace tap::gateway::test
