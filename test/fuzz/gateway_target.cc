// A whole gateway with its peers: the input controls their actions.
#include <gtest/gtest.h>

#include <string>

#include "gateway/world.h"
#include "targets.h"

namespace tap::fuzz {

void gateway(std::string_view input) {
  constexpr int kSteps = 300;
  Bytes bytes(input);
  gateway::test::World world({
      .below = [&](uint32_t bound) { return bytes.below(bound); },
      .text = [&] { return std::string(bytes.until('\n')); },
  });
  for (int i = 0; i < kSteps && !bytes.empty(); ++i) {
    world.step();
    if (testing::Test::HasFailure()) return;
  }
  world.finish();
}

}  // namespace tap::fuzz
