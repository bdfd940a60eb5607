// hello: version, session, name, and the messages after a binding.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

// shows: P-HELLO-7, P-LIFE-1, P-ORDER-2
TEST(Hello, BindsAndStartsTheLifecycle) {
  Harness tap;
  tap.session("abc");
  const PeerId peer = tap.authed();
  tap.say(peer, hello("p", "abc", tools({"greet"})));
  const Message ack = tap.take(peer);
  EXPECT_EQ(ack.type(), "hello.ack");
  EXPECT_EQ(ack.get("protocolVersion"), "2");
  EXPECT_EQ(ack.get("sessionId"), "abc");
  EXPECT_EQ(ack.get("providerId").substr(0, 2), "p-");
  EXPECT_EQ(tap.take(peer).text(),
            R"({"type":"session.lifecycle","sessionId":"abc","state":"started"})");
  EXPECT_TRUE(tap.quiet(peer));
}

// shows: P-HELLO-5
TEST(Hello, RefusesAnyOtherVersionAndCloses) {
  for (const char* version : {"1", "3", "0", "-2", "2.5", "20", "1e999"}) {
    Harness tap;
    tap.session("s");
    const PeerId peer = tap.authed();
    tap.say(peer, R"({"type":"hello","name":"p","session":"s","tools":7,"protocolVersion":)" +
                      std::string(version) + "}");
    const Message error = tap.take(peer);
    EXPECT_EQ(error.get("code"), "UNSUPPORTED_VERSION") << version;
    EXPECT_EQ(error.get("replyTo"), "hello");
    EXPECT_EQ(tap.closeCode(peer), 1008);
  }
}

// shows: P-HELLO-5
TEST(Hello, SpeaksOfTheVersionBeforeTheSession) {
  Harness tap;
  const PeerId peer = tap.authed();
  tap.say(peer, R"({"type":"hello","name":"p","session":"none","protocolVersion":3})");
  EXPECT_EQ(tap.errorCode(peer), "UNSUPPORTED_VERSION");
}

// shows: P-HELLO-6
TEST(Hello, RefusesASessionThatDoesNotExist) {
  Harness tap;
  tap.session("s");
  const PeerId peer = tap.authed();
  tap.say(peer, hello("p", "def456"));
  const Message error = tap.take(peer);
  EXPECT_EQ(error.get("code"), "INVALID_SESSION");
  EXPECT_NE(error.get("message").find("def456"), std::string::npos);
  tap.say(peer, hello("p", "s"));
  EXPECT_EQ(tap.take(peer).type(), "hello.ack");
}

// shows: P-HELLO-6
TEST(Hello, RefusesASessionThatIsEnding) {
  Harness tap;
  const PeerId session = tap.session("s");
  tap.bound("other", "s");
  const PeerId peer = tap.authed();
  tap.send(session, protocol::EndSession{""});
  tap.clear();
  tap.say(peer, hello("p", "s"));
  EXPECT_EQ(tap.errorCode(peer), "INVALID_SESSION");
}

TEST(Hello, AcceptsASessionThatLingers) {
  Harness tap;
  tap.cut(tap.session("s"));
  const PeerId peer = tap.authed();
  tap.say(peer, hello("p", "s"));
  EXPECT_EQ(tap.take(peer).type(), "hello.ack");
}

// shows: P-HELLO-4
TEST(Hello, WithoutASessionTakesTheOnlyOne) {
  Harness tap;
  const std::string text = R"({"type":"hello","name":"p","protocolVersion":2})";
  const PeerId peer = tap.authed();
  tap.say(peer, text);
  EXPECT_EQ(tap.errorCode(peer), "INVALID_SESSION");
  tap.session("one");
  tap.clear();
  tap.say(peer, text);
  EXPECT_EQ(tap.take(peer).get("sessionId"), "one");
  tap.session("two");
  const PeerId other = tap.authed();
  tap.say(other, text);
  EXPECT_EQ(tap.errorCode(other), "INVALID_SESSION");
}

// shows: P-TRUST-2, P-TRUST-6
TEST(Hello, OfASpawnedProviderIsForItsSessionOnly) {
  Harness tap;
  tap.session("s");
  tap.session("t");
  const PeerId peer = tap.open();
  tap.say(peer, auth(tap.state().authenticator.issueSpawnToken("s")));
  const Message list = tap.take(peer, "sessions");
  // Its own comes first, since many take active[0].
  EXPECT_EQ(list.get("active.0.id"), "s");
  EXPECT_EQ(list.get("active.0.cwd"), "/code/s");
  EXPECT_EQ(list.get("active.1.cwd"), kAbsent);
  tap.say(peer, hello("p", "t"));
  EXPECT_EQ(tap.errorCode(peer), "INVALID_SESSION");
  tap.say(peer, hello("p", "all"));
  EXPECT_EQ(tap.errorCode(peer), "UNAUTHORIZED");
  tap.say(peer, R"({"type":"hello","name":"p","protocolVersion":2})");
  EXPECT_EQ(tap.take(peer).get("sessionId"), "s");
}

// shows: P-HELLO-1
TEST(Hello, NamesTheFieldThatIsWrong) {
  Harness tap;
  tap.session("s");
  const PeerId peer = tap.authed();
  tap.say(peer, hello("p", "s", R"([{"name":"a"},{"name":"b c"}])"));
  const Message error = tap.take(peer);
  EXPECT_EQ(error.get("code"), "INVALID_JSON");
  EXPECT_EQ(error.get("replyTo"), "hello");
  EXPECT_EQ(error.get("message").substr(0, 20), "hello.tools[1].name:");
}

// shows: P-TOOL-5
TEST(Hello, RefusesMoreThan100Tools) {
  Harness tap;
  tap.session("s");
  const PeerId peer = tap.authed();
  std::vector<std::string> names;
  for (int i = 0; i < 101; ++i) names.push_back("tool" + std::to_string(i));
  tap.say(peer, hello("p", "s", tools(names)));
  EXPECT_EQ(tap.errorCode(peer), "PAYLOAD_TOO_LARGE");
  names.pop_back();
  tap.say(peer, hello("p", "s", tools(names)));
  EXPECT_EQ(tap.take(peer).type(), "hello.ack");
}

// shows: P-ID-1
TEST(Hello, RefusesANameThatIsTakenInTheSession) {
  Harness tap;
  tap.session("s");
  tap.session("t");
  tap.bound("p", "s");
  const PeerId peer = tap.authed();
  tap.say(peer, hello("p", "s"));
  EXPECT_EQ(tap.errorCode(peer), "DUPLICATE_INSTANCE");
  tap.say(peer, hello("p", "t"));
  EXPECT_EQ(tap.take(peer).type(), "hello.ack");
}

// shows: P-HELLO-11
TEST(Hello, IsSaidInTheTimelineOnce) {
  Harness tap;
  const PeerId session = tap.session("s");
  tap.bound("none", "s");
  EXPECT_EQ(tap.timeline(session), "");
  tap.bound("one", "s", {"a"});
  EXPECT_EQ(tap.timeline(session), "tap: one is here: a\n");
  tap.bound("two", "s", {"b", "c"});
  EXPECT_EQ(tap.timeline(session), "tap: two is here: b, c\n");
}

// shows: P-HELLO-10
TEST(Hello, MayBeRepeatedAfterARefusal) {
  Harness tap;
  tap.session("s");
  tap.bound("first", "s", {"greet"});
  const PeerId peer = tap.authed();
  tap.say(peer, hello("p", "s", tools({"greet"})));
  EXPECT_EQ(tap.errorCode(peer), "TOOL_CONFLICT");
  EXPECT_FALSE(tap.closed(peer));
  tap.say(peer, hello("p", "s", tools({"greet2"})));
  EXPECT_EQ(tap.take(peer).type(), "hello.ack");
}

// shows: P-HELLO-9
TEST(Hello, OfSeveralProvidersEachGetsAnIdOfItsOwn) {
  Harness tap;
  tap.session("s");
  std::set<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    const PeerId peer = tap.authed();
    tap.say(peer, hello("p" + std::to_string(i), "s"));
    ids.insert(tap.take(peer).get("providerId"));
  }
  EXPECT_EQ(ids.size(), 20u);
}

}  // namespace
}  // namespace tap::gateway::test
