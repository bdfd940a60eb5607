// Calls and other requests that the gateway cannot read are answered at once, on both ways in: over
// the link (sessionText), and of a session in this process (sessionMessage).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gateway/harness.h"
#include "protocol/link/session_codec.h"
#include "protocol/provider/refused_requests.h"

namespace tap::gateway::test {
namespace {

std::string nested(int depth) {
  if (depth == 1) return R"({"a":0})";
  const auto levels = static_cast<size_t>(depth - 1);
  return "{\"a\":" + std::string(levels, '[') + std::string(levels, ']') + "}";
}

const std::vector<std::string> kNoObjects{
    "[1,2]", "\"a string\"", "[{}]", "\"target\"", "[[\"a\"]]", "[\"x\"]", "null", "true", "12"};

struct Rig {
  Harness tap;
  PeerId session = tap.session("s");
  PeerId provider = tap.authed();

  Rig() {
    std::string text = hello("tabs", "s", tools({"click"}));
    text.pop_back();
    tap.say(provider, text + R"(,"instance":"one"})");
    EXPECT_EQ(tap.take(provider).type(), "hello.ack");
    tap.clear();
  }
  void link(const std::string& args, const std::string& id = "1") {
    tap.linkText(session,
                 R"({"type":"call","callId":")" + id + R"(","tool":"click","args":)" + args + "}");
  }
};

void expectRefused(Rig& rig, std::string_view says) {
  EXPECT_EQ(rig.tap.count(rig.provider, "tool.call"), 0u);
  const auto result = rig.tap.expect<protocol::CallResult>(rig.session);
  EXPECT_EQ(result.callId, "1");
  EXPECT_TRUE(result.failed);
  EXPECT_EQ(result.code, protocol::ErrorCode::InvalidJson);
  EXPECT_NE(result.text.find(says), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("127 levels deep"), std::string::npos) << result.text;
  EXPECT_TRUE(rig.tap.state().calls.empty());
  EXPECT_EQ(rig.tap.count<protocol::CallResult>(rig.session), 0u);
}

// shows: P-CONN-7
TEST(Arguments, ThatAreNoObjectAreRefusedOnBothWaysIn) {
  for (const std::string& args : kNoObjects) {
    SCOPED_TRACE(args);
    Rig rig;
    rig.tap.call(rig.session, "1", "click", args);
    expectRefused(rig, "must be a JSON object");
    rig.link(args);
    expectRefused(rig, "must be a JSON object");
  }
}

// shows: P-CONN-7
TEST(Arguments, ThatAreBrokenAreRefusedInOneProcess) {
  for (const char* args : {"{", "{\"a\"", "{\"a\":}", "{\"target\":\"", "{\"a\":1}x", "{'a':1}",
                           "{\"a\":\"\\u12\"}", "\xef\xbb\xbf{}", "{\"a\":\"\xff\"}"}) {
    SCOPED_TRACE(args);
    Rig rig;
    rig.tap.call(rig.session, "1", "click", args);
    expectRefused(rig, "its arguments are not ");
  }
}

// shows: P-CONN-7
TEST(Arguments, ArriveAtEveryDepthThatAProvidersMessageMayHave) {
  for (int depth = 1; depth <= protocol::kMaxArgumentsDepth; ++depth) {
    Rig rig;
    rig.tap.call(rig.session, "1", "click", nested(depth));
    rig.link(nested(depth), "2");
    for (int way = 0; way < 2; ++way) {
      const Message call = rig.tap.take(rig.provider, "tool.call");
      EXPECT_EQ(call.get("args"), nested(depth)) << depth;
    }
  }
  for (int depth = protocol::kMaxArgumentsDepth + 1; depth < 200; ++depth) {
    Rig rig;
    rig.tap.call(rig.session, "1", "click", nested(depth));
    expectRefused(rig, "are nested more than 127 levels deep");
    rig.link(nested(depth));
    expectRefused(rig, "are nested more than 127 levels deep");
  }
}

TEST(Arguments, AreTakenWithoutTheBlanksAround) {
  Rig rig;
  rig.tap.call(rig.session, "1", "click", " \n{\"a\":1,\"target\":\"one\"}\t");
  EXPECT_EQ(rig.tap.take(rig.provider, "tool.call").get("args"), R"({"a":1})");
}

TEST(Arguments, OfAControlClientAreRefusedTheSameWay) {
  Rig rig;
  const PeerId link = rig.tap.newPeer();
  rig.tap.send(link, protocol::OpenControl{"", "s"});
  rig.tap.linkText(link, R"({"type":"call","callId":"7","tool":"click","args":[]})");
  EXPECT_EQ(rig.tap.outcome(link), "7 INVALID_JSON");
  rig.tap.call(link, "8", "click", "[]");
  EXPECT_EQ(rig.tap.outcome(link), "8 INVALID_JSON");
}

TEST(Arguments, OfAStrangerGetNoAnswerButTheUsual) {
  Harness tap;
  const PeerId stranger = tap.newPeer();
  tap.linkText(stranger, R"({"type":"call","callId":"7","tool":"click","args":[]})");
  EXPECT_TRUE(tap.quiet(stranger));
  tap.call(stranger, "8", "click", "[]");
  EXPECT_EQ(tap.expect<protocol::Refused>(stranger).code, "NOT_REGISTERED");
}

TEST(UnreadableRequest, ACheckIsDeniedAtOnce) {
  Rig rig;
  rig.tap.linkText(rig.session, R"({"type":"hook.check","checkId":"c","tool":"bash","args":)" +
                                    nested(140) + "}");
  const auto verdict = rig.tap.expect<protocol::HookVerdict>(rig.session);
  EXPECT_EQ(verdict.checkId, "c");
  ASSERT_TRUE(verdict.deny.has_value());
  EXPECT_NE(verdict.deny->find("bash"), std::string::npos);
  EXPECT_NE(verdict.deny->find("nested more than 127 levels deep"), std::string::npos);
  rig.tap.linkText(rig.session, R"({"type":"hook.check","checkId":"d","tool":"bash"})");
  EXPECT_TRUE(rig.tap.expect<protocol::HookVerdict>(rig.session).deny.has_value());
}

TEST(UnreadableRequest, APromptAndASectionAreAnsweredAtOnce) {
  Rig rig;
  rig.tap.linkText(rig.session,
                   R"({"type":"prompt.submitted","promptId":"p","x":)" + nested(200) + "}");
  EXPECT_EQ(rig.tap.expect<protocol::PromptContext>(rig.session).promptId, "p");
  rig.tap.linkText(rig.session, R"({"type":"section.build","buildId":"b","section":5})");
  const auto text = rig.tap.expect<protocol::SectionText>(rig.session);
  EXPECT_EQ(text.buildId, "b");
  EXPECT_FALSE(text.content.has_value());
}

TEST(UnreadableRequest, WithoutAnIdIsLoggedOnly) {
  Rig rig;
  for (const char* text : {"", "{", "[]", "{\"type\":\"call\"}", "{\"type\":\"call\",\"callId\":5}",
                           "{\"type\":\"call\",\"callId\":\"\",\"tool\":\"t\",\"args\":[]}",
                           "{\"type\":\"wave\",\"callId\":\"1\"}", "\xff\xfe"}) {
    rig.tap.linkText(rig.session, text);
    EXPECT_TRUE(rig.tap.quiet(rig.session)) << text;
  }
  EXPECT_NE(rig.tap.logged().find("link frame"), std::string::npos);
}

TEST(UnreadableRequest, IsCountedAmongTheFailures) {
  Rig rig;
  rig.link("[]");
  ASSERT_FALSE(rig.tap.state().stats.failures().empty());
  EXPECT_EQ(rig.tap.state().stats.failures().back().code, "INVALID_JSON");
  EXPECT_EQ(rig.tap.state().stats.failures().back().tool, "click");
}

// Parts of a message are passed on inside other messages.
TEST(Envelope, ADeepDefinitionRuleOrResultReachesTheSession) {
  std::string deep = nested(json::kMaxDepth - 4);
  protocol::Tools tools;
  tools.set.push_back({"p", "d", {R"({"name":"t","parameters":)" + deep + "}"}});
  protocol::Hooks hooks;
  hooks.guards.push_back({"p", {R"({"action":"deny","x":)" + deep + "}"}});
  protocol::CallResult result;
  result.callId = "1";
  result.data = Slice(R"([{"target":"t","metadata":)" + nested(json::kMaxDepth - 1) + "}]");
  protocol::SessionDecoder decoder;
  for (const protocol::SessionEvent& event :
       std::vector<protocol::SessionEvent>{tools, hooks, result}) {
    const protocol::SplitText text = protocol::encode(event);
    const std::string whole = text.head + std::string(text.middle.view()) + text.tail;
    const auto decoded = decoder.event(Slice::borrow(whole));
    ASSERT_TRUE(decoded.ok()) << decoded.error();
    EXPECT_EQ(decoded.value().index(), event.index());
  }
  const std::string happened =
      R"({"type":"event","event":"assistant.message","data":{"toolRequests":[{"args":)" +
      nested(protocol::kMaxArgumentsDepth) + "}]}}";
  EXPECT_TRUE(decoder.message(Slice::borrow(happened)).ok());
}

}  // namespace
}  // namespace tap::gateway::test
