// Sessions as providers see them: the list, its order, its changes, and the lifecycle.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

// The ids of the list that a new provider gets.
std::string listed(Harness& tap) {
  const PeerId peer = tap.open();
  tap.say(peer, auth());
  const Message list = tap.take(peer, "sessions");
  std::string ids;
  for (size_t i = 0; i < list.size("active"); ++i) {
    ids += list.get("active." + std::to_string(i) + ".id") + " ";
  }
  tap.lose(peer);
  return ids;
}

// shows: P-SESSION-2
TEST(Sessions, AreListedMostRecentlyRegisteredFirst) {
  Harness tap;
  tap.session("a");
  tap.session("c");
  tap.session("b");
  EXPECT_EQ(listed(tap), "b c a ");
}

// shows: P-SESSION-2
TEST(Sessions, MoveToTheFrontWhenTheUserSpeaks) {
  Harness tap;
  const PeerId a = tap.session("a");
  const PeerId b = tap.session("b");
  tap.send(a, protocol::ActivityChanged{protocol::Activity::UserPrompt});
  EXPECT_EQ(listed(tap), "a b ");
  tap.send(b, protocol::ActivityChanged{protocol::Activity::Busy});
  EXPECT_EQ(listed(tap), "a b ");
}

// shows: P-SESSION-2
TEST(Sessions, MoveToTheFrontWhenTheyCallATool) {
  Harness tap;
  const PeerId a = tap.session("a");
  tap.session("b");
  tap.call(a, "1", "anything");
  EXPECT_EQ(listed(tap), "a b ");
}

// shows: P-SESSION-2
TEST(Sessions, ThatLingerComeLast) {
  Harness tap;
  const PeerId a = tap.session("a");
  tap.session("b");
  tap.session("c");
  tap.send(a, protocol::ActivityChanged{protocol::Activity::UserPrompt});
  tap.cut(a);
  EXPECT_EQ(listed(tap), "c b a ");
  tap.session("a");
  EXPECT_EQ(listed(tap), "a c b ");
}

// shows: P-SESSION-2
TEST(Sessions, ThatAreEndingAreNotListed) {
  Harness tap;
  const PeerId a = tap.session("a");
  tap.session("b");
  tap.bound("p", "a");
  tap.send(a, protocol::EndSession{""});
  EXPECT_EQ(listed(tap), "b ");
}

// shows: P-SESSION-4
TEST(Sessions, ChangesAreToldToEveryAuthenticatedProvider) {
  Harness tap;
  tap.session("a");
  const PeerId stranger = tap.open();
  const PeerId waiting = tap.authed();
  const PeerId bound = tap.bound("p", "a");
  tap.clear();
  tap.session("b");
  EXPECT_TRUE(tap.quiet(stranger));
  for (const PeerId peer : {waiting, bound}) {
    const Message news = tap.take(peer);
    EXPECT_EQ(news.type(), "sessions.updated");
    EXPECT_EQ(news.size("active"), 2u);
    EXPECT_EQ(news.get("active.0.id"), "b");
    EXPECT_EQ(news.get("active.0.label"), "label of b");
    EXPECT_EQ(news.get("active.0.cwd"), "/code/b");
    EXPECT_TRUE(tap.quiet(peer));
  }
}

// shows: P-SESSION-5
TEST(Sessions, ChangesOfLabelAndFolderAreTold) {
  Harness tap;
  const PeerId session = tap.session("a");
  const PeerId peer = tap.authed();
  tap.send(session, protocol::Update{"PR #42", {}, {}, {}});
  EXPECT_EQ(tap.take(peer).get("active.0.label"), "PR #42");
  tap.send(session, protocol::Update{{}, "/elsewhere", {}, {}});
  EXPECT_EQ(tap.take(peer).get("active.0.cwd"), "/elsewhere");
  tap.send(session, protocol::Update{"PR #42", "/elsewhere", protocol::SyncMode::Live, {}});
  EXPECT_TRUE(tap.quiet(peer));
}

// shows: P-SESSION-4
TEST(Sessions, AnEndIsToldOnce) {
  Harness tap;
  const PeerId a = tap.session("a");
  tap.session("b");
  const PeerId peer = tap.bound("p", "a");
  tap.send(a, protocol::EndSession{""});
  EXPECT_EQ(tap.take(peer).get("state"), "shutdown.pending");
  EXPECT_EQ(tap.take(peer).size("active"), 1u);
  tap.advance(10'000);
  EXPECT_TRUE(tap.quiet(peer));
}

// shows: P-SESSION-5
TEST(Sessions, AMereChangeOfOrderIsNotTold) {
  Harness tap;
  const PeerId a = tap.session("a");
  tap.session("b");
  const PeerId peer = tap.authed();
  tap.call(a, "1", "anything");
  tap.cut(a);
  tap.session("a");
  EXPECT_TRUE(tap.quiet(peer));
}

// shows: P-SESSION-8
TEST(Sessions, LabelsAreShowable) {
  Harness tap;
  tap.session("a", [](protocol::Register& r) { r.label = "x\x1b[31m\ny"; });
  const PeerId peer = tap.open();
  tap.say(peer, auth());
  EXPECT_EQ(tap.take(peer).get("active.0.label"), "x\\x1b[31m\\x0ay");
}

// shows: P-LIFE-1
TEST(Lifecycle, TellsWhenTheSessionBecomesIdle) {
  Harness tap;
  const PeerId session = tap.session("s");
  tap.session("t");
  const PeerId peer = tap.bound("p", "s");
  const PeerId elsewhere = tap.bound("p", "t");
  const auto change = [&](protocol::Activity activity) {
    tap.send(session, protocol::ActivityChanged{activity});
  };
  change(protocol::Activity::Idle);
  change(protocol::Activity::UserPrompt);
  change(protocol::Activity::Busy);
  EXPECT_EQ(tap.take(peer).type(), "sessions.updated");  // it is in the foreground now
  EXPECT_EQ(tap.take(elsewhere).type(), "sessions.updated");
  EXPECT_TRUE(tap.quiet(peer));
  change(protocol::Activity::Idle);
  EXPECT_EQ(tap.take(peer).text(),
            R"({"type":"session.lifecycle","sessionId":"s","state":"idle"})");
  change(protocol::Activity::Idle);
  EXPECT_TRUE(tap.quiet(peer));
  EXPECT_TRUE(tap.quiet(elsewhere));
}

TEST(Lifecycle, TellsFeaturesAloneThatASessionIsBusy) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId other = tap.bound("p", "s");
  const PeerId feature = tap.boundFeature(tap.featureToken(), "tap-f", tools({"t"}));
  const auto change = [&](protocol::Activity activity) {
    tap.send(session, protocol::ActivityChanged{activity});
  };
  for (int i = 0; i < 2; ++i) change(protocol::Activity::Busy);
  EXPECT_EQ(tap.take(feature).text(),
            R"({"type":"session.lifecycle","sessionId":"s","state":"busy"})");
  EXPECT_TRUE(tap.quiet(feature));
  EXPECT_TRUE(tap.quiet(other));
  change(protocol::Activity::Idle);
  EXPECT_EQ(tap.take(feature).get("state"), "idle");
  EXPECT_EQ(tap.take(other).get("state"), "idle");
}

// shows: P-LIFE-2
TEST(Lifecycle, TellsOfTheShutdownWithItsDeadline) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s");
  tap.send(session, protocol::EndSession{"over"});
  EXPECT_EQ(
      tap.take(peer).text(),
      R"({"type":"session.lifecycle","sessionId":"s","state":"shutdown.pending","deadline":10000})");
}

// shows: P-LIFE-3
TEST(Lifecycle, UnbindsAtTheDeadlineAndTakesANewHello) {
  Harness tap;
  const PeerId session = tap.session("s");
  tap.session("t");
  const PeerId peer = tap.bound("p", "s", {"greet"});
  tap.send(session, protocol::EndSession{"over"});
  tap.clear();
  tap.advance(9'999);
  tap.say(peer, push("keep", "cleaning up"));
  EXPECT_TRUE(tap.quiet(peer));
  tap.advance(1);
  tap.say(peer, push("keep", "too late"));
  EXPECT_EQ(tap.errorCode(peer), "UNAUTHORIZED");
  EXPECT_FALSE(tap.closed(peer));
  tap.say(peer, hello("p", "t", tools({"greet"})));
  EXPECT_EQ(tap.take(peer).get("sessionId"), "t");
}

// shows: P-LIFE-4
TEST(Lifecycle, AGoodbyeOfTheLastProviderEndsTheWait) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId one = tap.bound("one", "s");
  const PeerId two = tap.bound("two", "s");
  tap.send(session, protocol::EndSession{"over"});
  tap.say(one, kGoodbye);
  EXPECT_NE(tap.state().sessions.find("s"), nullptr);
  tap.lose(two);
  EXPECT_EQ(tap.state().sessions.find("s"), nullptr);
}

TEST(Lifecycle, ASecondEndChangesNothing) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s");
  tap.send(session, protocol::EndSession{"over"});
  tap.clear();
  tap.advance(5'000);
  tap.send(session, protocol::EndSession{"over"});
  EXPECT_TRUE(tap.quiet(peer));
  tap.advance(5'000);
  EXPECT_EQ(tap.state().sessions.find("s"), nullptr);
}

TEST(Lifecycle, AnEndingSessionIsNeverIdle) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s");
  tap.send(session, protocol::ActivityChanged{protocol::Activity::Busy});
  tap.send(session, protocol::EndSession{"over"});
  tap.clear();
  tap.send(session, protocol::ActivityChanged{protocol::Activity::Idle});
  EXPECT_TRUE(tap.quiet(peer));
}

TEST(Lifecycle, TheLinkOfAnEndedSessionIsAnsweredUntilItCloses) {
  Harness tap;
  const PeerId session = tap.session("s");
  tap.send(session, protocol::EndSession{"over"});
  tap.clear();
  tap.send(session, protocol::Ping{});
  EXPECT_EQ(tap.count<protocol::Pong>(session), 1u);
  tap.send(session, protocol::Synced{1});
  tap.send(session, protocol::ActivityChanged{});
  EXPECT_FALSE(tap.closed(session));
  tap.send(session, Harness::registration("s"));
  EXPECT_EQ(tap.count<protocol::Welcome>(session), 1u);
  tap.cut(session);
}

// shows: P-SESSION-9
TEST(Sessions, HaveToolsOfTheirOwnEach) {
  Harness tap;
  const PeerId one = tap.session("one");
  const PeerId two = tap.session("two");
  const PeerId first = tap.bound("p", "one", {"greet"});
  const PeerId second = tap.bound("p", "two", {"greet"});
  tap.call(two, "1", "greet");
  EXPECT_TRUE(tap.quiet(first));
  EXPECT_EQ(tap.take(second).get("sessionId"), "two");
  tap.lose(second);
  tap.call(one, "1", "greet");
  EXPECT_EQ(tap.take(first).get("sessionId"), "one");
}

}  // namespace
}  // namespace tap::gateway::test
