// Tool synchronisation as a session sees it.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

using protocol::Activity;

// shows: P-SYNC-4
TEST(Sync, FiveProvidersAtOnceAreOneChange) {
  Harness tap;
  const PeerId session = tap.session("s");
  for (const char* name : {"e", "d", "c", "b", "a"}) {
    tap.bound(name, "s", {std::string(name) + "_tool"});
    tap.advance(4);
  }
  const auto event = tap.expect<protocol::Tools>(session);
  ASSERT_EQ(event.set.size(), 5u);
  EXPECT_EQ(event.set.front().provider, "a");
  EXPECT_EQ(event.set.back().provider, "e");
  EXPECT_EQ(tap.count<protocol::Tools>(session), 0u);
}

// shows: P-SYNC-4
TEST(Sync, FiveProvidersWithin200MsAreTwoChanges) {
  Harness tap;
  const PeerId session = tap.session("s");
  size_t providers = 0;
  size_t changes = 0;
  const auto take = [&] {
    const auto event = tap.confirmTools(session);
    if (!event) return;
    ++changes;
    providers += event->set.size();
  };
  for (const char* name : {"e", "d", "c", "b", "a"}) {
    tap.bound(name, "s", {std::string(name) + "_tool"});
    tap.advance(40);
    take();
  }
  EXPECT_EQ(changes, 1u);
  tap.advance(250);
  take();
  EXPECT_EQ(changes, 2u);
  EXPECT_EQ(providers, 5u);
}

TEST(Sync, CarriesDefinitionsAndADigestOfThem) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"a"});
  tap.advance(200);
  const auto first = tap.confirmTools(session);
  ASSERT_EQ(first->set.size(), 1u);
  ASSERT_EQ(first->set[0].definitions.size(), 1u);
  EXPECT_EQ(Message(first->set[0].definitions[0]).get("parameters.type"), "object");
  tap.say(peer, update(R"([{"name":"a","description":"does it better"}])"));
  tap.advance(200);
  EXPECT_NE(tap.confirmTools(session)->set[0].digest, first->set[0].digest);
  tap.say(peer, update(tools({"a"})));
  tap.advance(200);
  EXPECT_EQ(tap.confirmTools(session)->set[0].digest, first->set[0].digest);
}

// shows: P-SYNC-9
TEST(Sync, DoesNotDependOnTheOrderOfArrival) {
  std::vector<std::string> seen;
  for (const bool swapped : {false, true}) {
    Harness tap;
    const PeerId session = tap.session("s");
    tap.bound(swapped ? "b" : "a", "s", {swapped ? "tool_b" : "tool_a"});
    tap.bound(swapped ? "a" : "b", "s", {swapped ? "tool_a" : "tool_b"});
    tap.advance(200);
    const auto event = tap.confirmTools(session);
    std::string text;
    for (const auto& set : event->set) text += set.provider + set.digest;
    seen.push_back(text);
  }
  EXPECT_EQ(seen[0], seen[1]);
}

TEST(Sync, AProviderWithoutToolsChangesNothing) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s");
  tap.lose(peer);
  tap.advance(60'000);
  EXPECT_EQ(tap.count<protocol::Tools>(session), 0u);
}

TEST(Sync, AFailureIsSaidOnceAndNotRepeated) {
  Harness tap;
  const PeerId session = tap.session("s");
  tap.bound("p", "s", {"a"});
  tap.advance(200);
  const auto event = tap.expect<protocol::Tools>(session);
  tap.clear();
  tap.send(session, protocol::SyncFailed{event.revision, "no\x1b", {}});
  tap.send(session, protocol::SyncFailed{event.revision, "no", {}});
  EXPECT_EQ(tap.timeline(session), "tap: the tools could not be changed: no\\x1b\n");
  tap.advance(600'000);
  EXPECT_EQ(tap.count<protocol::Tools>(session), 0u);
}

TEST(Sync, TheInspectionNamesWhatTheCliHasNotAccepted) {
  Harness tap;
  const PeerId session = tap.session("s");
  tap.bound("p", "s", {"a", "b"});
  tap.advance(200);
  const auto event = tap.expect<protocol::Tools>(session);
  tap.send(session, protocol::SyncFailed{event.revision, "clash: a", {"a"}});
  const Message report = tap.inspect();
  EXPECT_EQ(report.size("providers.0.bindings.0.tools"), 2U);
  EXPECT_EQ(report.size("providers.0.bindings.0.refused"), 1U);
  EXPECT_EQ(report.get("providers.0.bindings.0.refused.0"), "a");
}

TEST(Sync, ALiveSessionIsChangedWhileItWorks) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"a"});
  tap.callTo(session, peer, "1", "a");
  tap.send(session, protocol::ActivityChanged{Activity::Busy});
  tap.advance(200);
  EXPECT_FALSE(tap.expect<protocol::Tools>(session).reload);
}

struct SyncByReload : ::testing::Test {
  Harness tap;
  PeerId session =
      tap.session("s", [](protocol::Register& r) { r.mode = protocol::SyncMode::Reload; });
};

TEST_F(SyncByReload, HappensAtOnceInAnIdleSession) {
  tap.bound("p", "s", {"a"});
  tap.advance(200);
  EXPECT_TRUE(tap.expect<protocol::Tools>(session).reload);
}

// shows: P-SYNC-7
TEST_F(SyncByReload, WaitsForACallInFlight) {
  const PeerId peer = tap.bound("p", "s", {"a"});
  const std::string id = tap.callTo(session, peer, "1", "a");
  tap.advance(1'000);
  EXPECT_EQ(tap.count<protocol::Tools>(session), 0u);
  tap.say(peer, result(id));
  tap.advance(0);
  EXPECT_EQ(tap.count<protocol::Tools>(session), 1u);
}

TEST_F(SyncByReload, WaitsForTheTurnToEnd) {
  tap.send(session, protocol::ActivityChanged{Activity::UserPrompt});
  tap.bound("p", "s", {"a"});
  tap.advance(3'000);
  EXPECT_EQ(tap.count<protocol::Tools>(session), 0u);
  tap.send(session, protocol::ActivityChanged{Activity::Idle});
  tap.advance(0);
  EXPECT_EQ(tap.count<protocol::Tools>(session), 1u);
}

// shows: P-SYNC-7
TEST_F(SyncByReload, IsForcedAfterFourSeconds) {
  tap.send(session, protocol::ActivityChanged{Activity::Busy});
  tap.bound("p", "s", {"a"});
  tap.advance(3'999);
  EXPECT_EQ(tap.count<protocol::Tools>(session), 0u);
  tap.advance(1);
  EXPECT_EQ(tap.count<protocol::Tools>(session), 1u);
}

// shows: P-SYNC-6
TEST_F(SyncByReload, GivesTheNewProcessItsToolsAndThenRests) {
  const PeerId peer = tap.bound("p", "s", {"a"});
  tap.advance(200);
  ASSERT_TRUE(tap.find<protocol::Tools>(session));
  tap.cut(session);
  tap.advance(500);
  tap.clear();
  const PeerId fresh =
      tap.link("s", [](protocol::Register& r) { r.mode = protocol::SyncMode::Reload; });
  const auto first = tap.confirmTools(fresh);
  ASSERT_EQ(first->set.size(), 1u);
  EXPECT_FALSE(first->reload);
  tap.advance(600'000);
  EXPECT_EQ(tap.count<protocol::Tools>(fresh), 0u);
  EXPECT_TRUE(tap.quiet(peer));
}

TEST_F(SyncByReload, FollowsALiveOneThatFailed) {
  const PeerId live = tap.session("t");
  tap.bound("p", "t", {"a"});
  tap.advance(200);
  const auto tried = tap.expect<protocol::Tools>(live);
  EXPECT_FALSE(tried.reload);
  tap.send(live, protocol::Update{{}, {}, protocol::SyncMode::Reload, {}});
  tap.advance(200);
  const auto retried = tap.expect<protocol::Tools>(live);
  EXPECT_TRUE(retried.reload);
  EXPECT_GT(retried.revision, tried.revision);
}

TEST(Sync, WaitsWhileTheSessionsProcessIsAway) {
  Harness tap;
  const PeerId session = tap.session("s");
  tap.cut(session);
  tap.bound("p", "s", {"a"});
  tap.advance(5'000);
  EXPECT_TRUE(tap.quiet(session));
  const PeerId back = tap.link("s");
  EXPECT_EQ(tap.expect<protocol::Tools>(back).set.size(), 1u);
}

TEST(Sync, StopsWhenTheSessionEnds) {
  Harness tap;
  const PeerId session = tap.session("s");
  tap.bound("p", "s", {"a"});
  tap.send(session, protocol::EndSession{""});
  tap.clear();
  tap.advance(600'000);
  EXPECT_EQ(tap.count<protocol::Tools>(session), 0u);
}

}  // namespace
}  // namespace tap::gateway::test
