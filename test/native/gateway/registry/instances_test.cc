// Several instances of a provider: shared tools, their target, and the list of instances.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

std::string tab(std::string_view instance, std::string_view title, std::string_view toolArray) {
  return R"({"type":"hello","protocolVersion":2,"name":"web","session":"s","instance":)" +
         quote(instance) + R"(,"metadata":{"title":)" + quote(title) + R"(},"tools":)" +
         std::string(toolArray) + "}";
}

struct Instances : ::testing::Test {
  Harness tap;
  PeerId session = tap.session("s");

  PeerId open(const std::string& instance, const std::vector<std::string>& names = {"shot"}) {
    const PeerId peer = tap.authed();
    tap.say(peer, tab(instance, "title of " + instance, tools(names)));
    EXPECT_EQ(tap.take(peer).type(), "hello.ack");
    tap.clear();
    return peer;
  }
  protocol::Tools sync() {
    tap.advance(200);
    const auto event = tap.confirmTools(session);
    EXPECT_TRUE(event.has_value());
    return event.value_or(protocol::Tools{});
  }
  // Who got the call, and with which arguments.
  std::string routed(const std::string& args, const std::vector<PeerId>& to) {
    tap.call(session, "c" + std::to_string(++calls_), "shot", args);
    for (size_t i = 0; i < to.size(); ++i) {
      if (tap.count(to[i], "tool.call") == 0) continue;
      const Message call = tap.take(to[i], "tool.call");
      tap.say(to[i], result(call.get("id")));
      return std::to_string(i) + " " + call.get("args");
    }
    return tap.outcome(session);
  }

 private:
  int calls_ = 0;
};

// shows: P-INST-1
TEST_F(Instances, TakeATargetFromTheFirstOn) {
  open("tab-1");
  const protocol::Tools event = sync();
  ASSERT_EQ(event.set.size(), 1u);
  ASSERT_EQ(event.set[0].definitions.size(), 2u);
  const Message shot(event.set[0].definitions[0]);
  EXPECT_EQ(shot.get("name"), "shot");
  EXPECT_EQ(shot.get("parameters.type"), "object");
  EXPECT_EQ(shot.get("parameters.properties.target.type"), "string");
  EXPECT_EQ(shot.text().find("tab-1"), std::string::npos);
  EXPECT_EQ(Message(event.set[0].definitions[1]).get("name"), "list_web_instances");
}

// shows: P-INST-7
TEST_F(Instances, ComeAndGoWithoutASynchronisation) {
  const PeerId first = open("tab-1");
  sync();
  tap.clear();
  const PeerId second = open("tab-2");
  tap.advance(1'000);
  tap.say(first, kGoodbye);
  tap.advance(1'000);
  open("tab-3");
  tap.say(second, kGoodbye);
  tap.advance(60'000);
  EXPECT_EQ(tap.count<protocol::Tools>(session), 0u);
  EXPECT_EQ(tap.timeline(session), "");
}

// shows: P-INST-1
TEST_F(Instances, WithoutInstanceToolsStayAsTheyAre) {
  tap.bound("plain", "s", {"shot"});
  const protocol::Tools event = sync();
  ASSERT_EQ(event.set[0].definitions.size(), 1u);
  EXPECT_EQ(event.set[0].definitions[0].find("target"), std::string::npos);
}

// shows: P-INST-2
TEST_F(Instances, AreListedByTheMetaTool) {
  open("tab-1");
  open("tab-2");
  tap.call(session, "1", "list_web_instances");
  EXPECT_EQ(tap.outcome(session),
            R"(1 ok [{"target":"tab-2","metadata":{"title":"title of tab-2"}},)"
            R"({"target":"tab-1","metadata":{"title":"title of tab-1"}}])");
}

// shows: P-INST-3
TEST_F(Instances, GetTheCallsThatAreForThem) {
  const std::vector<PeerId> tabs{open("tab-1"), open("tab-2")};
  EXPECT_EQ(routed(R"({"target":"tab-1","x":1})", tabs), R"(0 {"x":1})");
  EXPECT_EQ(routed(R"({"x":1,"target":"tab-2"})", tabs), R"(1 {"x":1})");
}

// shows: P-INST-4
TEST_F(Instances, WithoutATargetTheMostRecentlyActiveOne) {
  const std::vector<PeerId> tabs{open("tab-1"), open("tab-2")};
  EXPECT_EQ(routed("{}", tabs), "1 {}");  // bound last
  EXPECT_EQ(routed(R"({"target":"tab-1"})", tabs), "0 {}");
  EXPECT_EQ(routed("{}", tabs), "0 {}");  // called last
  tap.say(tabs[1], push("keep", "e"));
  EXPECT_EQ(routed("{}", tabs), "1 {}");  // pushed last
}

// shows: P-INST-4
TEST_F(Instances, OnlyThoseThatHaveTheTool) {
  const std::vector<PeerId> tabs{open("tab-1"), open("tab-2", {"other"})};
  EXPECT_EQ(routed("{}", tabs), "0 {}");
}

// shows: P-INST-5
TEST_F(Instances, AnUnknownTargetIsNotFoundAndTheKnownOnesAreNamed) {
  open("tab-1");
  open("tab-2");
  tap.call(session, "1", "shot", R"({"target":"tab-9"})");
  const auto failed = tap.expect<protocol::CallResult>(session);
  EXPECT_EQ(failed.code, protocol::ErrorCode::NotFound);
  for (const char* name : {"tab-9", "tab-1", "tab-2"}) {
    EXPECT_NE(failed.text.find(name), std::string::npos) << failed.text;
  }
}

// shows: P-ID-1
TEST_F(Instances, OfTheSameIdAreOneTooMany) {
  open("tab-1");
  const PeerId peer = tap.authed();
  tap.say(peer, tab("tab-1", "t", "[]"));
  EXPECT_EQ(tap.errorCode(peer), "DUPLICATE_INSTANCE");
}

// shows: P-INST-7
TEST_F(Instances, TheLastOneTakesTheToolsAlong) {
  const PeerId peer = open("tab-1");
  sync();
  tap.say(peer, kGoodbye);
  tap.advance(200);
  EXPECT_EQ(tap.expect<protocol::Tools>(session).drop, std::vector<std::string>{"web"});
  tap.call(session, "1", "list_web_instances");
  EXPECT_EQ(tap.outcome(session), "1 DISCONNECTED");
}

// shows: P-INST-6
TEST_F(Instances, TheNamesOfTheirListsAreReserved) {
  open("tab-1");
  const PeerId peer = tap.authed();
  for (const char* name : {"list_web", "list_web_instances", "list_web_tabs", "list_web-tabs"}) {
    tap.say(peer, hello("p", "s", tools({name})));
    EXPECT_EQ(tap.errorCode(peer), "TOOL_CONFLICT") << name;
  }
  tap.say(peer, tab("tab-2", "t", tools({"list_web_instances"})));
  EXPECT_EQ(tap.errorCode(peer), "TOOL_CONFLICT");
  tap.say(peer, hello("p", "s", tools({"list_webs", "list_p_things"})));
  EXPECT_EQ(tap.take(peer).type(), "hello.ack");
}

// shows: P-INST-8
TEST_F(Instances, TargetIsTheGateways) {
  const PeerId peer = tap.authed();
  const std::string own =
      "[" +
      tool("shot", R"(,"parameters":{"type":"object","properties":{"target":{"type":"number"}}})") +
      "]";
  tap.say(peer, tab("tab-1", "t", own));
  EXPECT_EQ(tap.errorCode(peer), "TOOL_CONFLICT");
  tap.say(peer, hello("p", "s", own));
  EXPECT_EQ(tap.take(peer).type(), "hello.ack");
  tap.clear();
  tap.call(session, "1", "shot", R"({"target":7})");
  EXPECT_EQ(tap.take(peer).get("args"), R"({"target":7})");
}

// shows: P-INST-8
TEST(InstancesOfATargetedTool, AreRefusedWhereAToolOfThatNameHasATargetItself) {
  Harness tap;
  const PeerId session = tap.session("s");
  tap.boundWith("deploy", "s",
                "[" +
                    tool("ship", R"(,"parameters":{"type":"object",)"
                                 R"("properties":{"target":{"type":"string"}}})") +
                    "]");
  const PeerId late = tap.authed();
  tap.say(late, R"({"type":"hello","protocolVersion":2,"name":"deploy","instance":"2",)"
                R"("session":"s"})");
  EXPECT_EQ(tap.errorCode(late), "TOOL_CONFLICT");
  (void)session;
}

// shows: P-HELLO-3
TEST(Metadata, IsBoundedSinceTheModelReadsIt) {
  Harness tap;
  tap.session("s");
  const auto with = [](size_t bytes) {
    return R"({"type":"hello","protocolVersion":2,"name":"m","session":"s","metadata":{"a":")" +
           std::string(bytes - 8, 'x') + R"("}})";
  };
  for (const size_t bytes : {16383, 16384}) {
    const PeerId peer = tap.authed();
    tap.say(peer, with(bytes));
    EXPECT_EQ(tap.take(peer).type(), "hello.ack");
    tap.lose(peer);
  }
  const PeerId peer = tap.authed();
  tap.say(peer, with(16385));
  EXPECT_EQ(tap.errorCode(peer), "INVALID_JSON");
}

}  // namespace
}  // namespace tap::gateway::test
