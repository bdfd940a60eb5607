// Notifications and inputs of the process around the gateway: sessions that begin and end, tokens
// for the providers that it starts, lines for their timelines.
#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

constexpr protocol::LogLevel kInfo = protocol::LogLevel::Info;

TEST(Host, HearsOfASessionOnceHoweverManyProcessesItHas) {
  Harness tap;
  EXPECT_EQ(tap.toldCount(), 0u);
  tap.cut(tap.session("a"));
  tap.session("a");
  tap.session("a");
  EXPECT_EQ(tap.toldOfSessions(), "opened a in /code/a, ");
}

TEST(Host, HearsOfASessionsEndBeforeItsProvidersHaveLeft) {
  Harness tap;
  const PeerId session = tap.session("a");
  const PeerId provider = tap.bound("p", "a");
  tap.send(session, protocol::EndSession{"over"});
  EXPECT_EQ(tap.toldOfSessions(), "opened a in /code/a, ended a, ");
  EXPECT_EQ(tap.take(provider, "session.lifecycle").get("state"), "shutdown.pending");
  tap.advance(60'000);
  EXPECT_EQ(tap.toldOfSessions(), "opened a in /code/a, ended a, ");
}

TEST(Host, HearsOfASessionThatDoesNotComeBack) {
  Harness tap;
  tap.cut(tap.session("a"));
  tap.advance(9'999);
  EXPECT_EQ(tap.toldOfSessions(), "opened a in /code/a, ");
  tap.advance(1);
  EXPECT_EQ(tap.toldOfSessions(), "opened a in /code/a, ended a, ");
}

TEST(Host, HearsOfTheOldAndTheNewSessionOfAClear) {
  Harness tap;
  const auto sameCli = [](protocol::Register& message) { message.cliPid = 7; };
  tap.cut(tap.session("old", sameCli));
  tap.session("new", sameCli);
  EXPECT_EQ(tap.toldOfSessions(), "opened old in /code/old, ended old, opened new in /code/new, ");
}

TEST(Host, HearsOfASessionThatBeginsAnewWhileItEnds) {
  Harness tap;
  const PeerId session = tap.session("a");
  tap.bound("p", "a");
  tap.send(session, protocol::EndSession{"over"});
  tap.session("a");
  EXPECT_EQ(tap.toldOfSessions(), "opened a in /code/a, ended a, opened a in /code/a, ");
}

TEST(Host, IsToldWithWhatAProgramOfASessionRuns) {
  Harness tap;
  tap.session("a", [](protocol::Register& message) {
    message.path = "/a/bin";
    message.runtime.execPath = "/opt/copilot";
  });
  tap.session("b");
  EXPECT_EQ(tap.gateway().sessionEnvironment("a"),
            R"({"path":"/a/bin","runtime":{"execPath":"/opt/copilot"}})");
  EXPECT_EQ(tap.gateway().sessionEnvironment("b"), "{}");
  EXPECT_EQ(tap.gateway().sessionEnvironment("c"), "");
  EXPECT_EQ(tap.gateway().inspect({}).find("/a/bin"), std::string::npos);
}

TEST(SpawnToken, IsForItsSessionAlone) {
  Harness tap;
  tap.session("a");
  tap.session("b");
  const PeerId peer = tap.open();
  tap.say(peer, auth(tap.spawnToken("a")));
  const Message sessions = tap.take(peer, "sessions");
  EXPECT_EQ(sessions.get("active.0.id"), "a") << "sessions that it may choose come first";
  EXPECT_EQ(sessions.get("active.0.cwd"), "/code/a");
  EXPECT_EQ(sessions.get("active.1.cwd"), kAbsent);
  tap.say(peer, hello("p", "b"));
  EXPECT_EQ(tap.errorCode(peer), "INVALID_SESSION");
  tap.say(peer, R"({"type":"hello","protocolVersion":2,"name":"p"})");
  EXPECT_EQ(tap.take(peer, "hello.ack").get("sessionId"), "a");
}

TEST(SpawnToken, IsNotIssuedForASessionThatIsNotThere) {
  Harness tap;
  EXPECT_EQ(tap.spawnToken("a"), "");
  const PeerId session = tap.session("a");
  tap.bound("p", "a");
  tap.send(session, protocol::EndSession{"over"});
  EXPECT_EQ(tap.spawnToken("a"), "");
}

TEST(SpawnToken, TakesItsConnectionWithItWhenForgotten) {
  Harness tap;
  const PeerId session = tap.session("a");
  const std::string token = tap.spawnToken("a");
  const PeerId peer = tap.open();
  tap.say(peer, auth(token));
  tap.say(peer, hello("p", "a", tools({"greet"})));
  const PeerId bystander = tap.bound("q", "a");
  (void)tap.confirmTools(session);
  tap.call(session, "1", "greet");
  tap.forgetSpawnToken(token);
  EXPECT_EQ(tap.errorCode(peer), "AUTH_FAILED");
  EXPECT_EQ(tap.closeCode(peer), 1008);
  EXPECT_EQ(tap.outcome(session), "1 DISCONNECTED");
  EXPECT_FALSE(tap.closed(bystander));
  const PeerId back = tap.open();
  tap.say(back, auth(token));
  EXPECT_EQ(tap.errorCode(back), "AUTH_FAILED");
  EXPECT_EQ(tap.logged().find(token), std::string::npos);
}

TEST(WrongToken, IsToldTheTokenFileOfThisGateway) {
  Harness tap;
  const PeerId peer = tap.open();
  tap.say(peer, auth("ptk-wrong"));
  EXPECT_EQ(tap.take(peer, "error").get("message"),
            "wrong token; read it again from /home/u/extensions/tap/.provider-token: each start of "
            "the gateway writes a new one");
  tap.state().config.tokenFile.clear();
  const PeerId next = tap.open();
  tap.say(next, auth("ptk-wrong"));
  EXPECT_EQ(tap.take(next, "error").get("message"),
            "wrong token; read it again from the token file of this gateway's COPILOT_HOME: each "
            "start of the gateway writes a new one");
}

TEST(SpawnToken, ThatIsUnknownIsForgottenWithoutHarm) {
  Harness tap;
  tap.session("a");
  const PeerId bystander = tap.bound("p", "a");
  tap.forgetSpawnToken("");
  tap.forgetSpawnToken(std::string(kToken));
  EXPECT_FALSE(tap.closed(bystander));
  const PeerId other = tap.open();
  tap.say(other, auth());
  EXPECT_EQ(tap.take(other).type(), "sessions");
}

TEST(HostTimeline, IsForOneSessionAndMadeVisible) {
  Harness tap;
  const PeerId session = tap.session("a");
  const PeerId other = tap.session("b");
  tap.writeTimeline("a", kInfo, "tap: \x1b[2J one\ntwo");
  EXPECT_EQ(tap.timeline(session), "tap: \\x1b[2J one\n  two\n");
  EXPECT_EQ(tap.timeline(other), "");
  tap.writeTimeline("nobody", kInfo, "lost");
}

TEST(HostTimeline, WaitsForTheNextProcessOfALingeringSession) {
  Harness tap;
  tap.cut(tap.session("a"));
  tap.writeTimeline("a", kInfo, "tap: hello");
  EXPECT_EQ(tap.timeline(tap.link("a")), "tap: hello\n");
}

}  // namespace
}  // namespace tap::gateway::test
