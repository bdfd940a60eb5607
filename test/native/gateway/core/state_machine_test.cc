// Every message type in every state, authentication, and the cost of a message in a wrong state.
#include <gtest/gtest.h>

#include <map>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

const std::vector<std::pair<std::string, std::string>> kMessages{
    {"auth", auth()},
    {"hello", hello("again", "s")},
    {"tool.result", result("nobody's")},
    {"auth.confirm", R"({"type":"auth.confirm","code":"123456"})"},
    {"tool.progress", R"({"type":"tool.progress","id":"nobody's","message":"m"})"},
    {"push", push("keep", "e")},
    {"tools.update", update("[]")},
    {"hooks.update", R"({"type":"hooks.update"})"},
    {"context.update", R"({"type":"context.update","context":"c"})"},
    {"gate.result", R"({"type":"gate.result","callId":"nobody's","decision":"allow"})"},
    {"transform.result", R"({"type":"transform.result","callId":"nobody's","content":"c"})"},
    {"filter.set", R"({"type":"filter.set","stream":"p","rules":[]})"},
    {"stream.query", R"({"type":"stream.query","queryId":"q","streams":["p"]})"},
    {"session.ready", R"({"type":"session.ready","sessionId":"s"})"},
    {"withdraw", R"({"type":"withdraw","key":"k"})"},
    {"shutdown.ready", R"({"type":"shutdown.ready","sessionId":"s"})"},
    {"goodbye", kGoodbye},
};

// shows: P-HOOK-35
TEST(Gateway, IsTriedHereWithEveryTypeOfMessage) {
  EXPECT_EQ(kMessages.size(), protocol::kProviderMessageTable.size());
}

// shows: P-AUTH-3, P-SESSION-1
TEST(Gateway, AnswersAuthWithTheSessions) {
  Harness tap;
  tap.session("abc");
  const PeerId peer = tap.open();
  tap.say(peer, auth());
  const Message sessions = tap.take(peer);
  EXPECT_EQ(
      sessions.text(),
      R"({"type":"sessions","active":[{"id":"abc","label":"label of abc","cwd":"/code/abc","foreground":false}]})");
  EXPECT_TRUE(tap.quiet(peer));
  EXPECT_FALSE(tap.closed(peer));
}

// shows: P-SESSION-1
TEST(Gateway, AnswersAuthWithAnEmptyListWhereThereIsNoSession) {
  Harness tap;
  const PeerId peer = tap.open();
  tap.say(peer, auth());
  EXPECT_EQ(tap.take(peer).text(), R"({"type":"sessions","active":[]})");
}

// shows: P-AUTH-4
TEST(Gateway, ClosesOnAWrongToken) {
  for (const std::string& token :
       {std::string("ptk-wrong"), std::string(kToken) + "x", std::string(kToken).substr(1)}) {
    Harness tap;
    const PeerId peer = tap.open();
    tap.say(peer, auth(token));
    const Message error = tap.take(peer);
    EXPECT_EQ(error.get("code"), "AUTH_FAILED");
    EXPECT_EQ(error.get("replyTo"), "auth");
    EXPECT_EQ(error.get("providerId"), kAbsent);
    EXPECT_EQ(tap.closeCode(peer), 1008);
    EXPECT_EQ(tap.logged().find(token), std::string::npos);
  }
}

// shows: P-CONN-8
TEST(Gateway, RefusesEverythingBeforeAuth) {
  for (const auto& [type, text] : kMessages) {
    if (type == "auth") continue;
    Harness tap;
    tap.session("s");
    const PeerId peer = tap.open();
    tap.say(peer, text);
    const Message error = tap.take(peer);
    EXPECT_EQ(error.get("code"), "AUTH_FAILED") << type;
    EXPECT_EQ(error.get("replyTo"), type);
    EXPECT_TRUE(tap.closed(peer)) << type;
  }
}

// shows: P-CONN-8
TEST(Gateway, RefusesNonsenseBeforeAuth) {
  for (const char* text :
       {"", "{", "[]", R"({"type":"wave"})", R"({"type":"auth"})", R"({"type":"auth","token":5})",
        R"({"type":"auth","mode":"pair"})", R"({"type":"auth","mode":"pair","name":5})"}) {
    Harness tap;
    const PeerId peer = tap.open();
    tap.say(peer, text);
    EXPECT_EQ(tap.errorCode(peer), "AUTH_FAILED") << text;
    EXPECT_TRUE(tap.closed(peer)) << text;
  }
}

// shows: P-CONN-8
TEST(Gateway, RefusesAnOversizeMessageBeforeAuth) {
  Harness tap;
  const PeerId peer = tap.open();
  tap.oversize(peer, 6'000'000);
  EXPECT_EQ(tap.errorCode(peer), "AUTH_FAILED");
  EXPECT_TRUE(tap.closed(peer));
}

// shows: P-AUTH-10
TEST(Gateway, GivesAWebPageNothingForTheToken) {
  Harness tap;
  tap.session("secret-session");
  const PeerId peer = tap.open("https://page.example");
  tap.say(peer, auth());
  const Message error = tap.take(peer);
  EXPECT_EQ(error.get("code"), "AUTH_FAILED");
  EXPECT_TRUE(tap.closed(peer));
  EXPECT_TRUE(tap.quiet(peer));
}

// shows: P-AUTH-10
TEST(Gateway, TellsAWebPageNothingAboutTheToken) {
  Harness tap;
  const PeerId right = tap.open("https://page.example");
  tap.say(right, auth());
  const PeerId wrong = tap.open("https://page.example");
  tap.say(wrong, auth("ptk-guess"));
  EXPECT_EQ(tap.take(right).text(), tap.take(wrong).text());
}

// shows: P-CONN-14
TEST(Gateway, ForgetsAClosedConnection) {
  Harness tap;
  const PeerId peer = tap.open();
  tap.say(peer, auth("wrong"));
  ASSERT_TRUE(tap.closed(peer));
  tap.say(peer, auth());
  tap.oversize(peer, 1);
  tap.backlog(peer, 1 << 30);
  tap.lose(peer);
  EXPECT_EQ(tap.count(peer, "sessions"), 0u);
}

// shows: P-CONN-10, P-HOOK-35
TEST(Gateway, AllowsOnlyHelloAndGoodbyeBeforeHello) {
  for (const auto& [type, text] : kMessages) {
    Harness tap;
    tap.session("s");
    const PeerId peer = tap.authed();
    tap.say(peer, text);
    if (type == "hello") {
      EXPECT_EQ(tap.take(peer).type(), "hello.ack");
    } else if (type == "goodbye") {
      EXPECT_EQ(tap.closeCode(peer), 1000);
    } else {
      const Message error = tap.take(peer);
      EXPECT_EQ(error.get("code"), "UNAUTHORIZED") << type;
      EXPECT_EQ(error.get("replyTo"), type);
      EXPECT_FALSE(tap.closed(peer)) << type;
    }
  }
}

// shows: P-CONN-11, P-BIND-3
TEST(Gateway, AllowsAllButAuthWhileBound) {
  const std::map<std::string, std::string> refused{
      {"auth", "UNAUTHORIZED"},
      {"auth.confirm", "UNAUTHORIZED"},
      {"session.ready", "UNAUTHORIZED"},     // not bound to "all"
      {"shutdown.ready", "INVALID_SESSION"}  // the session is not ending
  };
  for (const auto& [type, text] : kMessages) {
    Harness tap;
    tap.session("s");
    const PeerId peer = tap.bound("p", "s");
    tap.say(peer, text);
    const auto code = refused.find(type);
    EXPECT_EQ(tap.errorCode(peer), code == refused.end() ? kAbsent : code->second) << type;
    EXPECT_EQ(tap.closed(peer), type == "goodbye") << type;
  }
}

// shows: P-CONN-9
TEST(Gateway, AllowsOnlyTheCodeWhilePairing) {
  for (const auto& [type, text] : kMessages) {
    Harness tap;
    tap.session("s");
    const PeerId peer = tap.open();
    tap.say(peer, R"({"type":"auth","mode":"pair"})");
    EXPECT_EQ(tap.take(peer).type(), "auth.pairing");
    tap.say(peer, text);  // the code in it is wrong, too
    EXPECT_EQ(tap.errorCode(peer), "AUTH_FAILED") << type;
    EXPECT_TRUE(tap.closed(peer)) << type;
  }
}

// shows: P-CONN-12, P-HOOK-35
TEST(Gateway, AllowsANewHelloAfterTheSessionHasEnded) {
  for (const auto& [type, text] : kMessages) {
    Harness tap;
    const PeerId old = tap.session("old");
    tap.session("s");
    const PeerId peer = tap.bound("p", "old");
    tap.send(old, protocol::EndSession{"over"});
    tap.advance(10'000);
    tap.clear();
    tap.say(peer, text);
    if (type == "hello") {
      EXPECT_EQ(tap.take(peer).type(), "hello.ack");
    } else if (type == "goodbye") {
      EXPECT_TRUE(tap.closed(peer));
    } else {
      // Answers may have crossed the end of the session: they are dropped. shutdown.ready is for a
      // different session.
      const bool answer = type == "tool.result" || type == "tool.progress" ||
                          type == "gate.result" || type == "transform.result";
      const std::string_view other =
          type == "shutdown.ready" ? "INVALID_SESSION" : std::string_view("UNAUTHORIZED");
      EXPECT_EQ(tap.errorCode(peer), answer ? kAbsent : other) << type;
      EXPECT_FALSE(tap.closed(peer));
    }
  }
}

// shows: P-ERROR-4
TEST(Gateway, RefusesUnknownTypesAndGoesOn) {
  Harness tap;
  tap.session("s");
  for (const PeerId peer : {tap.authed(), tap.bound("p", "s")}) {
    for (const char* type : {"wave", "tool.call", "sessions", "subscribe", ""}) {
      tap.say(peer, R"({"type":")" + std::string(type) + "\"}");
      const Message error = tap.take(peer);
      EXPECT_EQ(error.get("code"), "UNKNOWN_TYPE");
      EXPECT_EQ(error.get("replyTo"), std::string(type).empty() ? kAbsent : type);
      EXPECT_FALSE(tap.closed(peer));
    }
  }
}

// shows: P-ERROR-3
TEST(Gateway, RefusesNonsenseAndGoesOn) {
  Harness tap;
  tap.session("s");
  for (const PeerId peer : {tap.authed(), tap.bound("p", "s")}) {
    for (const char* text : {"", "{", "[]", "5", R"({"typ":"push"})"}) {
      tap.say(peer, text);
      const Message error = tap.take(peer);
      EXPECT_EQ(error.get("code"), "INVALID_JSON") << text;
      EXPECT_EQ(error.get("replyTo"), kAbsent) << text;
      EXPECT_FALSE(tap.closed(peer));
    }
  }
}

// shows: P-HELLO-9, P-ERROR-1
TEST(Gateway, NamesTheProviderInItsErrors) {
  Harness tap;
  tap.session("s");
  const PeerId peer = tap.authed();
  tap.say(peer, hello("p", "s"));
  const std::string id = tap.take(peer, "hello.ack").get("providerId");
  EXPECT_EQ(id.substr(0, 2), "p-");
  tap.say(peer, "{");
  const Message error = tap.take(peer, "error");
  EXPECT_EQ(error.get("providerId"), id);
  EXPECT_EQ(error.get("sessionId"), "s");
  EXPECT_NE(error.get("message"), kAbsent);
}

// shows: P-LIFE-6
TEST(Gateway, GoodbyeEndsTheConnection) {
  Harness tap;
  tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"greet"});
  tap.say(peer, R"({"type":"goodbye","reason":"shutting down"})");
  EXPECT_EQ(tap.closeCode(peer), 1000);
  EXPECT_NE(tap.logged().find("shutting down"), std::string::npos);
}

// shows: P-LIFE-6
TEST(Gateway, AMisshapenGoodbyeIsRefusedAndNotObeyed) {
  Harness tap;
  tap.session("s");
  const PeerId peer = tap.bound("p", "s");
  tap.say(peer, R"({"type":"goodbye","reason":{}})");
  EXPECT_EQ(tap.errorCode(peer), "INVALID_JSON");
  EXPECT_FALSE(tap.closed(peer));
}

}  // namespace
}  // namespace tap::gateway::test
