// tools.update: whole lists and changes, their acknowledgment, their refusal.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

std::string delta(std::string_view toolArray, std::string_view removed,
                  std::string_view more = "") {
  return R"({"type":"tools.update","tools":)" + std::string(toolArray) + R"(,"remove":)" +
         std::string(removed) + std::string(more) + "}";
}

struct Updates : ::testing::Test {
  Harness tap;
  PeerId session = tap.session("s");
  PeerId other = tap.session("t");
  PeerId peer = tap.bound("p", "s", {"a", "b"});

  std::string names(const std::string& sessionId = "s") {
    std::string names;
    for (const auto& tool : tap.state().providers.find(peer)->in(sessionId)->tools) {
      names += tool.name + " ";
    }
    return names;
  }
};

// shows: P-UPDATE-1
TEST_F(Updates, WithoutRemoveReplaceTheList) {
  tap.say(peer, update(tools({"c"})));
  EXPECT_EQ(names(), "c ");
  EXPECT_TRUE(tap.quiet(peer));
}

// shows: P-UPDATE-2
TEST_F(Updates, WithRemoveChangeTheList) {
  tap.say(peer, delta(tools({"c"}), R"(["a","unheard of"])"));
  EXPECT_EQ(names(), "b c ");
  tap.say(peer, delta(R"([{"name":"b","description":"again"}])", "[]"));
  EXPECT_EQ(names(), "b c ");
  EXPECT_NE(tap.state().providers.find(peer)->in("s")->tools[0].json.find("again"),
            std::string::npos);
  tap.say(peer, R"({"type":"tools.update","remove":["b","c"]})");
  EXPECT_EQ(names(), "");
  EXPECT_TRUE(tap.quiet(peer));
}

// shows: P-UPDATE-6, P-UPDATE-7
TEST_F(Updates, AreAcknowledgedWithRisingRevisions) {
  for (int i = 1; i <= 3; ++i) {
    tap.say(peer, delta("[]", "[]", R"(,"requestId":"r)" + std::to_string(i) + "\""));
    const std::string revision = std::to_string(i);
    EXPECT_EQ(tap.take(peer).text(), R"({"type":"ack","requestId":"r)" + revision +
                                         R"(","sessionId":"s","revision":)" + revision + "}");
  }
  tap.say(peer, delta("[]", "[]"));  // counts, but asks for no answer
  EXPECT_TRUE(tap.quiet(peer));
  tap.say(peer, delta("[]", "[]", R"(,"requestId":"r5")"));
  EXPECT_EQ(tap.take(peer).get("revision"), "5");
}

// shows: P-UPDATE-7
TEST_F(Updates, RevisionsDoNotFallAcrossAReconnect) {
  tap.say(peer, delta("[]", "[]", R"(,"requestId":"r")"));
  EXPECT_EQ(tap.take(peer).get("revision"), "1");
  tap.lose(peer);
  peer = tap.bound("p", "s", {"a"});
  tap.say(peer, delta("[]", "[]", R"(,"requestId":"r")"));
  EXPECT_EQ(tap.take(peer).get("revision"), "2");
}

// shows: P-UPDATE-8
TEST_F(Updates, AreInForceWhenTheyAreAcknowledged) {
  tap.say(peer, delta(tools({"c"}), "[]", R"(,"requestId":"r")"));
  EXPECT_EQ(tap.take(peer).type(), "ack");
  tap.call(session, "1", "c");
  EXPECT_EQ(tap.take(peer).get("tool"), "c");
}

// shows: P-UPDATE-3, P-UPDATE-6, P-ERROR-1
TEST_F(Updates, ThatAreRefusedChangeNothing) {
  tap.bound("q", "s", {"taken"});
  tap.clear();
  tap.say(peer, delta(tools({"c", "taken"}), R"(["a"])", R"(,"requestId":"r")"));
  const Message error = tap.take(peer);
  EXPECT_EQ(error.get("code"), "TOOL_CONFLICT");
  EXPECT_EQ(error.get("requestId"), "r");
  EXPECT_EQ(error.get("replyTo"), "tools.update");
  EXPECT_EQ(names(), "a b ");
}

// shows: P-TOOL-5
TEST_F(Updates, HaveNoMoreThan100ToolsInAll) {
  std::vector<std::string> many;
  for (int i = 0; i < 98; ++i) many.push_back("t" + std::to_string(i));
  tap.say(peer, delta(tools(many), "[]"));
  EXPECT_TRUE(tap.quiet(peer));
  tap.say(peer, delta(tools({"one_more"}), "[]", R"(,"requestId":"r")"));
  const Message error = tap.take(peer);
  EXPECT_EQ(error.get("code"), "PAYLOAD_TOO_LARGE");
  EXPECT_EQ(error.get("requestId"), "r");
  tap.say(peer, delta(tools({"one_more"}), R"(["a"])"));
  EXPECT_TRUE(tap.quiet(peer));
}

// shows: P-UPDATE-5
TEST_F(Updates, NameASessionOfTheirs) {
  tap.say(peer, delta("[]", R"(["a"])", R"(,"sessionId":"t","requestId":"r")"));
  const Message error = tap.take(peer);
  EXPECT_EQ(error.get("code"), "INVALID_SESSION");
  EXPECT_EQ(error.get("requestId"), "r");
  tap.say(peer, delta("[]", R"(["a"])", R"(,"sessionId":"s")"));
  EXPECT_EQ(names(), "b ");
}

// shows: P-UPDATE-6
TEST_F(Updates, OfAllSessionsAreAcknowledgedForEach) {
  tap.say(peer, kGoodbye);
  peer = tap.bound("p", "all", {"a"});
  tap.say(peer, delta(tools({"b"}), "[]", R"(,"sessionId":"t","requestId":"r1")"));
  EXPECT_EQ(tap.take(peer).get("revision"), "1");
  tap.say(peer, delta(tools({"c"}), "[]", R"(,"requestId":"r2")"));
  EXPECT_EQ(tap.take(peer).text(),
            R"({"type":"ack","requestId":"r2","sessionId":"s","revision":1})");
  EXPECT_EQ(tap.take(peer).text(),
            R"({"type":"ack","requestId":"r2","sessionId":"t","revision":2})");
  EXPECT_EQ(names("s"), "a c ");
  EXPECT_EQ(names("t"), "a b c ");
  tap.session("later");
  tap.say(peer, R"({"type":"session.ready","sessionId":"later"})");
  EXPECT_EQ(names("later"), "a c ");
}

}  // namespace
}  // namespace tap::gateway::test
