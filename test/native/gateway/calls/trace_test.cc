// The trace of a call: from the CLI's span over ours to the provider.
#include <gtest/gtest.h>

#include <set>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

const std::string kCliSpan = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

struct CallTraces : ::testing::Test {
  Harness tap;
  PeerId session = tap.session("s");
  PeerId peer = tap.bound("p", "s", {"t"});

  std::string sentTraceparent(const std::string& callId, const std::string& more) {
    tap.linkText(session, R"({"type":"call","callId":")" + callId + R"(","tool":"t","args":{})" +
                              more + "}");
    return tap.take(peer, "tool.call").get("traceparent");
  }
  std::string given(const std::string& trace) { return R"(,"traceparent":")" + trace + "\""; }
};

// shows: P-TRACE-1
TEST_F(CallTraces, EachCallHasASpanOfOursInTheTraceOfItsSession) {
  std::set<std::string> spans;
  std::string trace;
  for (int i = 0; i < 20; ++i) {
    const std::string parent = sentTraceparent(std::to_string(i), "");
    ASSERT_TRUE(protocol::TraceContext::parse(parent)) << parent;
    EXPECT_TRUE(i == 0 || parent.substr(0, 35) == trace) << parent;
    trace = parent.substr(0, 35);
    EXPECT_TRUE(spans.insert(parent.substr(36, 16)).second);
  }
}

// shows: P-TRACE-2
TEST_F(CallTraces, TheTraceOfTheCliGoesOn) {
  const std::string parent = sentTraceparent("1", given(kCliSpan));
  EXPECT_EQ(parent.substr(0, 36), kCliSpan.substr(0, 36));
  EXPECT_NE(parent.substr(36, 16), kCliSpan.substr(36, 16));
  EXPECT_EQ(parent.substr(53), "01");
  const std::string unsampled = kCliSpan.substr(0, 53) + "00";
  EXPECT_EQ(sentTraceparent("2", given(unsampled)).substr(53), "00");
}

// shows: P-TRACE-4
TEST_F(CallTraces, AMalformedOneIsIgnoredAndCounted) {
  for (const char* bad : {"", "00", "no trace"}) {
    const std::string parent = sentTraceparent(bad + std::string("-"), given(bad));
    EXPECT_TRUE(protocol::TraceContext::parse(parent)) << bad;
  }
  (void)sentTraceparent("n", R"(,"traceparent":7)");
  EXPECT_EQ(tap.inspect().get("malformedTraces"), "4");
  const std::string id = tap.callTo(session, peer, "c", "t");
  tap.say(peer, R"({"type":"tool.result","id":")" + id + R"(","data":1,"traceparent":[]})");
  EXPECT_EQ(tap.outcome(session), "c ok 1");
  tap.say(peer, push("keep", "e", R"(,"traceparent":"x","requestId":"r")"));
  EXPECT_EQ(tap.take(peer, "ack").get("outcome"), "stored");
  EXPECT_EQ(tap.inspect().get("malformedTraces"), "6");
}

// shows: P-TRACE-2
TEST_F(CallTraces, AnotherInstanceGetsTheSameTrace) {
  Harness two;
  const PeerId caller = two.session("s");
  std::vector<PeerId> instances;
  for (const char* name : {"a", "b"}) {
    instances.push_back(two.authed());
    two.say(instances.back(),
            helloWith("p", "s",
                      R"("instance":")" + std::string(name) + R"(","tools":)" + tools({"t"})));
  }
  two.linkText(caller,
               R"({"type":"call","callId":"1","tool":"t","args":{})" + given(kCliSpan) + "}");
  const bool first = two.count(instances[0], "tool.call") > 0;
  const Message call = two.take(instances[first ? 0 : 1], "tool.call");
  two.say(instances[first ? 0 : 1],
          R"({"type":"tool.result","error":"no","retryable":true,"id":")" + call.get("id") + "\"}");
  const Message again = two.take(instances[first ? 1 : 0], "tool.call");
  EXPECT_EQ(again.get("traceparent").substr(0, 36), kCliSpan.substr(0, 36));
}

}  // namespace
}  // namespace tap::gateway::test
