// Compiled patterns: compiled once for each text, freed when unused, limited in number, bytes and
// work, for each party and in total.
#include <gtest/gtest.h>

#include "gateway/harness.h"
#include "gateway/registry/pattern_store.h"

namespace tap::gateway::test {
namespace {

using protocol::ErrorCode;

// A text of its own for each number, as large as `bytes`.
std::string patternText(int number, size_t bytes = 16) {
  std::string text = std::to_string(number) + "-";
  text.resize(bytes, 'a');
  return text;
}
std::string filterMessage(std::string_view stream, int first, int count, size_t bytes = 16) {
  std::string text = R"({"type":"filter.set","requestId":"r","stream":)" + quote(stream);
  text += R"(,"rules":[)";
  for (int i = 0; i < count; ++i) {
    text += std::string(i == 0 ? "" : ",") + R"({"match":)" + quote(patternText(first + i, bytes));
    text += R"(,"outcome":"drop"})";
  }
  return text + "]}";
}

struct Store : ::testing::Test {
  Limits limits;
  PatternStore store{limits};
  Time now{Millis(1'000)};

  std::shared_ptr<const Pattern> get(std::string_view party, const std::string& text) {
    auto got = store.obtain(party, text, now);
    return got ? got.value() : nullptr;
  }
  ErrorCode refusal(std::string_view party, const std::string& text) {
    auto got = store.obtain(party, text, now);
    return got ? ErrorCode::Count_ : got.error().code;
  }
};

TEST_F(Store, CompilesATextOnceForAll) {
  const auto one = get("a", "err(or)?");
  EXPECT_EQ(get("a", "err(or)?"), one);
  EXPECT_EQ(get("b", "err(or)?").get(), one.get());
  EXPECT_EQ(store.compiles(), 1u);
  EXPECT_EQ(one->matches("an error"), Match::Yes);
}

TEST_F(Store, FreesWhatNobodyUses) {
  auto one = get("a", "x");
  auto other = get("b", "x");
  EXPECT_EQ(store.inAll().patterns, 1u);
  EXPECT_EQ(store.of("a").patterns, 1u);
  EXPECT_GT(store.of("a").bytes, one->bytes());
  one.reset();
  EXPECT_EQ(store.of("a").patterns, 0u);
  EXPECT_EQ(store.of("a").bytes, 0u);
  EXPECT_EQ(store.inAll().patterns, 1u);
  other.reset();
  EXPECT_EQ(store.inAll().patterns, 0u);
  EXPECT_EQ(store.inAll().bytes, 0u);
  EXPECT_TRUE(get("a", "x"));
  EXPECT_EQ(store.compiles(), 2u);
}

TEST_F(Store, OutlivesNothingThatItHandsOut) {
  std::shared_ptr<const Pattern> kept;
  {
    PatternStore shortLived(limits);
    kept = shortLived.obtain("a", "x", now).value();
  }
  EXPECT_EQ(kept->matches("x"), Match::Yes);
}

// shows: P-STREAM-13
TEST_F(Store, BoundsTheWorkForAParty) {
  limits.set(Limit::PatternsPerParty, 10);
  limits.set(Limit::CompilesPerSecond, 5);
  PatternStore small(limits);
  const auto flood = [&](std::string_view party) {
    const uint64_t before = small.compiles();
    for (int i = 0; i < 1'000; ++i) (void)small.obtain(party, patternText(i), now);
    return small.compiles() - before;
  };
  EXPECT_EQ(flood("a"), 20u);
  EXPECT_EQ(small.obtain("a", "one more", now).error().code, ErrorCode::RateLimited);
  EXPECT_EQ(flood("b"), 20u) << "each party has its own budget";
  now += Millis(1'000);
  EXPECT_EQ(flood("a"), 5u);
}

TEST_F(Store, BoundsTheWorkForAllParties) {
  limits.set(Limit::PatternsPerParty, 10);
  PatternStore small(limits);
  for (int party = 0; party < 50; ++party) {
    for (int i = 0; i < 40; ++i) (void)small.obtain(std::to_string(party), patternText(i), now);
  }
  EXPECT_LE(small.compiles(), 100u);
}

TEST_F(Store, ChargesWhatIsNoPatternToo) {
  for (int i = 0; i < 10'000; ++i) (void)refusal("a", "(" + patternText(i));
  EXPECT_LE(store.compiles(), 400u);
  EXPECT_EQ(refusal("a", "("), ErrorCode::RateLimited);
  EXPECT_EQ(refusal("b", "("), ErrorCode::InvalidJson);
}

// shows: P-STREAM-13
TEST_F(Store, ChargesMoreForWhatIsLarger) {
  (void)get("a", "x");
  EXPECT_EQ(store.charged(), 1u);
  (void)get("a", "(ab|cd){1000}");
  EXPECT_GE(store.charged(), 4u);
}

TEST_F(Store, HoldsNoMoreThanItMayInAll) {
  limits.set(Limit::Patterns, 3);
  std::vector<std::shared_ptr<const Pattern>> held;
  for (int i = 0; i < 3; ++i) held.push_back(get(std::to_string(i), patternText(i)));
  EXPECT_EQ(refusal("4", "another"), ErrorCode::RateLimited);
  EXPECT_EQ(refusal("4", patternText(2)), ErrorCode::Count_) << "a compiled pattern is free";
  held.pop_back();
  EXPECT_TRUE(get("4", "another"));
}

TEST_F(Store, HoldsNoMoreBytesThanItMayInAll) {
  limits.set(Limit::PatternBytes, 64 * 1024);
  std::vector<std::shared_ptr<const Pattern>> held;
  for (int i = 0; i < 100; ++i) {
    held.push_back(get("a", patternText(i, 1024)));
    ASSERT_LE(store.inAll().bytes, 64u * 1024);
  }
  EXPECT_EQ(held.back(), nullptr);
}

TEST_F(Store, ForgetsPartiesOfWhichNothingDepends) {
  for (int i = 0; i < 1'000; ++i) {
    (void)get("party " + std::to_string(i), "x");
    now += Millis(100);
  }
  EXPECT_LE(store.parties(), 3u);
}

TEST(PatternCost, IsBoundedForOnePattern) {
  // Each would be more than 100 KB of machine code.
  std::string nested;
  while (nested.size() + 12 <= 1'024) nested += "(?:a|(a)){2}";
  for (const std::string& text : {nested, std::string(1'024, 'a'), std::string("(ab|cd){1000}")}) {
    const auto pattern = Pattern::compile(text);
    ASSERT_TRUE(pattern.ok()) << text;
    EXPECT_LE(pattern.value().bytes(), Pattern::kMaxCompiledBytes);
  }
  const auto large = Pattern::compile("(?:(?:ab|cd){100}){100}");
  ASSERT_FALSE(large.ok());
}

// --- Over the gateway

struct Patterns : ::testing::Test {
  Harness tap{limits()};
  PeerId session = tap.session("s");
  PeerId peer = tap.bound("p", "s");

  static Limits limits() {
    Limits limits;
    limits.set(Limit::PatternsPerParty, 60);
    return limits;
  }
  PatternStore& store() { return tap.state().patterns; }
};

// shows: P-STREAM-12
TEST_F(Patterns, OfAReplacedFilterMakeRoomForTheNewOnes) {
  tap.say(peer, filterMessage("ci", 0, 50));
  EXPECT_EQ(tap.take(peer).type(), "ack");
  tap.advance(10'000);
  tap.say(peer, filterMessage("ci", 100, 50));
  EXPECT_EQ(tap.take(peer).type(), "ack");
  EXPECT_EQ(store().of("program p").patterns, 50u);
}

// shows: P-STREAM-12
TEST_F(Patterns, ThatAreTooManyAreRefusedAndTheOldOnesStay) {
  tap.say(peer, filterMessage("ci", 0, 50));
  (void)tap.take(peer);
  tap.say(peer, filterMessage("more", 100, 11));
  const Message error = tap.take(peer);
  EXPECT_EQ(error.get("code"), "PAYLOAD_TOO_LARGE");
  EXPECT_EQ(error.get("requestId"), "r");
  EXPECT_NE(error.get("message").find("at most 60 different patterns"), std::string::npos);
  EXPECT_EQ(store().of("program p").patterns, 50u);
  tap.say(peer, filterMessage("more", 100, 10));
  EXPECT_EQ(tap.take(peer).type(), "ack");
  tap.say(peer, R"({"type":"filter.set","stream":"ci","rules":[]})");
  EXPECT_EQ(store().of("program p").patterns, 10u);
}

// shows: P-STREAM-12
TEST_F(Patterns, OfRulesCountAsThoseOfFilters) {
  tap.say(peer, filterMessage("ci", 0, 50));
  (void)tap.take(peer);
  std::string rules;
  for (int i = 0; i < 11; ++i) {
    rules += std::string(i == 0 ? "" : ",") + R"({"action":"deny","match":{"args":)";
    rules += quote(patternText(1'000 + i)) + "}}";
  }
  tap.say(peer, R"({"type":"hooks.update","requestId":"r","onPreToolUse":[)" + rules + "]}");
  EXPECT_EQ(tap.errorCode(peer), "PAYLOAD_TOO_LARGE");
  const PeerId other = tap.authed();
  tap.say(other, helloWith("q", "s", R"("hooks":{"onPreToolUse":[)" + rules + "]}"));
  EXPECT_EQ(tap.take(other).type(), "hello.ack");
  EXPECT_EQ(store().of("program q").patterns, 11u);
}

std::string hookRules(int first, int count) {
  std::string rules;
  for (int i = 0; i < count; ++i) {
    rules += std::string(i == 0 ? "" : ",") + R"({"action":"deny","match":{"args":)";
    rules += quote(patternText(first + i)) + "}}";
  }
  return R"("hooks":{"onPreToolUse":[)" + rules + "]}";
}

// shows: P-STREAM-12
TEST_F(Patterns, OfAProviderThatComesBackReplaceThoseThatItHad) {
  PeerId one = tap.authed();
  std::string token;
  const auto greet = [&](std::string_view to, int first) {
    tap.say(one, helloWith("q", to, hookRules(first, 40) + token));
    const Message ack = tap.take(one);
    EXPECT_EQ(ack.type(), "hello.ack") << first << ack.get("message");
    EXPECT_EQ(store().of("program q").patterns, 40u) << first;
    token = R"(,"reconnectToken":)" + quote(ack.get("reconnectToken"));
    tap.advance(10'000);
    tap.clear();
  };
  greet("s", 0);
  tap.lose(one);
  one = tap.authed();
  greet("s", 100);  // saved and held data is removed
  tap.lose(one);
  one = tap.authed();
  token.clear();
  greet("s", 200);  // its program has started again
  greet("s", 300);  // over the same connection
  one = tap.authed();
  greet("s", 400);  // takes over
  greet("all", 500);
  one = tap.authed();
  greet("all", 600);
  tap.lose(one);
  one = tap.authed();
  greet("all", 700);
}

// shows: P-STREAM-12
TEST_F(Patterns, OfAHelloThatReplacesNothingCountWithTheRest) {
  const PeerId one = tap.authed();
  tap.say(one, helloWith("q", "s", hookRules(0, 40)));
  const PeerId other = tap.authed();
  tap.say(other, helloWith("q", "s", R"("instance":"2",)" + hookRules(100, 40)));
  EXPECT_EQ(tap.errorCode(other), "PAYLOAD_TOO_LARGE");
  (void)tap.session("t");
  tap.advance(10'000);
  tap.lose(one);
  tap.say(other, helloWith("q", "t", hookRules(100, 40)));
  EXPECT_EQ(tap.errorCode(other), "PAYLOAD_TOO_LARGE") << "those of session s are held";
}

// shows: P-STREAM-12
TEST_F(Patterns, OfTheGatewaysOwnProvidersAreBoundedToo) {
  const PeerId internal = tap.admitted();
  tap.say(internal, hello("own", "s", "[]"));
  tap.say(internal, filterMessage("a", 0, 50));
  EXPECT_EQ(tap.count(internal, "error"), 0u);
  tap.say(internal, filterMessage("b", 100, 50));
  EXPECT_EQ(tap.errorCode(internal), "PAYLOAD_TOO_LARGE");
}

// shows: P-STREAM-12
TEST_F(Patterns, AreFreedWithTheirProvider) {
  tap.say(peer, filterMessage("ci", 0, 50));
  EXPECT_EQ(store().inAll().patterns, 50u);
  tap.lose(peer);
  EXPECT_EQ(store().inAll().patterns, 50u) << "it may come back";
  tap.advance(30'001);
  EXPECT_EQ(store().inAll().patterns, 0u);
}

// shows: P-STREAM-13
TEST_F(Patterns, AFloodOfThemIsRefused) {
  std::vector<PeerId> peers;
  for (int i = 0; i < 6; ++i) {
    peers.push_back(tap.authed());
    const std::string instance = R"("instance":"i)" + std::to_string(i) + "\"";
    tap.say(peers.back(), helloWith("flood", "s", instance));
  }
  for (int i = 0; i < 100; ++i) {
    for (size_t of = 0; of < peers.size(); ++of) {
      const int first = 1'000'000 * static_cast<int>(of) + 50 * i;
      tap.say(peers[of], filterMessage("ci", first, 50, 1'024));
    }
  }
  // Twice patterns-per-party, and not 30,000.
  EXPECT_LE(store().compiles(), 121u);
  EXPECT_LE(store().of("program flood").patterns, 60u);
  for (const PeerId one : peers) EXPECT_EQ(tap.errorCode(one), "RATE_LIMITED");
}

// shows: P-STREAM-13
TEST_F(Patterns, CountForTheMessageAllowance) {
  Limits limits;
  limits.set(Limit::MessageBurst, 40);
  Harness small(limits);
  (void)small.session("s");
  const PeerId other = small.bound("p", "s");
  small.say(other, filterMessage("ci", 0, 20));
  EXPECT_FALSE(small.paused(other));
  small.say(other, filterMessage("ci", 0, 20));  // known by now
  EXPECT_FALSE(small.paused(other));
  small.say(other, filterMessage("ci", 100, 20));
  EXPECT_TRUE(small.paused(other));
}

}  // namespace
}  // namespace tap::gateway::test
