// What the gateway keeps of providers: bounded for each party and in all, and no party's memory is
// taken for another.
#include "gateway/kept.h"

#include <gtest/gtest.h>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

constexpr size_t kMostOfParty = 1'000'000;
constexpr size_t kMostOfAll = 1'500'000;

struct KeptBytes : ::testing::Test {
  Harness tap{limits()};
  PeerId session = tap.session("s");
  PeerId peer = tap.bound("p", "s");

  static Limits limits() {
    Limits limits = manyPushes();
    limits.set(Limit::KeptBytesPerParty, kMostOfParty);
    limits.set(Limit::KeptBytes, kMostOfAll);
    limits.set(Limit::DepartedPerParty, 3);
    return limits;
  }
  size_t of(const std::string& party) { return kept(tap.state(), party).ofParty; }
  size_t inAll() { return kept(tap.state(), "").inAll; }
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

TEST_F(KeptBytes, EventsOfAPartyGiveWayToItsNewOnesTheOldestFirst) {
  keep(peer, "first", 200'000);
  tap.advance(1);
  for (int i = 0; i < 20; ++i) {
    keep(peer, "second", 200'000);
    ASSERT_LE(of("program p"), kMostOfParty);
    ASSERT_EQ(tap.count(peer, "error"), 0u);
  }
  EXPECT_EQ(entries("p", "first"), 0u);
  EXPECT_EQ(entries("p", "second"), 4u);
}

TEST_F(KeptBytes, EventsOfAnotherPartyNeverGiveWay) {
  const PeerId other = tap.bound("q", "s");
  for (int i = 0; i < 3; ++i) keep(other, "own", 200'000);
  for (int i = 0; i < 20; ++i) keep(peer, "p", 200'000);
  EXPECT_EQ(entries("q", "own"), 3u);
  EXPECT_LE(inAll(), kMostOfAll);
  EXPECT_EQ(tap.count(peer, "error"), 0u) << "its own oldest go";
  const PeerId third = tap.bound("r", "s");
  keep(third, "r", 700'000);
  EXPECT_EQ(tap.errorCode(third), "RATE_LIMITED");
}

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

TEST_F(KeptBytes, ADeltaCannotGrowTheToolsWithoutEnd) {
  std::string refused;
  for (int i = 0; i < 60 && refused.empty(); ++i) {
    const std::string large =
        R"(,"parameters":{"type":"object","title":)" + quote(std::string(100'000, 't')) + "}";
    tap.say(peer, R"({"type":"tools.update","remove":[],"tools":[)" +
                      tool("tool" + std::to_string(i), large) + "]}");
    ASSERT_LE(of("program p"), kMostOfParty);
    if (tap.count(peer, "error") > 0) refused = tap.errorCode(peer);
  }
  EXPECT_EQ(refused, "PAYLOAD_TOO_LARGE");
}

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

TEST_F(KeptBytes, DeclarationsOfThoseThatLeftAreBounded) {
  const std::string context(60'000, 'c');
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    const PeerId one = tap.authed();
    tap.say(one, helloWith("n" + std::to_string(i), "s", R"("context":)" + quote(context)));
    if (tap.count(one, "error") > 0) ++refused;
    tap.lose(one);
    ASSERT_LE(inAll(), kMostOfAll);
  }
  EXPECT_GT(refused, 0);
  keep(peer, "p", 70'000);
  EXPECT_EQ(tap.errorCode(peer), "RATE_LIMITED");
}

TEST_F(KeptBytes, InjectsThatWaitCount) {
  for (int i = 0; i < 10; ++i) tap.say(peer, push("inject", std::string(150'000, 'e')));
  EXPECT_LE(of("program p"), kMostOfParty);
  EXPECT_EQ(tap.errorCode(peer), "PAYLOAD_TOO_LARGE");
}

}  // namespace
}  // namespace tap::gateway::test
