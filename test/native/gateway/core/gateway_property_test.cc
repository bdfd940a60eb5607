// Random inputs, legal and illegal, over several providers and sessions: World checks the promises.
#include <gtest/gtest.h>

#include <random>

#include "gateway/world.h"

namespace tap::gateway::test {
namespace {

// shows: P-CALL-7
TEST(GatewayProperty, KeepsItsPromisesUnderAnyInput) {
  int calls = 0;
  int settled = 0;
  int texts = 0;
  for (uint32_t seed = 1; seed <= 70; ++seed) {
    std::mt19937 random(seed);
    World world({[&](uint32_t bound) { return random() % bound; }});
    for (int i = 0; i < 700; ++i) {
      world.step();
      if (::testing::Test::HasFailure()) FAIL() << "seed " << seed << ", step " << i;
    }
    calls += world.calls();
    settled += world.settled();
    world.finish();
    texts += world.texts();
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed << ", at the end";
  }
  // The inputs are random, but they must reach something.
  EXPECT_GT(calls, 5'000);
  EXPECT_GT(settled, 500);
  EXPECT_GT(texts, 5);
}

}  // namespace
}  // namespace tap::gateway::test
