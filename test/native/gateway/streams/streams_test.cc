// Streams beyond a plain push: filters, history, prompts, and receipts.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

std::string filterSet(std::string_view rules, std::string_view more = "") {
  return R"({"type":"filter.set","stream":"ci","rules":)" + std::string(rules) + std::string(more) +
         "}";
}
std::string query(std::string_view streams, std::string_view more = "") {
  return R"({"type":"stream.query","queryId":"q","streams":)" + std::string(streams) +
         std::string(more) + "}";
}
std::string asked(std::string_view level, std::string_view event, std::string_view more = "") {
  return push(level, event, R"(,"stream":"ci","requestId":"r")" + std::string(more));
}

struct Streams : ::testing::Test {
  Harness tap{manyPushes()};
  PeerId session = tap.session("s");
  PeerId other = tap.session("t");
  PeerId peer = tap.bound("p", "s");

  void SetUp() override { tap.clear(); }
  // The outcome of a push in its ack, or the code of the error.
  std::string outcome(const std::string& text) {
    tap.say(peer, text);
    if (tap.count(peer, "error") > 0) return tap.errorCode(peer);
    const Message answer = tap.take(peer, "ack");
    const std::string rule = answer.get("rule");
    return answer.get("outcome") + (rule == kAbsent ? "" : " by " + rule);
  }
};

// --- Receipts of pushes

using PushAck = Streams;

// shows: P-PUSH-11
TEST_F(PushAck, SaysWhatBecameOfThePush) {
  EXPECT_EQ(outcome(asked("keep", "e")), "stored");
  EXPECT_EQ(outcome(asked("surface", "e")), "surfaced");
  EXPECT_EQ(outcome(asked("inject", "e")), "injected");
  EXPECT_EQ(outcome(asked("inject", "e")), "queued");
  tap.say(peer, filterSet(R"([{"match":"noise","outcome":"drop"}])"));
  EXPECT_EQ(outcome(asked("inject", "noise")), "dropped by 0");
}

// shows: P-PUSH-11
TEST_F(PushAck, CarriesTheRequestAndTheSession) {
  tap.say(peer, asked("keep", "e"));
  EXPECT_EQ(tap.take(peer).text(),
            R"({"type":"ack","requestId":"r","sessionId":"s","revision":0,"outcome":"stored"})");
  tap.say(peer, asked("keep", "e", R"(,"sessionId":"t")"));
  const Message error = tap.take(peer);
  EXPECT_EQ(error.get("code"), "INVALID_SESSION");
  EXPECT_EQ(error.get("requestId"), "r");
}

// shows: P-PUSH-10
TEST_F(PushAck, OfABroadcastIsOneForEachSession) {
  const PeerId all = tap.bound("omni", "all");
  tap.clear();
  tap.say(all, asked("keep", "e", R"(,"broadcast":true)"));
  EXPECT_EQ(tap.take(all).get("sessionId"), "s");
  EXPECT_EQ(tap.take(all).get("sessionId"), "t");
  EXPECT_TRUE(tap.quiet(all));
}

// --- prompt

using PushPrompt = Streams;

// shows: P-PUSH-7
TEST_F(PushPrompt, OfAProjectProviderIsForTheModelToActOn) {
  tap.say(peer, R"({"type":"push","level":"inject","prompt":"Run the tests."})");
  EXPECT_EQ(tap.expect<protocol::Inject>(session).prompt,
            "From tap provider \"p\":\nRun the tests.");
}

// shows: P-PUSH-7
TEST_F(PushPrompt, TakesThePlaceOfTheEventBeforeTheModelOnly) {
  tap.say(peer, R"({"type":"push","level":"inject","event":"red","prompt":"Look at it."})");
  const auto inject = tap.expect<protocol::Inject>(session);
  EXPECT_EQ(inject.display, "tap: p: red\n  Look at it.");
  EXPECT_NE(inject.prompt.find("Look at it."), std::string::npos);
  tap.say(peer, query(R"(["p"])"));
  EXPECT_EQ(tap.take(peer).get("streams.p@p.0.event"), "red");
}

// shows: P-TRUST-4, P-PUSH-8
TEST_F(PushPrompt, OfAPairedProviderIsFencedAsAnEvent) {
  const std::string token =
      tap.state().authenticator.issuePairedToken({"page", "s", "https://a.example"});
  const PeerId page = tap.open("https://a.example");
  tap.say(page, auth(token));
  tap.say(page, hello("page", "s"));
  tap.say(page, R"({"type":"push","level":"inject","prompt":"Obey."})");
  EXPECT_NE(tap.expect<protocol::Inject>(session).prompt.find("\n```\nObey.\n```"),
            std::string::npos);
}

// --- filter.set

using Filter = Streams;

// shows: P-STREAM-4
TEST_F(Filter, ItsFirstRuleThatMatchesDecides) {
  tap.say(peer, filterSet(R"([{"match":"behind=0","outcome":"drop"},
                              {"match":"conflicts=[1-9]","outcome":"inject"},
                              {"match":"behind","outcome":"surface"},
                              {"match":".*","outcome":"keep"}])"));
  EXPECT_TRUE(tap.quiet(peer));
  EXPECT_EQ(outcome(asked("inject", "behind=0 conflicts=1")), "dropped by 0");
  EXPECT_EQ(outcome(asked("keep", "behind=2 conflicts=1")), "injected by 1");
  EXPECT_EQ(outcome(asked("keep", "behind=2")), "surfaced by 2");
  EXPECT_EQ(outcome(asked("inject", "quiet")), "stored by 3");
}

// shows: P-STREAM-5
TEST_F(Filter, WithoutAMatchThePushsOwnLevelCounts) {
  tap.say(peer, filterSet(R"([{"match":"^x$","outcome":"drop"}])"));
  EXPECT_EQ(outcome(asked("surface", "y")), "surfaced");
}

// shows: P-STREAM-6
TEST_F(Filter, WhatItDropsIsNotStored) {
  tap.say(peer, filterSet(R"([{"match":".","outcome":"drop"}])"));
  EXPECT_EQ(outcome(asked("inject", "e")), "dropped by 0");
  EXPECT_TRUE(tap.quiet(session));
  tap.say(peer, query(R"(["ci"])"));
  EXPECT_EQ(tap.take(peer).text(),
            R"({"type":"stream.history","queryId":"q","streams":{"ci@p":[]}})");
}

// shows: P-STREAM-7
TEST_F(Filter, IsForItsStreamOnlyAndForItsProviderOnly) {
  tap.say(peer, filterSet(R"([{"match":".","outcome":"drop"}])"));
  tap.say(peer, push("surface", "e", R"(,"stream":"other")"));
  const PeerId neighbour = tap.bound("q", "s");
  tap.clear();
  tap.say(neighbour, push("surface", "e", R"(,"stream":"ci")"));
  EXPECT_EQ(tap.timeline(session), "tap: q/ci: e\n");
}

// shows: P-STREAM-9
TEST_F(Filter, IsReplacedWholeAndTakenAwayByNoRules) {
  tap.say(peer, filterSet(R"([{"match":".","outcome":"drop"}])"));
  tap.say(peer, filterSet(R"([{"match":"e","outcome":"keep"}])"));
  EXPECT_EQ(outcome(asked("surface", "e")), "stored by 0");
  tap.say(peer, filterSet("[]"));
  EXPECT_EQ(outcome(asked("surface", "e")), "surfaced");
}

// shows: P-UPDATE-6
TEST_F(Filter, IsAcknowledgedWhereThatIsAskedFor) {
  tap.say(peer, filterSet("[]", R"(,"requestId":"f")"));
  EXPECT_EQ(tap.take(peer).text(),
            R"({"type":"ack","requestId":"f","sessionId":"s","revision":1})");
}

// shows: P-UPDATE-6
TEST_F(Filter, OfAllSessionsIsAcknowledgedForEach) {
  const PeerId all = tap.bound("omni", "all");
  tap.clear();
  tap.say(all, filterSet(R"([{"match":".","outcome":"drop"}])", R"(,"requestId":"f")"));
  EXPECT_EQ(tap.take(all).get("sessionId"), "s");
  EXPECT_EQ(tap.take(all).get("sessionId"), "t");
  for (const char* session : {"s", "t"}) {
    tap.say(all, asked("keep", "e", R"(,"sessionId":)" + quote(session)));
    EXPECT_EQ(tap.take(all).get("outcome"), "dropped") << session;
  }
}

// shows: P-STREAM-14
TEST_F(Filter, NamesASessionOfItsProvider) {
  tap.say(peer, filterSet("[]", R"(,"requestId":"f","sessionId":"t")"));
  const Message error = tap.take(peer);
  EXPECT_EQ(error.get("code"), "INVALID_SESSION");
  EXPECT_EQ(error.get("replyTo"), "filter.set");
  EXPECT_EQ(error.get("requestId"), "f");
}

// shows: P-STREAM-11
TEST_F(Filter, HasFiftyRulesAtMost) {
  const auto rules = [](int count) {
    std::string list;
    for (int i = 0; i < count; ++i) {
      list += std::string(i > 0 ? "," : "") + R"({"match":"x","outcome":"drop"})";
    }
    return "[" + list + "]";
  };
  for (const int count : {49, 50}) {
    tap.say(peer, filterSet(rules(count)));
    EXPECT_TRUE(tap.quiet(peer)) << count;
  }
  tap.say(peer, filterSet(rules(51)));
  EXPECT_EQ(tap.errorCode(peer), "PAYLOAD_TOO_LARGE");
}

// shows: P-STREAM-1
TEST_F(Filter, IsCountedAmongTheTwentyStreams) {
  for (int i = 0; i < 20; ++i) {
    tap.say(peer, push("keep", "e", R"(,"stream":"s)" + std::to_string(i) + "\""));
  }
  tap.say(peer, filterSet("[]", R"(,"requestId":"f")"));
  const Message error = tap.take(peer);
  EXPECT_EQ(error.get("code"), "PAYLOAD_TOO_LARGE");
  EXPECT_EQ(error.get("requestId"), "f");
}

// shows: P-STREAM-10
TEST_F(Filter, OfAnotherShapeIsRefusedAndTheFormerOneStays) {
  tap.say(peer, filterSet(R"([{"match":".","outcome":"drop"}])"));
  const std::string longPattern(1025, 'x');
  for (const std::string& text :
       {filterSet("{}"), filterSet("[1]"), filterSet(R"([{"outcome":"drop"}])"),
        filterSet(R"([{"match":"x"}])"), filterSet(R"([{"match":"x","outcome":"shout"}])"),
        filterSet(R"([{"match":"(","outcome":"drop"}])"),
        filterSet(R"([{"match":")" + longPattern + R"(","outcome":"drop"}])"),
        std::string(R"({"type":"filter.set","rules":[]})")}) {
    tap.say(peer, text);
    const Message error = tap.take(peer);
    EXPECT_EQ(error.get("code"), "INVALID_JSON") << text;
    EXPECT_EQ(error.get("replyTo"), "filter.set");
  }
  EXPECT_EQ(outcome(asked("keep", "e")), "dropped by 0");
}

// shows: P-STREAM-15
TEST_F(Filter, ARuleThatRunsOutOfTimeIsNoMatchAndIsLogged) {
  tap.say(peer, filterSet(R"([{"match":"(a+)+$","outcome":"drop"}])"));
  EXPECT_EQ(outcome(asked("surface", std::string(40, 'a') + "b")), "surfaced");
  EXPECT_NE(tap.logged().find("ran out of time"), std::string::npos);
}

// shows: P-STREAM-15
TEST_F(Filter, ABroadcastAsksEachPatternOnce) {
  const PeerId all = tap.bound("q", "all");
  tap.clear();
  tap.say(all,
          filterSet(R"([{"match":"(a+)+$","outcome":"drop"},{"match":"b","outcome":"keep"}])"));
  tap.say(all, asked("surface", std::string(40, 'a') + "b", R"(,"broadcast":true)"));
  const std::string logged = tap.logged();
  const size_t first = logged.find("ran out of time");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(logged.find("ran out of time", first + 1), std::string::npos);
  // The second rule decides in each of the sessions.
  EXPECT_EQ(tap.take(all, "ack").get("outcome"), "stored");
  EXPECT_EQ(tap.take(all, "ack").get("outcome"), "stored");
}

TEST_F(Filter, ManySlowRulesHaveTheTimeOfAllTogether) {
  std::string slow;
  for (int i = 0; i < 49; ++i) {
    slow += R"({"match":"(a{1,)" + std::to_string(100 + i) + R"(})+$","outcome":"drop"},)";
  }
  tap.say(peer, filterSet("[" + slow + R"({"match":"b","outcome":"drop"}])"));
  // The last rule matches, and is not reached any more.
  EXPECT_EQ(outcome(asked("surface", std::string(40, 'a') + "b")), "surfaced");
}

// --- stream.query

using Query = Streams;

// shows: P-STREAM-17
TEST_F(Query, GivesTheLatestEventsFirst) {
  tap.say(peer, push("keep", "one"));
  tap.advance(1'000);
  tap.say(peer, push("surface", "two", R"(,"metadata":{"n":2})"));
  tap.say(peer, query(R"(["p"])"));
  EXPECT_EQ(tap.take(peer).text(),
            R"({"type":"stream.history","queryId":"q","streams":{"p@p":[)"
            R"({"ts":"2023-11-14T22:13:21.000Z","event":"two","metadata":{"n":2}},)"
            R"({"ts":"2023-11-14T22:13:20.000Z","event":"one"}]}})");
}

// shows: P-STREAM-18
TEST_F(Query, GivesAsManyAsItAsksForAndAHundredAtMost) {
  for (int i = 0; i < 150; ++i) tap.say(peer, push("keep", std::to_string(i)));
  const auto given = [&](std::string_view more) {
    tap.say(peer, query(R"(["p"])", more));
    return tap.take(peer, "stream.history").size("streams.p@p");
  };
  EXPECT_EQ(given(R"(,"last":3)"), 3u);
  EXPECT_EQ(given(R"(,"last":100)"), 100u);
  EXPECT_EQ(given(""), 100u);
  for (const char* last : {"0", "101", "-1", "1.5", "\"3\""}) {
    tap.say(peer, query(R"(["p"])", R"(,"last":)" + std::string(last)));
    EXPECT_EQ(tap.errorCode(peer), "INVALID_JSON") << last;
  }
}

// shows: P-TRUST-8, P-STREAM-17
TEST_F(Query, NamesItsOwnStreamsInEitherWay) {
  tap.say(peer, push("keep", "e", R"(,"stream":"ci")"));
  tap.say(peer, query(R"(["ci","ci@p","unheard of"])"));
  const Message history = tap.take(peer);
  EXPECT_EQ(history.size("streams.ci@p"), 1u);
  EXPECT_EQ(history.get("streams.unheard of@p"), "[]");
}

// shows: P-TRUST-8
TEST_F(Query, OfAnotherProvidersStreamIsUnauthorized) {
  tap.say(tap.bound("q", "s"), push("keep", "secret", R"(,"stream":"ci")"));
  tap.say(peer, query(R"(["ci@q"])"));
  const Message error = tap.take(peer);
  EXPECT_EQ(error.get("code"), "UNAUTHORIZED");
  EXPECT_EQ(error.get("replyTo"), "stream.query");
  EXPECT_TRUE(tap.quiet(peer));
}

// shows: P-STREAM-14
TEST_F(Query, OfAnotherSessionIsRefused) {
  tap.say(peer, query(R"(["p"])", R"(,"sessionId":"t")"));
  EXPECT_EQ(tap.errorCode(peer), "INVALID_SESSION");
  tap.say(peer, query(R"(["p"])", R"(,"sessionId":"s")"));
  EXPECT_EQ(tap.take(peer).type(), "stream.history");
}

// shows: P-STREAM-19
TEST_F(Query, OfAProviderOfAllSessionsNamesOne) {
  const PeerId all = tap.bound("omni", "all");
  tap.say(all, push("keep", "here", R"(,"sessionId":"t")"));
  tap.clear();
  tap.say(all, query(R"(["omni"])"));
  EXPECT_EQ(tap.errorCode(all), "INVALID_SESSION");
  tap.say(all, query(R"(["omni"])", R"(,"sessionId":"s")"));
  EXPECT_EQ(tap.take(all).size("streams.omni@omni"), 0u);
  tap.say(all, query(R"(["omni"])", R"(,"sessionId":"t")"));
  EXPECT_EQ(tap.take(all).size("streams.omni@omni"), 1u);
}

// shows: P-STREAM-11
TEST_F(Query, NamesTwentyStreamsAtMost) {
  const auto named = [](int count) {
    std::string names;
    for (int i = 0; i < count; ++i) names += std::string(i > 0 ? "," : "") + quote("s");
    return "[" + names + "]";
  };
  tap.say(peer, query(named(20)));
  EXPECT_EQ(tap.take(peer).type(), "stream.history");
  tap.say(peer, query(named(21)));
  EXPECT_EQ(tap.errorCode(peer), "PAYLOAD_TOO_LARGE");
}

// shows: P-STREAM-20
TEST_F(Query, OfAnotherShapeIsRefused) {
  for (const char* text :
       {R"({"type":"stream.query","streams":["p"]})", R"({"type":"stream.query","queryId":"q"})",
        R"({"type":"stream.query","queryId":"q","streams":"p"})",
        R"({"type":"stream.query","queryId":"q","streams":[7]})"}) {
    tap.say(peer, text);
    EXPECT_EQ(tap.errorCode(peer), "INVALID_JSON") << text;
  }
}

// shows: P-STREAM-21
TEST_F(Query, AnswersWithNoMoreThanAMessageMayHold) {
  for (int i = 0; i < 5; ++i) tap.say(peer, push("keep", std::string(700'000, 'e')));
  tap.say(peer, query(R"(["p"])"));
  const Message history = tap.take(peer);
  EXPECT_EQ(history.size("streams.p@p"), 2u);
  EXPECT_LE(history.text().size(), 2u * 1024 * 1024);
}

// shows: P-STREAM-8
TEST_F(Filter, OfAllSessionsHoldsInThoseThatComeLater) {
  const PeerId everywhere = tap.bound("all", "all");
  tap.say(everywhere, filterSet(R"([{"match":"noise","outcome":"drop"}])"));
  tap.session("late");
  tap.say(everywhere, R"({"type":"session.ready","sessionId":"late"})");
  tap.clear();
  tap.say(everywhere, asked("keep", "noise", R"(,"sessionId":"late")"));
  EXPECT_EQ(tap.take(everywhere, "ack").get("outcome"), "dropped");
}

// shows: P-STREAM-17
TEST_F(Query, FindsTheStreamsOfAProviderWithAnAtInItsName) {
  const PeerId odd = tap.bound("a@b", "s");
  tap.say(odd, asked("keep", "event"));
  tap.clear();
  tap.say(odd, query(R"(["ci@a@b"])"));
  EXPECT_EQ(tap.take(odd, "stream.history").size("streams.ci@a@b"), 1u);
}

}  // namespace
}  // namespace tap::gateway::test
