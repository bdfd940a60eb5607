// The rows of the record store: the gateway's records of calls, gates, pushes, and of peers that
// connect and leave.
#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

using protocol::Collection;

const std::string kSpanOfCli = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

template <size_t N>
std::string toHex(const std::array<uint8_t, N>& bytes) {
  std::string text;
  for (const uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 0xF];
  }
  return text;
}

struct Records : ::testing::Test {
  Harness tap{manyPushes()};
  PeerId session = start();
  PeerId peer = tap.bound("p", "s", {"t"});

  PeerId start() {
    tap.record();
    return tap.session("s");
  }
  void SetUp() override { tap.clear(); }
  Stored only(Collection collection) {
    const std::vector<Stored> rows = tap.records(collection);
    EXPECT_EQ(rows.size(), 1u);
    return rows.empty() ? Stored{collection, 0, "", "", "", Message("{}"), {}, {}, "", 0} : rows[0];
  }
};

TEST_F(Records, ACallThatSucceeds) {
  (void)tap.records();
  tap.linkText(session, R"({"type":"call","callId":"7","tool":"t","args":{"a":"b"},)"
                        R"("toolCallId":"call_\"1","traceparent":")" +
                            kSpanOfCli + "\"}");
  const Message call = tap.take(peer, "tool.call");
  tap.advance(40);
  tap.say(peer, result(call.get("id"), R"({"c":1})"));
  const std::vector<Stored> rows = tap.records();
  ASSERT_EQ(rows.size(), 2u);
  const Stored& row = rows[0];
  EXPECT_EQ(row.collection, Collection::ToolCall);
  EXPECT_EQ(row.session, "s");
  EXPECT_EQ(row.source, "p");
  EXPECT_EQ(row.at, tap.now().unixMillis);
  EXPECT_EQ(row.body.text(),
            R"({"tool":"t","provider":"p","callId":"7","toolCallId":"call_\"1","by":"model",)"
            R"("outcome":"ok","ms":40,"queueMs":0})");
  EXPECT_EQ(row.payloads.at("arguments"), R"({"a":"b"})");
  EXPECT_EQ(row.payloads.at("result"), R"({"c":1})");
  ASSERT_TRUE(row.span);
  EXPECT_EQ(row.spanName, "execute_tool t");
  EXPECT_EQ(toHex(row.span->traceId), kSpanOfCli.substr(3, 32));
  EXPECT_EQ(toHex(row.span->parentSpanId), kSpanOfCli.substr(36, 16));
  EXPECT_EQ(row.span->durationUs, 40'000);
  EXPECT_EQ(row.span->startUs, (tap.now().unixMillis - 40) * 1000);
  EXPECT_EQ(row.span->status, protocol::SpanStatus::Ok);
  const Stored& work = rows[1];
  EXPECT_EQ(work.collection, Collection::Span);
  EXPECT_EQ(work.spanName, "provider p");
  EXPECT_EQ(work.body.text(), R"({"tool":"t","callId":"7"})");
  ASSERT_TRUE(work.span);
  EXPECT_EQ(work.span->traceId, row.span->traceId);
  EXPECT_EQ(work.span->parentSpanId, row.span->spanId);
  EXPECT_EQ(toHex(work.span->spanId), call.get("traceparent").substr(36, 16));
  EXPECT_EQ(work.span->kind, protocol::SpanKind::Client);
}

TEST_F(Records, ACallThatFailsIsCancelledOrRefused) {
  const std::string id = tap.callTo(session, peer, "1", "t");
  (void)tap.records();
  tap.say(peer, failure(id, "NOT_FOUND", "nothing here"));
  Stored row = only(Collection::ToolCall);
  EXPECT_EQ(row.get("outcome"), "failed");
  EXPECT_EQ(row.get("code"), "NOT_FOUND");
  EXPECT_NE(row.get("message").find("nothing here"), std::string::npos);
  EXPECT_EQ(row.span->status, protocol::SpanStatus::Error);
  tap.call(session, "2", "t");
  tap.send(session, protocol::CancelCall{"2", "aborted"});
  row = only(Collection::ToolCall);
  EXPECT_EQ(row.get("outcome"), "cancelled");
  EXPECT_EQ(row.get("code"), "CANCELLED");
  EXPECT_EQ(row.get("message"), "aborted");
  tap.call(session, "3", "none", R"({"x":1})");
  row = only(Collection::ToolCall);
  EXPECT_EQ(row.get("outcome"), "refused");
  EXPECT_EQ(row.get("code"), "DISCONNECTED");
  EXPECT_EQ(row.payloads.at("arguments"), R"({"x":1})");
  tap.call(session, "4", "t", "[");
  EXPECT_EQ(only(Collection::ToolCall).get("code"), "INVALID_JSON");
}

TEST_F(Records, ACallThatWaitedSaysForHowLong) {
  tap.say(peer, helloWith("p", "s", R"("concurrency":{"max":1},"tools":)" + tools({"t"})));
  const std::string first = tap.callTo(session, peer, "1", "t");
  tap.call(session, "2", "t");
  tap.advance(30);
  tap.say(peer, result(first));
  tap.advance(0);
  const std::string second = tap.take(peer, "tool.call").get("id");
  (void)tap.records();
  tap.advance(5);
  tap.say(peer, R"({"type":"tool.result","id":")" + second + R"(","data":1,"traceparent":")" +
                    kSpanOfCli + "\"}");
  const std::vector<Stored> rows = tap.records();
  ASSERT_EQ(rows.size(), 2u);
  const Stored& row = rows[0];
  EXPECT_EQ(row.get("ms"), "35");
  EXPECT_EQ(row.get("queueMs"), "30");
  EXPECT_EQ(row.get("answeredWith"), kSpanOfCli);
  EXPECT_EQ(rows[1].span->durationUs, 5'000);
}

TEST_F(Records, WithoutSpansTheTraceIsStillForwardedAndNamed) {
  tap.record(RecordMode::All, false);
  tap.call(session, "1", "t");
  const Message call = tap.take(peer, "tool.call");
  EXPECT_EQ(call.get("traceparent").substr(53), "00");
  (void)tap.records();
  tap.say(peer, result(call.get("id")));
  const std::vector<Stored> rows = tap.records();
  ASSERT_EQ(rows.size(), 1u);
  const Stored& row = rows[0];
  EXPECT_FALSE(row.span);
  EXPECT_EQ(row.trace, call.get("traceparent").substr(3, 32));
}

TEST_F(Records, NothingIsMadeWhereTheyAreOff) {
  for (const RecordMode mode : {RecordMode::Off, RecordMode::NotifyOnly}) {
    tap.record(mode);
    (void)tap.records();
    tap.say(peer, result(tap.callTo(session, peer, "c", "t")));
    tap.say(peer, push("inject", "e"));
    tap.say(peer, R"({"type":"wave"})");
    EXPECT_TRUE(tap.records().empty());
  }
}

// Switched on while a call is in flight: its row has the known fields.
TEST_F(Records, ACallThatIsOlderThanTheRecordsHasARow) {
  tap.record(RecordMode::Off);
  const std::string id = tap.callTo(session, peer, "1", "t");
  tap.record();
  (void)tap.records();
  tap.say(peer, result(id));
  EXPECT_EQ(only(Collection::ToolCall).get("outcome"), "ok");
}

TEST_F(Records, GatesAndRules) {
  tap.say(peer, helloWith("p", "s", R"("hooks":{"onPreToolUse":[
      {"match":{"tool":"bash","args":"--force"},"action":"deny","reason":"no force"},
      {"match":{"tool":"bash"},"action":"context","content":"mind"},
      {"match":{"tool":"bash"},"action":"gate","gateId":"g"}]})"));
  (void)tap.records();
  tap.send(session, protocol::HookCheck{"1", "bash", Slice(std::string(R"({"c":"--force"})"))});
  Stored row = only(Collection::Gate);
  EXPECT_EQ(row.get("by"), "rule");
  EXPECT_EQ(row.get("outcome"), "deny");
  EXPECT_EQ(row.get("tool"), "bash");
  EXPECT_EQ(row.get("provider"), "p");
  EXPECT_NE(row.get("reason").find("no force"), std::string::npos);
  tap.send(session, protocol::HookCheck{"2", "bash", Slice(std::string(R"({"c":"ls"})"))});
  row = only(Collection::Gate);
  EXPECT_EQ(row.get("outcome"), "context");
  const std::string asked = tap.take(peer, "gate.check").get("callId");
  tap.say(peer,
          R"({"type":"gate.result","gateId":"g","decision":"allow","callId":")" + asked + "\"}");
  row = only(Collection::Gate);
  EXPECT_EQ(row.get("gate"), "g");
  EXPECT_EQ(row.get("outcome"), "allow");
  tap.send(session, protocol::HookCheck{"3", "bash", Slice(std::string("{}"))});
  (void)tap.records();
  tap.lose(peer);
  EXPECT_EQ(only(Collection::Gate).get("outcome"), "deny") << "a gate that is gone denies";
}

TEST_F(Records, EachPushSaysItsOutcome) {
  tap.say(peer, R"({"type":"filter.set","stream":"p","rules":[{"match":"^x","outcome":"drop"}]})");
  (void)tap.records();
  const auto pushOutcome = [&](const std::string& text) {
    tap.say(peer, text);
    return only(Collection::Push);
  };
  EXPECT_EQ(pushOutcome(push("keep", "e")).get("outcome"), "stored");
  EXPECT_EQ(pushOutcome(push("surface", "e")).get("outcome"), "surfaced");
  Stored row = pushOutcome(push("inject", "e", R"(,"prompt":"do it")"));
  EXPECT_EQ(row.get("outcome"), "injected");
  EXPECT_EQ(row.get("level"), "inject");
  EXPECT_EQ(row.payloads.at("event"), "e");
  EXPECT_EQ(row.payloads.at("prompt"), "do it");
  EXPECT_EQ(row.spanName, "push p");
  row = pushOutcome(push("keep", "x"));
  EXPECT_EQ(row.get("outcome"), "filtered");
  EXPECT_EQ(row.get("rule"), "0");
  EXPECT_EQ(pushOutcome(push("inject", "later")).get("outcome"), "queued");
  tap.send(session, protocol::ActivityChanged{protocol::Activity::Idle});
  EXPECT_EQ(only(Collection::Push).get("outcome"), "injected") << "it has left";
  row = pushOutcome(push("keep", "e", R"(,"traceparent":")" + kSpanOfCli + "\""));
  EXPECT_EQ(toHex(row.span->parentSpanId), kSpanOfCli.substr(36, 16));
}

TEST(RecordsOfPushes, SayWhichWereOverTheBudget) {
  Harness tap;
  tap.record();
  tap.session("s");
  const PeerId peer = tap.bound("p", "s");
  for (int i = 0; i < 10; ++i) tap.say(peer, push("keep", "e"));
  (void)tap.records();
  tap.say(peer, push("keep", "e"));
  const std::vector<Stored> rows = tap.records(Collection::Push);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].get("outcome"), "over budget");
  EXPECT_EQ(rows[0].get("code"), "RATE_LIMITED");
}

TEST_F(Records, Synchronisations) {
  (void)tap.confirmTools(session);
  tap.advance(2'000);
  (void)tap.confirmTools(session);
  tap.say(peer, update(tools({"u", "v"})));
  tap.advance(2'000);
  (void)tap.records();
  tap.advance(12);
  const auto event = tap.expect<protocol::Tools>(session);
  tap.send(session, protocol::Synced{event.revision});
  Stored row = only(Collection::Sync);
  EXPECT_EQ(row.get("mode"), "live");
  EXPECT_EQ(row.get("outcome"), "in force");
  EXPECT_EQ(row.get("added"), "2");
  EXPECT_EQ(row.get("removed"), "1");
  EXPECT_EQ(row.get("revision"), std::to_string(event.revision));
  EXPECT_GE(std::stoi(row.get("ms")), 12);
  EXPECT_EQ(row.spanName, "sync tools");
  tap.say(peer, update(tools({"w"})));
  tap.advance(2'000);
  (void)tap.records();
  tap.send(session,
           protocol::SyncFailed{tap.expect<protocol::Tools>(session).revision, "no way", {}});
  row = only(Collection::Sync);
  EXPECT_EQ(row.get("outcome"), "failed");
  EXPECT_EQ(row.get("failure"), "no way");
}

TEST_F(Records, ProvidersComeChangeAreRefusedAndGo) {
  (void)tap.records();
  const PeerId other = tap.bound("q", "s", {"u"});
  EXPECT_EQ(only(Collection::Provider).get("event"), "connected");
  tap.say(other, update(tools({"v"})));
  EXPECT_EQ(only(Collection::Provider).get("event"), "updated");
  tap.say(other, R"({"type":"wave"})");
  Stored row = only(Collection::Provider);
  EXPECT_EQ(row.get("event"), "refused");
  EXPECT_EQ(row.get("code"), "UNKNOWN_TYPE");
  EXPECT_EQ(row.source, "q");
  tap.lose(other);
  row = only(Collection::Provider);
  EXPECT_EQ(row.get("event"), "gone");
  EXPECT_EQ(row.session, "s");
}

TEST_F(Records, AFloodOfRefusedMessagesHasARowASecondWithTheirCount) {
  const PeerId other = tap.bound("q", "s");
  (void)tap.records();
  const auto flood = [&](int messages) {
    for (int i = 0; i < messages; ++i) tap.say(other, R"({"type":"wave"})");
  };
  flood(5);
  tap.say(other, push("loud", "x"));
  std::vector<Stored> rows = tap.records();
  ASSERT_EQ(rows.size(), 1u) << "the first row, without its diagnostic";
  EXPECT_EQ(rows[0].collection, Collection::Provider);
  EXPECT_EQ(rows[0].get("count"), kAbsent);
  tap.advance(1'000);
  Stored row = only(Collection::Provider);
  EXPECT_EQ(row.get("event"), "refused");
  EXPECT_EQ(row.get("count"), "5");
  EXPECT_EQ(row.get("code"), "INVALID_JSON") << "of the last row";
  EXPECT_EQ(row.source, "q");
  flood(1);
  EXPECT_EQ(tap.records().size(), 0u) << "further ones still count";
  tap.lose(other);
  EXPECT_EQ(only(Collection::Provider).get("event"), "gone");
  tap.advance(1'000);
  EXPECT_EQ(only(Collection::Provider).get("count"), "1");
  tap.advance(1'000);
  EXPECT_TRUE(tap.records().empty());
  EXPECT_EQ(tap.state().refused.size(), 0u);
  const PeerId again = tap.bound("q", "s");
  (void)tap.records();
  tap.say(again, R"({"type":"wave"})");
  EXPECT_EQ(only(Collection::Provider).get("event"), "refused") << "a quiet second later";
}

TEST(RecordsOfAFlood, HaveRefusedPushesCountedLikewise) {
  Limits limits;
  limits.set(Limit::PushesPerSecond, 10);
  Harness tap(limits);
  tap.record();
  const PeerId session = tap.session("s");
  const PeerId other = tap.bound("q", "s");
  (void)tap.records();
  for (int i = 0; i < 100; ++i) tap.say(other, push("keep", "x"));
  size_t stored = 0;
  size_t overBudget = 0;
  for (const Stored& row : tap.records(Collection::Push)) {
    ++(row.get("outcome") == "over budget" ? overBudget : stored);
  }
  EXPECT_EQ(stored, 10u);
  EXPECT_EQ(overBudget, 1u);
  tap.advance(1'000);
  const std::vector<Stored> rows = tap.records();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].get("count"), "89");
  EXPECT_EQ(rows[0].get("code"), "RATE_LIMITED");
  EXPECT_FALSE(tap.closed(session));
}

TEST_F(Records, RefusedMessagesUnderManyNamesShareACount) {
  for (int i = 0; i < 300; ++i) {
    const PeerId peer = tap.bound("q" + std::to_string(i), "s");
    tap.say(peer, R"({"type":"wave"})");
    tap.say(peer, kGoodbye);
    ASSERT_LE(tap.state().refused.size(), 257u);
  }
  tap.advance(1'000);
  tap.advance(1'000);
  EXPECT_TRUE(tap.state().refused.empty());
}

TEST_F(Records, SessionsOpenLinkAreLostAndEnd) {
  (void)tap.records();
  const PeerId other = tap.session("o", [](protocol::Register& r) { r.cliPid = 9; });
  Stored row = only(Collection::Session);
  EXPECT_EQ(row.get("event"), "opened");
  EXPECT_EQ(row.get("cwd"), "/code/o");
  tap.cut(other);
  EXPECT_EQ(only(Collection::Session).get("event"), "lost");
  const PeerId again = tap.session("o");
  EXPECT_EQ(only(Collection::Session).get("event"), "linked");
  tap.advance(5'000);
  (void)tap.records();
  tap.send(again, protocol::EndSession{"exit"});
  row = only(Collection::Session);
  EXPECT_EQ(row.get("event"), "ended");
  EXPECT_EQ(row.get("reason"), "exit");
  ASSERT_TRUE(row.span);
  EXPECT_EQ(toHex(row.span->parentSpanId), std::string(16, '0')) << "the root of its trace";
  EXPECT_EQ(row.span->durationUs, 5'000'000);
}

TEST_F(Records, WarningsAreDiagnostics) {
  (void)tap.records();
  tap.linkText(tap.newPeer(), R"({"type":"inspect"})");
  const Stored row = only(Collection::Diagnostic);
  EXPECT_EQ(row.get("level"), "warning");
  EXPECT_NE(row.get("text").find("refused a link"), std::string::npos);
}

// The memory of a row is reused, unless it is still referenced.
TEST(RecordBoxes, AreReusedOnceNobodyHasThem) {
  Recorder recorder;
  auto first = recorder.take();
  auto second = recorder.take();
  EXPECT_NE(first, second);
  const void* const memory = first.get();
  first.reset();
  second.reset();
  EXPECT_EQ(recorder.take().get(), memory);
  std::vector<std::shared_ptr<RowBox>> many;
  for (int i = 0; i < 1'000; ++i) {
    many.push_back(recorder.take());
    many.back()->text = std::to_string(i);
  }
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(many[static_cast<size_t>(i)]->text, std::to_string(i));
}

}  // namespace
}  // namespace tap::gateway::test
