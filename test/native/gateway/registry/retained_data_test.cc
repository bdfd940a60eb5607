// The memory that the gateway keeps for providers: limited for each party and in total, and a party
// cannot use the memory of others.
#include "gateway/registry/retained_data.h"

#include <gtest/gtest.h>

#include "gateway/harness.h"
#include "gateway/recount.h"

namespace tap::gateway::test {
namespace {

constexpr size_t kMaxOfParty = 1'000'000;
constexpr size_t kMaxOfAll = 1'500'000;

struct KeptBytes : ::testing::Test {
  Harness tap{limits()};
  PeerId session = tap.session("s");
  PeerId peer = tap.bound("p", "s");

  static Limits limits() {
    Limits limits = manyPushes();
    limits.set(Limit::KeptBytesPerParty, kMaxOfParty);
    limits.set(Limit::KeptBytes, kMaxOfAll);
    limits.set(Limit::DepartedPerParty, 3);
    return limits;
  }
  void TearDown() override { Recount::check(tap.state()); }
  size_t of(const std::string& party) { return tap.state().retainedData.of(party).bytes; }
  size_t inAll() { return tap.state().retainedData.inAll(); }
  size_t entries(const std::string& name, const std::string& stream) {
    const auto& streams = tap.state().sessions.find("s")->streams;
    const auto at = streams.find(name);
    const EventStream* found = at == streams.end() ? nullptr : at->second.find(stream);
    return found == nullptr ? 0 : found->entries().size();
  }
  void keep(PeerId from, const std::string& stream, size_t bytes) {
    const std::string name = R"(,"stream":)" + quote(stream);
    tap.say(from, push("keep", std::string(bytes, 'e'), name));
  }
};

// shows: P-LIMIT-7
TEST_F(KeptBytes, EventsOfAPartyGiveWayToItsNewOnesTheOldestFirst) {
  keep(peer, "first", 200'000);
  tap.advance(1);
  for (int i = 0; i < 20; ++i) {
    keep(peer, "second", 200'000);
    ASSERT_LE(of("program p"), kMaxOfParty);
    ASSERT_EQ(tap.count(peer, "error"), 0u);
  }
  EXPECT_EQ(entries("p", "first"), 0u);
  EXPECT_EQ(entries("p", "second"), 4u);
}

// shows: P-LIMIT-7
TEST_F(KeptBytes, EventsOfAnotherPartyNeverGiveWay) {
  const PeerId other = tap.bound("q", "s");
  for (int i = 0; i < 3; ++i) keep(other, "own", 200'000);
  for (int i = 0; i < 20; ++i) keep(peer, "p", 200'000);
  EXPECT_EQ(entries("q", "own"), 3u);
  EXPECT_LE(inAll(), kMaxOfAll);
  EXPECT_EQ(tap.count(peer, "error"), 0u) << "its own oldest go";
  const PeerId third = tap.bound("r", "s");
  keep(third, "r", 700'000);
  EXPECT_EQ(tap.errorCode(third), "RATE_LIMITED");
}

// shows: P-LIMIT-7
TEST_F(KeptBytes, EventsOfThoseThatMayComeBackCount) {
  for (int i = 0; i < 4; ++i) keep(peer, "p", 200'000);
  tap.lose(peer);
  EXPECT_GT(of("program p"), 800'000u);
  const PeerId other = tap.bound("q", "s");
  keep(other, "q", 800'000);
  EXPECT_EQ(tap.errorCode(other), "RATE_LIMITED");
  tap.advance(30'001);
  keep(other, "q", 800'000);
  EXPECT_EQ(tap.count(other, "error"), 0u);
}

// shows: P-LIMIT-7
TEST_F(KeptBytes, ADeltaCannotGrowTheToolsWithoutEnd) {
  std::string refused;
  for (int i = 0; i < 60 && refused.empty(); ++i) {
    const std::string large =
        R"(,"parameters":{"type":"object","title":)" + quote(std::string(100'000, 't')) + "}";
    tap.say(peer, R"({"type":"tools.update","remove":[],"tools":[)" +
                      tool("tool" + std::to_string(i), large) + "]}");
    ASSERT_LE(of("program p"), kMaxOfParty);
    if (tap.count(peer, "error") > 0) refused = tap.errorCode(peer);
  }
  EXPECT_EQ(refused, "PAYLOAD_TOO_LARGE");
}

// shows: P-LIMIT-7
TEST_F(KeptBytes, HellosUnderEverNewNamesLeaveAFewOfThem) {
  tap.say(peer, kGoodbye);
  tap.clear();
  const auto& known = tap.state().sessions.find("s")->known;
  for (int i = 0; i < 50; ++i) {
    const PeerId one = tap.authed();
    const std::string instance = R"("instance":"i)" + std::to_string(i) + "\"";
    tap.say(one, helloWith("p", "s", instance));
    ASSERT_EQ(tap.take(one).type(), "hello.ack");
    tap.lose(one);
    tap.advance(1);
    ASSERT_LE(known.size(), 4u);
  }
  EXPECT_TRUE(known.contains({"p", "i49"}));
  EXPECT_FALSE(known.contains({"p", "i0"}));
}

// shows: P-LIMIT-7
TEST_F(KeptBytes, DeclarationsOfThoseThatLeftAreBounded) {
  const std::string context(60'000, 'c');
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    const PeerId one = tap.authed();
    tap.say(one, helloWith("n" + std::to_string(i), "s", R"("context":)" + quote(context)));
    if (tap.count(one, "error") > 0) ++refused;
    tap.lose(one);
    ASSERT_LE(inAll(), kMaxOfAll);
  }
  EXPECT_GT(refused, 0);
  keep(peer, "p", 70'000);
  EXPECT_EQ(tap.errorCode(peer), "RATE_LIMITED");
}

// shows: P-LIMIT-7
TEST_F(KeptBytes, InjectsThatWaitCount) {
  for (int i = 0; i < 10; ++i) tap.say(peer, push("inject", std::string(150'000, 'e')));
  EXPECT_LE(of("program p"), kMaxOfParty);
  EXPECT_EQ(tap.errorCode(peer), "PAYLOAD_TOO_LARGE");
}

// shows: P-LIMIT-8
TEST_F(KeptBytes, OfWhoIsRefusedStay) {
  for (int i = 0; i < 3; ++i) keep(peer, "history", 200'000);
  keep(peer, "history", 1'200'000);
  EXPECT_EQ(tap.errorCode(peer), "PAYLOAD_TOO_LARGE");
  EXPECT_EQ(entries("p", "history"), 3u);
  const PeerId other = tap.bound("q", "s");
  keep(other, "q", 850'000);
  keep(peer, "history", 900'000);
  EXPECT_EQ(tap.errorCode(peer), "RATE_LIMITED");
  EXPECT_EQ(entries("p", "history"), 3u);
  for (int i = 0; i < 19; ++i) keep(peer, std::to_string(i), 1);
  keep(peer, "one stream too many", 400'000);
  EXPECT_EQ(tap.errorCode(peer), "PAYLOAD_TOO_LARGE");
  EXPECT_EQ(entries("p", "history"), 3u);
}

// shows: P-LIMIT-7
TEST_F(KeptBytes, OfSeveralStreamsTheOldestEventsGiveWayWhateverTheClockSays) {
  for (const char* stream : {"c", "a", "b", "c", "a"}) keep(peer, stream, 190'000);
  keep(peer, "d", 390'000);
  EXPECT_EQ(entries("p", "c"), 1u);
  EXPECT_EQ(entries("p", "a"), 1u);
  EXPECT_EQ(entries("p", "b"), 1u);
  keep(peer, "d", 190'000);
  EXPECT_EQ(entries("p", "b"), 0u);
}

// --- Replaced data makes room for the new data

std::string contextField(size_t bytes) {
  return R"("context":)" + quote(std::string(bytes, 'c'));
}

struct KeptOfOne : KeptBytes {
  // As large as the gateway takes it: once it may be kept, twice it may not.
  static constexpr size_t kLarge = 60'000;
  static std::string toolList(size_t bytes) {
    return "[" +
           tool("t", R"(,"parameters":{"type":"object","title":)" + quote(std::string(bytes, 't')) +
                         "}") +
           "]";
  }
  // A provider with its own name, bound as in `more`.
  PeerId greeted(std::string_view to, std::string_view more) {
    const PeerId one = tap.authed();
    tap.say(one, helloWith("one", to, more));
    ack = tap.take(one);
    EXPECT_EQ(ack.type(), "hello.ack") << ack.get("message");
    return one;
  }
  Message ack{"{}"};
};

// shows: P-LIMIT-9
TEST_F(KeptOfOne, ComesBackToManySessionsWithWhatItHad) {
  for (int i = 0; i < 3; ++i) tap.session("s" + std::to_string(i));
  const std::string more = R"("tools":)" + toolList(100'000);
  PeerId one = greeted("all", more);
  EXPECT_GT(of("program one"), 900'000u);
  tap.lose(one);
  const std::string token = R"(,"reconnectToken":)" + quote(ack.get("reconnectToken"));
  one = greeted("all", more + token);
  EXPECT_EQ(tap.state().providers.find(one)->bindings.size(), 4u);
  tap.say(one, helloWith("one", "all", more));
  EXPECT_EQ(tap.take(one, "hello.ack").type(), "hello.ack") << "over the same connection";
  tap.session("s4");
  EXPECT_LE(of("program one"), kMaxOfParty);
}

// shows: P-LIMIT-9
TEST_F(KeptOfOne, ComesBackWithoutItsToken) {
  const std::string more = R"("tools":)" + toolList(600'000);
  tap.lose(greeted("s", more));
  (void)greeted("s", more);
}

// shows: P-LIMIT-9
TEST_F(KeptOfOne, IsNotReadyForOneSessionMoreThanFits) {
  const std::string more = R"("tools":)" + toolList(300'000);
  const PeerId one = greeted("all", more);
  EXPECT_LE(of("program one"), kMaxOfParty);
  tap.session("t");
  tap.say(one, R"({"type":"session.ready","sessionId":"t"})");
  EXPECT_EQ(tap.errorCode(one), "PAYLOAD_TOO_LARGE");
}

// shows: P-LIMIT-9
TEST_F(KeptOfOne, UpdatesItsToolsAndHooks) {
  const PeerId one = greeted("s", R"("tools":)" + toolList(600'000));
  tap.say(one, R"({"type":"tools.update","requestId":"r","tools":)" + toolList(601'000) + "}");
  EXPECT_EQ(tap.take(one, "ack").type(), "ack");
  std::string rules;
  for (int i = 0; i < 5; ++i) {
    rules += std::string(i == 0 ? "" : ",") +
             R"({"action":"context","match":{"tool":"t"},"content":)" +
             quote(std::string(kLarge, 'c')) + "}";
  }
  tap.say(one, R"({"type":"tools.update","tools":[]})");
  for (int i = 0; i < 3; ++i) {
    tap.say(one, R"({"type":"hooks.update","onPreToolUse":[)" + rules + "]}");
    tap.say(one, R"({"type":"context.update",)" + contextField(kLarge) + "}");
    EXPECT_EQ(tap.count(one, "error"), 0u) << i << " " << tap.errorCode(one);
    Recount::check(tap.state());
  }
}

// --- Data that was not counted before

// shows: P-LIMIT-7
TEST_F(KeptOfOne, RulesThatAreHeldCountTwice) {
  std::string rules;
  for (int i = 0; i < 3; ++i) {
    rules += std::string(i == 0 ? "" : ",") + R"({"action":"deny","match":{"tool":"t"},"reason":)" +
             quote(std::string(kLarge, 'r')) + "}";
  }
  const PeerId one = greeted("s", R"("hooks":{"onPreToolUse":[)" + rules + "]}");
  const size_t bound = of("program one");
  EXPECT_GT(bound, 4 * 3 * kLarge) << "a rule's text and its JSON, once more where it is held";
  tap.lose(one);
  Recount::check(tap.state());
  EXPECT_GT(of("program one"), 4 * 3 * kLarge);
  EXPECT_LE(of("program one"), bound);
}

// shows: P-LIMIT-8
TEST_F(KeptOfOne, AHelloThatIsRefusedLeavesNothing) {
  tap.say(peer, update("[" + tool("taken") + "]"));
  const PeerId one = tap.authed();
  tap.say(one, helloWith("one", "all",
                         R"("metadata":{"m":")" + std::string(9'000, 'm') + R"("},"tools":[)" +
                             tool("taken") + "]"));
  EXPECT_EQ(tap.errorCode(one), "TOOL_CONFLICT");
  const Provider* provider = tap.state().providers.find(one);
  EXPECT_TRUE(provider->metadata.empty());
  EXPECT_TRUE(provider->declared.tools.empty());
  EXPECT_EQ(of("program one"), 0u);
}

// shows: P-LIMIT-7
TEST_F(KeptOfOne, InjectsThatWaitAreItsOwnUnderAnotherName) {
  const PeerId one = greeted("s", R"("tools":[])");
  tap.say(one, push("inject", "goes at once"));
  tap.say(one, helloWith("two", "s", R"("tools":[])"));
  tap.say(one, push("inject", std::string(100'000, 'e')));
  EXPECT_GT(of("program two"), 200'000u) << "the event, and the inject that waits";
  EXPECT_LT(of("program one"), 100'000u);
  Recount::check(tap.state());
  tap.send(session, protocol::ActivityChanged{protocol::Activity::Busy});
  tap.send(session, protocol::ActivityChanged{protocol::Activity::Idle});
  EXPECT_LT(of("program two"), 110'000u) << "it has gone to the session";
}

// --- Paired programs leave the rest to the user's

struct KeptOfPaired : KeptBytes {
  PeerId page(const std::string& origin, const std::string& name) {
    const PeerId asking = tap.open(origin);
    tap.say(asking, R"({"type":"auth","mode":"pair","session":"s","name":"page"})");
    const std::string line = tap.timeline(session);
    tap.say(asking, R"({"type":"auth.confirm","code":)" +
                        quote(line.substr(line.find("code: ") + 6, 6)) + "}");
    tap.say(asking, helloWith(name, "s", R"("tools":[])"));
    EXPECT_EQ(tap.take(asking, "hello.ack").type(), "hello.ack");
    return asking;
  }
};

// shows: P-LIMIT-10
TEST_F(KeptOfPaired, TogetherTakeHalf) {
  const PeerId one = page("https://one.example", "one");
  const PeerId two = page("https://two.example", "two");
  keep(one, "e", 400'000);
  keep(two, "e", 300'000);
  EXPECT_EQ(tap.count(one, "error") + tap.count(two, "error"), 0u);
  keep(two, "e", 400'000);
  EXPECT_EQ(tap.errorCode(two), "RATE_LIMITED");
  EXPECT_EQ(entries("two", "e"), 1u);
  keep(two, "e", 340'000);
  EXPECT_EQ(tap.count(two, "error"), 0u) << "its own oldest event is deleted";
  EXPECT_EQ(entries("one", "e"), 1u);
  keep(peer, "mine", 700'000);
  EXPECT_EQ(tap.count(peer, "error"), 0u) << "the user's programs have the rest";
  EXPECT_LE(tap.state().retainedData.ofPaired(), kMaxOfAll / kPairedShare);
}

}  // namespace
}  // namespace tap::gateway::test
