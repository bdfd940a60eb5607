// Which tools a provider may declare, and how it replaces them.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

// The tool names in the session's last change for this provider.
std::string synced(Harness& tap, PeerId session) {
  tap.advance(200);
  const auto event = tap.confirmTools(session);
  if (!event) return "nothing";
  std::string text;
  for (const protocol::ProviderTools& set : event->set) {
    text += set.provider + ":";
    for (const std::string& json : set.definitions) text += " " + Message(json).get("name");
    text += ";";
  }
  for (const std::string& name : event->drop) text += "-" + name + ";";
  return text;
}

// shows: P-SYNC-1, P-SYNC-2
TEST(Tools, ReachTheSessionAfterHello) {
  Harness tap;
  const PeerId session = tap.session("s");
  tap.bound("p", "s", {"b", "a"});
  EXPECT_EQ(synced(tap, session), "p: b a;");
}

// shows: P-SESSION-9
TEST(Tools, BelongToTheSessionOfTheirProviderOnly) {
  Harness tap;
  const PeerId one = tap.session("one");
  const PeerId two = tap.session("two");
  tap.bound("p", "one", {"a"});
  tap.bound("p", "two", {"b"});
  EXPECT_EQ(synced(tap, one), "p: a;");
  EXPECT_EQ(synced(tap, two), "p: b;");
  tap.call(one, "1", "b");
  EXPECT_EQ(tap.outcome(one), "1 DISCONNECTED");
}

// shows: P-TOOL-7
TEST(Tools, MayNotHaveTheNameOfAnotherProvidersTool) {
  Harness tap;
  tap.session("s");
  tap.session("t");
  tap.bound("p", "s", {"greet"});
  const PeerId other = tap.authed();
  tap.say(other, hello("q", "s", tools({"fine", "greet"})));
  const Message error = tap.take(other);
  EXPECT_EQ(error.get("code"), "TOOL_CONFLICT");
  EXPECT_NE(error.get("message").find("\"greet\" is a tool of provider \"p\""), std::string::npos);
  tap.say(other, hello("q", "t", tools({"greet"})));
  EXPECT_EQ(tap.take(other).type(), "hello.ack");
}

// shows: P-TOOL-7
TEST(Tools, MayNotHaveTheNameOfTapsOwnOrTheHosts) {
  Harness tap;
  const PeerId session = tap.session("s");
  tap.send(session, protocol::Update{{}, {}, {}, std::vector<std::string>{"bash", "view"}});
  const PeerId peer = tap.authed();
  for (const char* name : {"tap_status", "bash", "view"}) {
    tap.say(peer, hello("p", "s", tools({name})));
    EXPECT_EQ(tap.errorCode(peer), "TOOL_CONFLICT") << name;
  }
  tap.say(peer, hello("p", "s", tools({"bash2"})));
  EXPECT_EQ(tap.take(peer).type(), "hello.ack");
}

// shows: P-TOOL-9
TEST(Tools, OfAProviderThatLeavesAreFree) {
  Harness tap;
  tap.session("s");
  tap.say(tap.bound("p", "s", {"greet"}), kGoodbye);
  tap.lose(tap.bound("q", "s", {"greet"}));
  tap.bound("r", "s", {"greet"});
}

// shows: P-TOOL-8
TEST(Tools, OfTheHostThatAreKnownLateArePushedOut) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"bash", "greet"});
  EXPECT_EQ(synced(tap, session), "p: bash greet;");
  tap.send(session, protocol::Update{{}, {}, {}, std::vector<std::string>{"bash"}});
  const Message error = tap.take(peer, "error");
  EXPECT_EQ(error.get("code"), "TOOL_CONFLICT");
  EXPECT_NE(error.get("message").find("bash"), std::string::npos);
  EXPECT_EQ(synced(tap, session), "p: greet;");
  tap.call(session, "1", "bash");
  EXPECT_EQ(tap.outcome(session), "1 DISCONNECTED");
}

// shows: P-TOOL-8
TEST(Tools, ThatTheHostRefusesLeaveAloneAndTheOthersStay) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId bad = tap.bound("bad", "s", {"good_one", "bad_one"});
  tap.bound("good", "s", {"fine"});
  tap.advance(200);
  const auto event = tap.expect<protocol::Tools>(session);
  tap.clear();
  tap.send(session, protocol::SyncFailed{event.revision, "invalid name", {"bad_one"}});
  EXPECT_EQ(tap.errorCode(bad), "TOOL_CONFLICT");
  EXPECT_NE(tap.timeline(session).find("\"bad_one\" is left out"), std::string::npos);
  EXPECT_EQ(synced(tap, session), "bad: good_one;good: fine;");
}

// shows: P-UPDATE-1
TEST(ToolsUpdate, ReplacesTheWholeListSilently) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"a", "b"});
  (void)synced(tap, session);
  tap.say(peer, update(tools({"b", "c"})));
  EXPECT_TRUE(tap.quiet(peer));
  EXPECT_EQ(synced(tap, session), "p: b c;");
  tap.call(session, "1", "a");
  EXPECT_EQ(tap.outcome(session), "1 DISCONNECTED");
  tap.call(session, "2", "c");
  EXPECT_EQ(tap.take(peer).get("tool"), "c");
}

// shows: P-UPDATE-1
TEST(ToolsUpdate, OfNothingTakesAllToolsAway) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"a"});
  (void)synced(tap, session);
  tap.say(peer, update("[]"));
  EXPECT_EQ(synced(tap, session), "-p;");
}

// shows: P-UPDATE-3
TEST(ToolsUpdate, KeepsTheFormerListWhereItIsRefused) {
  Harness tap;
  const PeerId session = tap.session("s");
  tap.bound("other", "s", {"taken"});
  const PeerId peer = tap.bound("p", "s", {"a"});
  (void)synced(tap, session);
  const std::vector<std::pair<std::string, std::string>> bad{
      {update(tools({"b", "taken"})), "TOOL_CONFLICT"},
      {update(tools({"tap_status"})), "TOOL_CONFLICT"},
      {update(tools({"b", "b"})), "INVALID_JSON"},
      {update(tools({"not a name"})), "INVALID_JSON"},
      {update(R"({"b":1})"), "INVALID_JSON"},
      {R"({"type":"tools.update"})", "INVALID_JSON"},
      {R"({"type":"tools.update","sessionId":"t","tools":[]})", "INVALID_SESSION"},
  };
  for (const auto& [text, code] : bad) {
    tap.say(peer, text);
    const Message error = tap.take(peer);
    EXPECT_EQ(error.get("code"), code) << text;
    EXPECT_EQ(error.get("replyTo"), "tools.update");
    EXPECT_FALSE(tap.closed(peer));
  }
  EXPECT_EQ(synced(tap, session), "nothing");
  tap.call(session, "1", "a");
  EXPECT_EQ(tap.take(peer).get("tool"), "a");
}

// shows: P-TOOL-5
TEST(ToolsUpdate, RefusesMoreThan100Tools) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"a"});
  std::vector<std::string> names;
  for (int i = 0; i < 101; ++i) names.push_back("t" + std::to_string(i));
  tap.say(peer, update(tools(names)));
  EXPECT_EQ(tap.errorCode(peer), "PAYLOAD_TOO_LARGE");
  EXPECT_EQ(synced(tap, session), "p: a;");
}

// shows: P-UPDATE-5
TEST(ToolsUpdate, MayNameItsSession) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s");
  tap.say(peer, R"({"type":"tools.update","sessionId":"s","tools":)" + tools({"a"}) + "}");
  EXPECT_TRUE(tap.quiet(peer));
  EXPECT_EQ(synced(tap, session), "p: a;");
}

TEST(ToolsUpdate, MayRepeatItsOwnNames) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"a"});
  (void)synced(tap, session);
  tap.say(peer, update(tools({"a"})));
  EXPECT_TRUE(tap.quiet(peer));
  EXPECT_EQ(synced(tap, session), "nothing");
}

// shows: P-UPDATE-4
TEST(ToolsUpdate, LetsCallsOfRemovedToolsGoOn) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"a"});
  const std::string id = tap.callTo(session, peer, "1", "a");
  tap.say(peer, update("[]"));
  EXPECT_EQ(tap.outcome(session), "none");
  EXPECT_TRUE(tap.quiet(peer));
  tap.say(peer, result(id));
  EXPECT_EQ(tap.outcome(session), "1 ok \"done\"");
}

// shows: P-TOOL-10
TEST(Tools, NearTheLimitOfSomeModelsAreWarnedAboutOnce) {
  Harness tap;
  const PeerId session = tap.session("s");
  const auto many = [](const std::string& prefix, int count) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back(prefix + std::to_string(i));
    return names;
  };
  tap.bound("p", "s", many("a", 100));
  const PeerId second = tap.bound("q", "s", many("b", 19));
  EXPECT_EQ(tap.timeline(session).find("128"), std::string::npos);
  tap.say(second, update(tools(many("b", 20))));
  EXPECT_NE(tap.timeline(session).find("120 provider tools"), std::string::npos);
  tap.say(second, update(tools(many("b", 30))));
  EXPECT_EQ(tap.timeline(session), "");
}

}  // namespace
}  // namespace tap::gateway::test
