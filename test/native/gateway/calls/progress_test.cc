// tool.progress: the user sees it, and the call has time again.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

std::string progress(std::string_view id, std::string_view message = "60%") {
  return R"({"type":"tool.progress","id":)" + quote(id) + R"(,"message":)" + quote(message) + "}";
}

struct Progress : ::testing::Test {
  Harness tap{limits()};
  PeerId session = tap.session("s");
  PeerId peer = tap.boundWith("p", "s", "[" + tool("slow", R"(,"timeout":1000)") + "]");
  std::string id;

  void SetUp() override {
    tap.clear();
    id = tap.callTo(session, peer, "1", "slow");
  }
  static Limits limits() {
    Limits limits;
    limits.set(Limit::CallTimeoutMaxMs, 2'500);
    return limits;
  }
};

// shows: P-PROGRESS-1
TEST_F(Progress, IsShownAndToldToTheSession) {
  tap.say(peer, progress(id, "Capturing\x1b viewport... 60%"));
  EXPECT_EQ(tap.timeline(session), "tap: p slow: Capturing\\x1b viewport... 60%\n");
  EXPECT_EQ(tap.expect<protocol::CallProgress>(session).callId, "1");
  EXPECT_TRUE(tap.quiet(peer));
  tap.say(peer, result(id));
  EXPECT_EQ(tap.outcome(session), R"(1 ok "done")");
}

// shows: P-PROGRESS-2
TEST_F(Progress, RenewsTheTimeout) {
  tap.advance(999);
  tap.say(peer, progress(id));
  tap.advance(999);
  EXPECT_EQ(tap.outcome(session), "none");
  tap.advance(1);
  EXPECT_EQ(tap.outcome(session), "1 TIMEOUT");
  EXPECT_EQ(tap.take(peer).type(), "tool.cancel");
}

// shows: P-PROGRESS-2
TEST_F(Progress, RenewsItUpToTheCapOnly) {
  for (int i = 0; i < 4; ++i) {
    tap.advance(600);
    tap.say(peer, progress(id));
  }
  tap.advance(99);
  EXPECT_EQ(tap.outcome(session), "none");
  tap.advance(1);
  EXPECT_EQ(tap.outcome(session), "1 TIMEOUT");
}

// shows: P-PROGRESS-3
TEST_F(Progress, OfACallThatIsNotItsOwnIsNothing) {
  const PeerId thief = tap.bound("q", "s");
  tap.clear();
  tap.say(thief, progress(id));
  tap.say(thief, progress("unheard of"));
  EXPECT_TRUE(tap.quiet(session));
  EXPECT_TRUE(tap.quiet(thief));
  tap.say(peer, result(id));
  tap.clear();
  tap.say(peer, progress(id));
  EXPECT_TRUE(tap.quiet(session));
  EXPECT_TRUE(tap.quiet(peer));
}

// shows: P-PROGRESS-4
TEST_F(Progress, AnswersNothing) {
  tap.say(peer, progress(id));
  tap.say(peer, R"({"type":"tool.progress","id":7})");
  EXPECT_EQ(tap.errorCode(peer), "INVALID_JSON");
  EXPECT_EQ(tap.outcome(session), "none");
}

}  // namespace
}  // namespace tap::gateway::test
