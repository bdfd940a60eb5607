// A provider's identity: the reconnect token, the state that it restores, and who may not use it.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

// A hello with an identity only.
std::string again(std::string_view name, std::string_view token, std::string_view more = "") {
  return R"({"type":"hello","protocolVersion":2,"name":)" + quote(name) + R"(,"reconnectToken":)" +
         quote(token) + std::string(more) + "}";
}

struct Identity : ::testing::Test {
  Harness tap;
  PeerId session = tap.session("s");
  PeerId other = tap.session("t");
  PeerId peer = tap.authed();
  std::string id;
  std::string token;

  void SetUp() override { bind("s"); }
  void bind(const std::string& where) {
    tap.say(peer, hello("p", where, tools({"greet"})));
    const Message ack = tap.take(peer, "hello.ack");
    id = ack.get("providerId");
    token = ack.get("reconnectToken");
    tap.advance(200);
    (void)tap.confirmTools(session);
    (void)tap.confirmTools(other);
    tap.clear();
  }
};

// shows: P-HELLO-7, P-ID-2
TEST_F(Identity, TheTokenBringsSessionToolsAndIdBack) {
  EXPECT_EQ(token.substr(0, 4), "tok-");
  EXPECT_EQ(token.size(), 52u);
  tap.lose(peer);
  tap.advance(199);
  const PeerId back = tap.authed();
  tap.say(back, again("p", token));
  const Message ack = tap.take(back);
  EXPECT_EQ(ack.get("sessionId"), "s");
  EXPECT_EQ(ack.get("providerId"), id);
  EXPECT_NE(ack.get("reconnectToken"), token);
  tap.advance(60'000);
  EXPECT_EQ(tap.timeline(session), "");
  EXPECT_EQ(tap.count<protocol::Tools>(session), 0u);
  tap.call(session, "1", "greet");
  EXPECT_EQ(tap.take(back, "tool.call").get("tool"), "greet");
}

// shows: P-ID-3
TEST_F(Identity, WhatIsDeclaredAnewCounts) {
  tap.lose(peer);
  const PeerId back = tap.authed();
  tap.say(back, again("p", token, R"(,"tools":[])"));
  EXPECT_EQ(tap.take(back).type(), "hello.ack");
  tap.call(session, "1", "greet");
  EXPECT_EQ(tap.outcome(session), "1 DISCONNECTED");
}

// shows: P-ID-4
TEST_F(Identity, TheTokenTakesOverFromAConnectionThatIsStillOpen) {
  tap.call(session, "1", "greet");
  const PeerId back = tap.authed();
  tap.say(back, again("p", token));
  EXPECT_EQ(tap.closeCode(peer), 1008);
  EXPECT_EQ(tap.outcome(session), "1 DISCONNECTED");
  const Message ack = tap.take(back);
  EXPECT_EQ(ack.get("sessionId"), "s");
  EXPECT_EQ(ack.get("providerId"), id);
  tap.call(session, "2", "greet");
  EXPECT_EQ(tap.take(back, "tool.call").get("tool"), "greet");
  tap.advance(60'000);
  EXPECT_EQ(tap.timeline(session), "");
}

// shows: P-ID-1
TEST_F(Identity, WithoutTheTokenItIsTaken) {
  const PeerId thief = tap.authed();
  for (const std::string& text : {hello("p", "s"), again("p", "tok-guess", R"(,"session":"s")"),
                                  again("p", token + "0", R"(,"session":"s")")}) {
    tap.say(thief, text);
    const Message error = tap.take(thief);
    EXPECT_EQ(error.get("code"), "DUPLICATE_INSTANCE");
    EXPECT_EQ(error.get("replyTo"), "hello");
  }
  EXPECT_FALSE(tap.closed(peer));
  tap.call(session, "1", "greet");
  EXPECT_EQ(tap.take(peer).type(), "tool.call");
}

// shows: P-ID-6
TEST_F(Identity, TheTokenIsForItsNameAndInstanceOnly) {
  const PeerId thief = tap.authed();
  tap.say(thief, again("q", token, R"(,"session":"s")"));
  EXPECT_EQ(tap.take(thief).type(), "hello.ack");
  EXPECT_FALSE(tap.closed(peer));
  const PeerId tab = tap.authed();
  tap.say(tab, again("p", token, R"(,"session":"s","instance":"tab")"));
  EXPECT_FALSE(tap.closed(peer));
  EXPECT_NE(tap.take(tab, "hello.ack").get("providerId"), id);
}

// shows: P-ID-5
TEST_F(Identity, TheTokenIsGoodOnce) {
  tap.lose(peer);
  const PeerId back = tap.authed();
  tap.say(back, again("p", token));
  EXPECT_EQ(tap.take(back).type(), "hello.ack");
  const PeerId replay = tap.authed();
  tap.say(replay, again("p", token, R"(,"session":"s")"));
  EXPECT_EQ(tap.errorCode(replay), "DUPLICATE_INSTANCE");
  EXPECT_FALSE(tap.closed(back));
  tap.lose(back);
  tap.say(replay, again("p", token));
  EXPECT_EQ(tap.errorCode(replay), "INVALID_SESSION");  // it does not restore the former state
}

// shows: P-ID-5
TEST_F(Identity, ANewHelloMakesTheOldTokenVoid) {
  const std::string old = token;
  bind("t");
  const PeerId replay = tap.authed();
  tap.say(replay, again("p", old));
  EXPECT_EQ(tap.errorCode(replay), "INVALID_SESSION");
  tap.say(replay, again("p", old, R"(,"session":"s")"));
  EXPECT_NE(tap.take(replay, "hello.ack").get("providerId"), id);
  EXPECT_FALSE(tap.closed(peer));
}

// shows: P-ID-5
TEST_F(Identity, AfterTheWindowTheTokenIsVoid) {
  tap.lose(peer);
  tap.advance(30'000);
  const PeerId back = tap.authed();
  tap.say(back, again("p", token));
  EXPECT_EQ(tap.errorCode(back), "INVALID_SESSION");
  tap.say(back, again("p", token, R"(,"session":"s")"));
  EXPECT_NE(tap.take(back, "hello.ack").get("providerId"), id);
}

// shows: P-ID-5
TEST_F(Identity, AGoodbyeMakesTheTokenVoid) {
  tap.say(peer, kGoodbye);
  const PeerId back = tap.authed();
  tap.say(back, again("p", token));
  EXPECT_EQ(tap.errorCode(back), "INVALID_SESSION");
}

// shows: P-ID-6, P-ID-10
TEST_F(Identity, TheTokenIsForTheSameTrustOnly) {
  const std::string code =
      tap.state()
          .authenticator.startPairing(tap.newPeer(), {"x", "s", {}}, {}, tap.now().steady)
          .value();
  EXPECT_EQ(code.size(), 6u);
  const std::string paired = tap.state().authenticator.issuePairedToken({"x", "s", {}});
  const PeerId thief = tap.open();
  tap.say(thief, auth(paired));
  tap.say(thief, again("p", token, R"(,"session":"s")"));
  EXPECT_EQ(tap.errorCode(thief), "DUPLICATE_INSTANCE");
  EXPECT_FALSE(tap.closed(peer));
  tap.lose(peer);
  tap.clear();
  tap.say(thief, again("p", token));
  EXPECT_EQ(tap.errorCode(thief), "DUPLICATE_INSTANCE") << "the name is still the other's";
  tap.advance(30'000);
  tap.say(thief, again("p", token));
  EXPECT_EQ(tap.take(thief, "hello.ack").type(), "hello.ack");
  tap.call(session, "1", "greet");
  EXPECT_EQ(tap.outcome(session), "1 DISCONNECTED");  // its tools did not come along
}

// shows: P-ID-10
TEST_F(Identity, AnotherProgramCannotJoinANameAsAnInstance) {
  const std::string paired = tap.state().authenticator.issuePairedToken({"x", "s", {}});
  const PeerId external = tap.open();
  tap.say(external, auth(paired));
  tap.say(external,
          R"({"type":"hello","name":"p","instance":"2","protocolVersion":2,"session":"s"})");
  EXPECT_EQ(tap.errorCode(external), "DUPLICATE_INSTANCE");
}

// shows: P-ID-10
TEST_F(Identity, TabsOfOnePageShareAName) {
  Authenticator& authenticator = tap.state().authenticator;
  for (const std::string instance : {"1", "2"}) {
    const PeerId tab = tap.open("https://a.example");
    tap.say(tab, auth(authenticator.issuePairedToken({"x", "s", "https://a.example"})));
    tap.clear();
    tap.say(tab, R"({"type":"hello","name":"page","protocolVersion":2,"session":"s","instance":)" +
                     quote(instance) + "}");
    EXPECT_EQ(tap.take(tab).type(), "hello.ack");
  }
}

// shows: P-ID-11
TEST_F(Identity, ATrustedProgramTakesANameWithoutWhatAPairedOneLeftThere) {
  const std::string paired = tap.state().authenticator.issuePairedToken({"x", "s", {}});
  const PeerId external = tap.open();
  tap.say(external, auth(paired));
  tap.say(external, hello("shared", "s"));
  const std::string id = tap.take(external, "hello.ack").get("providerId");
  tap.say(external, push("keep", "bait"));
  tap.lose(external);
  const PeerId trusted = tap.authed();
  tap.say(trusted, hello("shared", "s"));
  EXPECT_NE(tap.take(trusted, "hello.ack").get("providerId"), id);
  tap.say(trusted, R"({"type":"stream.query","queryId":"q","streams":["shared"]})");
  EXPECT_EQ(tap.take(trusted, "stream.history").size("streams.shared@shared"), 0u);
}

// shows: P-ID-6
TEST_F(Identity, TheTokenIsForTheSameOriginOnly) {
  Authenticator& authenticator = tap.state().authenticator;
  const auto page = [&](const std::string& origin) {
    const PeerId opened = tap.open(origin);
    tap.say(opened, auth(authenticator.issuePairedToken({"x", "s", origin})));
    tap.clear();
    return opened;
  };
  const PeerId first = page("https://a.example");
  tap.say(first, hello("web", "s"));
  const std::string webToken = tap.take(first, "hello.ack").get("reconnectToken");
  const PeerId second = page("https://b.example");
  tap.say(second, again("web", webToken, R"(,"session":"s")"));
  EXPECT_EQ(tap.errorCode(second), "DUPLICATE_INSTANCE");
  EXPECT_FALSE(tap.closed(first));
}

// shows: P-ID-2
TEST_F(Identity, OfAProviderOfAllSessionsComesBackInAll) {
  bind("all");
  tap.say(peer, R"({"type":"tools.update","sessionId":"t","tools":[]})");
  tap.lose(peer);
  const PeerId back = tap.authed();
  tap.say(back, again("p", token));
  const Message ack = tap.take(back);
  EXPECT_EQ(ack.get("sessionId"), "all");
  EXPECT_EQ(ack.get("providerId"), id);
  EXPECT_EQ(tap.state().providers.find(back)->in("s")->tools.size(), 1u);
  EXPECT_EQ(tap.state().providers.find(back)->in("t")->tools.size(), 0u);
  EXPECT_EQ(tap.state().providers.find(back)->declared.tools.size(), 1u);
}

// shows: P-ID-9
TEST_F(Identity, IsNeverHeldByTwoConnections) {
  bind("t");  // the id has moved on with it
  const PeerId next = tap.authed();
  tap.say(next, hello("p", "s"));
  EXPECT_NE(tap.take(next, "hello.ack").get("providerId"), id);
  tap.say(peer, hello("renamed", "t"));
  EXPECT_NE(tap.take(peer, "hello.ack").get("providerId"), id);
}

// shows: P-HELLO-8
TEST_F(Identity, HasAFolderOfItsOwn) {
  const PeerId odd = tap.authed();
  tap.say(odd, hello("../a b", "s"));
  EXPECT_EQ(tap.take(odd).get("persistDir"), "/home/u/providers/%2e.%2fa%20b/");
}

}  // namespace
}  // namespace tap::gateway::test
