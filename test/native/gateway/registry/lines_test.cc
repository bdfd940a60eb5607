// Lines that providers write into the timeline: so many a second, whichever message they come from.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

std::string says(std::string_view id, std::string_view message) {
  return R"({"type":"tool.progress","id":)" + quote(id) + R"(,"message":)" + quote(message) + "}";
}

struct Lines : ::testing::Test {
  Harness tap;
  PeerId session = tap.session("s");
  PeerId peer = tap.bound("p", "s", {"slow"});

  void SetUp() override { tap.clear(); }
  // Opens so many calls.
  std::vector<std::string> calls(int count) {
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) {
      ids.push_back(tap.callTo(session, peer, std::to_string(i), "slow"));
    }
    return ids;
  }
  size_t shown() {
    size_t lines = 0;
    while (tap.find<protocol::Timeline>(session)) ++lines;
    return lines;
  }
};

// shows: P-PROGRESS-5
TEST_F(Lines, OfOneCallsProgressAreMergedToTheNewest) {
  const std::string id = calls(1).front();
  for (int i = 1; i <= 100; ++i) tap.say(peer, says(id, std::to_string(i) + "%"));
  EXPECT_EQ(tap.timeline(session), "tap: p slow: 1%\n");
  tap.advance(999);
  EXPECT_EQ(tap.timeline(session), "");
  tap.advance(1);
  EXPECT_EQ(tap.timeline(session), "tap: p slow: 100%\n");
  tap.advance(60'000);
  EXPECT_EQ(tap.timeline(session), "");
}

// shows: P-PROGRESS-5
TEST_F(Lines, TheLastProgressComesBeforeTheResult) {
  const std::string id = calls(1).front();
  tap.say(peer, says(id, "page 1"));
  tap.say(peer, says(id, "page 2"));
  tap.say(peer, says(id, "page 3"));
  tap.say(peer, result(id));
  EXPECT_EQ(tap.timeline(session), "tap: p slow: page 1\ntap: p slow: page 3\n");
  EXPECT_EQ(tap.outcome(session), R"(0 ok "done")");
  tap.advance(60'000);
  EXPECT_EQ(tap.timeline(session), "");
}

// shows: P-PROGRESS-5
TEST_F(Lines, ProgressThatIsNotShownRenewsTheTimeoutToo) {
  const std::string id = calls(1).front();
  for (int i = 0; i < 50; ++i) tap.say(peer, says(id, "m"));
  EXPECT_EQ(tap.count<protocol::CallProgress>(session), 50u);
}

// shows: P-PROGRESS-6
TEST_F(Lines, OfManyCallsTogetherAreTenASecond) {
  const std::vector<std::string> ids = calls(50);
  for (int second = 0; second < 8; ++second) {
    for (const std::string& id : ids) tap.say(peer, says(id, "at " + std::to_string(second)));
    EXPECT_LE(shown(), 10u) << second;
    tap.advance(1'000);
  }
}

// shows: P-PROGRESS-6
TEST_F(Lines, OfProgressAndPushesShareTheirRoom) {
  const std::vector<std::string> ids = calls(6);
  for (const std::string& id : ids) tap.say(peer, says(id, "m"));
  for (int i = 0; i < 4; ++i) tap.say(peer, push("surface", "e"));
  EXPECT_EQ(shown(), 10u);
  tap.say(peer, push("inject", "unseen"));
  EXPECT_EQ(tap.errorCode(peer), "RATE_LIMITED");
  EXPECT_FALSE(tap.find<protocol::Inject>(session)) << "the model gets no hidden text";
  tap.say(peer, push("keep", "e"));
  EXPECT_EQ(tap.count(peer, "error"), 0u);
  tap.advance(1'000);
  tap.say(peer, push("surface", "e"));
  EXPECT_EQ(shown(), 1u);
}

// shows: P-PROGRESS-6
TEST_F(Lines, ThatAreLeftOutAreCountedAndSaidOnce) {
  const std::vector<std::string> ids = calls(25);
  for (const std::string& id : ids) {
    tap.say(peer, says(id, "m"));
    tap.say(peer, result(id));
  }
  EXPECT_EQ(shown(), 10u);
  tap.advance(10'000);
  EXPECT_EQ(tap.timeline(session), "tap: 15 lines of p left out: more than 10 a second\n");
  tap.advance(60'000);
  EXPECT_EQ(tap.timeline(session), "");
}

TEST_F(Lines, LeftOutInASessionThatIsOverAreNoNewsToTheNext) {
  for (const std::string& id : calls(25)) {
    tap.say(peer, says(id, "m"));
    tap.say(peer, result(id));
  }
  tap.lose(peer);
  tap.send(session, protocol::EndSession{"over"});
  session = tap.session("s");
  peer = tap.bound("p", "s", {"slow"});
  const std::string id = calls(1).front();
  tap.say(peer, says(id, "m"));
  tap.clear();
  tap.advance(15'000);
  EXPECT_EQ(tap.timeline(session), "");
}

TEST_F(Lines, OfProgressEndWithTheCall) {
  const std::string id = calls(1).front();
  tap.say(peer, says(id, "page 1"));
  tap.say(peer, says(id, "page 2"));
  EXPECT_EQ(tap.timeline(session), "tap: p slow: page 1\n");
  tap.send(session, protocol::CancelCall{"0", "aborted"});
  EXPECT_EQ(tap.timeline(session), "") << "the call has ended";
  tap.advance(60'000);
  EXPECT_EQ(tap.timeline(session), "");
}

// shows: P-PROGRESS-6
TEST_F(Lines, OfOneProviderLeaveRoomForAnother) {
  const PeerId other = tap.bound("q", "s");
  tap.clear();
  for (const std::string& id : calls(30)) tap.say(peer, says(id, "m"));
  tap.say(other, push("surface", "e"));
  EXPECT_EQ(shown(), 11u);
}

// shows: P-PROGRESS-6
TEST_F(Lines, AboutToolsThatTheCliRefusesCountToo) {
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back("tool" + std::to_string(i));
  tap.say(peer, update(tools(names)));
  tap.advance(1'000);
  const auto event = tap.expect<protocol::Tools>(session);
  tap.clear();
  tap.send(session, protocol::SyncFailed{event.revision, "no", names});
  EXPECT_EQ(shown(), 10u);
}

// shows: P-PROGRESS-6
TEST_F(Lines, OfProgramsThatComeAndGoUnderEverNewNamesAreBounded) {
  for (int i = 0; i < 200; ++i) {
    const PeerId one = tap.bound("n" + std::to_string(i), "s", {"tool" + std::to_string(i)});
    tap.say(one, kGoodbye);
  }
  EXPECT_EQ(shown(), 50u - 1) << "p has just come, too";
  tap.advance(10'000);
  EXPECT_NE(tap.timeline(session).find(
                "351 lines of programs that came and went left out: more than 50 a second"),
            std::string::npos);
}

}  // namespace
}  // namespace tap::gateway::test
