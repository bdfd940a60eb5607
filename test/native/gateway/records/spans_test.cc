// The spans of a session's turns, and of prompts on their way to the model: their parents.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

using protocol::Activity;
using protocol::Collection;
using protocol::SpanStatus;

const std::string kGiven = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

struct Spans : ::testing::Test {
  Harness tap{manyPushes()};
  PeerId session = start();
  PeerId peer = tap.bound("p", "s", {"t"});
  std::vector<Stored> seen;

  PeerId start() {
    tap.record();
    return tap.session("s");
  }
  void SetUp() override { tap.clear(); }
  void be(Activity activity) { tap.send(session, protocol::ActivityChanged{activity}); }
  // All of that name since the beginning.
  std::vector<Stored> named(const std::string& name) {
    for (Stored& row : tap.records()) {
      if (row.span) seen.push_back(std::move(row));
    }
    std::vector<Stored> rows;
    for (const Stored& row : seen) {
      if (row.spanName == name) rows.push_back(row);
    }
    return rows;
  }
  Stored only(const std::string& name) {
    const std::vector<Stored> rows = named(name);
    EXPECT_EQ(rows.size(), 1u) << name;
    return rows.empty() ? Stored{Collection::Span, 0, "", "", "", Message("{}"), {}, {}, "", 0}
                        : rows[0];
  }
  void expectBelow(const Stored& child, const Stored& parent) {
    ASSERT_TRUE(child.span && parent.span);
    EXPECT_EQ(child.span->traceId, parent.span->traceId);
    EXPECT_EQ(child.span->parentSpanId, parent.span->spanId);
  }
  void call(const std::string& id) { tap.say(peer, result(tap.callTo(session, peer, id, "t"))); }
};

TEST_F(Spans, ATurnIsBetweenTheSessionAndItsCalls) {
  be(Activity::UserPrompt);
  tap.advance(10);
  be(Activity::Busy);
  call("1");
  tap.advance(30);
  EXPECT_TRUE(named("turn").empty()) << "the turn continues";
  be(Activity::Idle);
  const Stored turn = only("turn");
  EXPECT_EQ(turn.collection, Collection::Span);
  EXPECT_EQ(turn.session, "s");
  EXPECT_EQ(turn.span->durationUs, 40'000);
  EXPECT_EQ(turn.span->startUs, (tap.now().unixMillis - 40) * 1000);
  expectBelow(only("execute_tool t"), turn);
  be(Activity::Idle);
  (void)only("turn");
  tap.send(session, protocol::EndSession{"exit"});
  expectBelow(turn, only("session"));
}

TEST_F(Spans, OutsideOfATurnACallIsBelowTheSession) {
  be(Activity::Busy);
  be(Activity::Idle);
  call("1");
  const Stored one = only("execute_tool t");
  tap.send(session, protocol::EndSession{"exit"});
  expectBelow(one, only("session"));
}

TEST_F(Spans, ACallOfACommandIsInNoTurn) {
  be(Activity::Busy);
  const PeerId command = tap.newPeer();
  tap.send(command, protocol::OpenControl{"", "s"});
  tap.call(command, "1", "t");
  tap.say(peer, result(tap.take(peer, "tool.call").get("id")));
  const Stored one = only("execute_tool t");
  EXPECT_EQ(one.get("by"), "command");
  tap.send(session, protocol::EndSession{"exit"});
  expectBelow(one, only("session"));
}

TEST_F(Spans, ATurnEndsWithItsProcessOrSession) {
  be(Activity::Busy);
  tap.advance(7);
  tap.cut(session);
  EXPECT_EQ(only("turn").span->durationUs, 7'000);
  session = tap.session("s");
  be(Activity::Busy);
  tap.advance(5);
  tap.send(session, protocol::EndSession{"exit"});
  ASSERT_EQ(named("turn").size(), 2u);
  EXPECT_EQ(named("turn")[1].span->durationUs, 5'000);
}

TEST_F(Spans, ASynchronisationIsBelowTheTurnInWhichItBegins) {
  const auto sync = [&] {
    tap.advance(2'000);
    const auto event = tap.expect<protocol::Tools>(session);
    tap.send(session, protocol::Synced{event.revision});
  };
  tap.say(peer, update(tools({"u"})));
  be(Activity::Busy);
  sync();
  tap.say(peer, update(tools({"v"})));
  tap.advance(2'000);
  be(Activity::Idle);
  be(Activity::Busy);
  sync();
  be(Activity::Idle);
  const std::vector<Stored> syncs = named("sync tools");
  const std::vector<Stored> turns = named("turn");
  ASSERT_EQ(syncs.size(), 2u);
  ASSERT_EQ(turns.size(), 2u);
  expectBelow(syncs[0], turns[0]);
  tap.send(session, protocol::EndSession{"exit"});
  expectBelow(syncs[1], only("session"));
}

TEST_F(Spans, RowsWithoutASpanAreInTheTraceOfTheirSession) {
  tap.say(peer, helloWith("p", "s", R"("hooks":{"onPreToolUse":[
      {"match":{"tool":"bash"},"action":"deny","reason":"no"}]})"));
  (void)tap.records();
  tap.send(session, protocol::HookCheck{"1", "bash", Slice(std::string("{}"))});
  tap.say(peer, R"({"type":"wave"})");
  std::set<std::string> traces;
  std::set<Collection> of;
  for (const Stored& row : tap.records()) {
    traces.insert(row.trace);
    of.insert(row.collection);
  }
  EXPECT_EQ(of, (std::set<Collection>{Collection::Gate, Collection::Provider}));
  const std::string whole = tap.state().sessions.find("s")->trace.text();
  EXPECT_EQ(traces, std::set<std::string>{whole.substr(3, 32)});
}

TEST_F(Spans, WithoutSpansThereAreNoTurnsAndNoDispatches) {
  tap.record(RecordMode::All, false);
  be(Activity::Busy);
  tap.say(peer, push("inject", "e"));
  be(Activity::Idle);
  EXPECT_TRUE(named("turn").empty());
  EXPECT_TRUE(named("prompt dispatch").empty());
}

TEST_F(Spans, ADispatchIsBelowItsPushAndThePushBelowWhatItNames) {
  const PeerId feature = tap.admitted(true);
  tap.say(feature, hello("tap-f", "s"));
  (void)tap.records();
  tap.say(feature, push("inject", "e", R"(,"traceparent":")" + kGiven + "\""));
  std::vector<Stored> rows = tap.records();
  const auto notify =
      std::find_if(rows.begin(), rows.end(), [](const Stored& row) { return row.commit != 0; });
  ASSERT_NE(notify, rows.end());
  EXPECT_EQ(notify->trace, kGiven.substr(3, 32));
  const uint64_t number = notify->commit;
  seen = std::move(rows);
  std::erase_if(seen, [](const Stored& row) { return !row.span; });
  EXPECT_TRUE(named("prompt dispatch").empty()) << "it is not on the disk yet";
  tap.advance(12);
  tap.committed(number, true);
  const Stored pushed = only("push tap-f");
  const Stored dispatch = only("prompt dispatch");
  expectBelow(dispatch, pushed);
  EXPECT_EQ(dispatch.span->durationUs, 12'000);
  EXPECT_EQ(dispatch.span->status, SpanStatus::Ok);
  EXPECT_EQ(dispatch.source, "builtin:f");
  EXPECT_EQ(pushed.source, dispatch.source);
}

TEST_F(Spans, AnInjectThatIsHeldOrLeftOutHasADispatchToo) {
  tap.say(peer, push("inject", "first"));
  EXPECT_EQ(only("prompt dispatch").span->durationUs, 0);
  tap.say(peer, push("inject", "later"));
  tap.advance(3'000);
  EXPECT_EQ(named("prompt dispatch").size(), 1u);
  be(Activity::Idle);
  ASSERT_EQ(named("prompt dispatch").size(), 2u);
  EXPECT_EQ(named("prompt dispatch")[1].span->durationUs, 3'000'000);
  expectBelow(named("prompt dispatch")[1], named("push p")[1]);
  const PeerId feature = tap.admitted(true);
  tap.say(feature, hello("tap-f", "s"));
  tap.say(feature, push("inject", "e"));
  tap.advance(2'000);
  ASSERT_EQ(named("prompt dispatch").size(), 3u);
  EXPECT_EQ(named("prompt dispatch")[2].span->status, SpanStatus::Error) << "it is not recorded";
}

}  // namespace
}  // namespace tap::gateway::test
