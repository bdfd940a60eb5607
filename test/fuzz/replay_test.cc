// Every checked-in input of every target, without a fuzzer: seeds, and inputs that once failed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "targets.h"

namespace tap::fuzz {
namespace {

class Replay : public testing::TestWithParam<Target> {};

TEST_P(Replay, RunsEveryCheckedInInput) {
  int count = 0;
  const std::filesystem::path folder = std::filesystem::path(TAP_FUZZ_CORPUS) / GetParam().name;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().filename().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), {}};
    GetParam().run(input);
    ++count;
  }
  EXPECT_GT(count, 0) << "no inputs in " << folder;
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Replay, testing::ValuesIn(kTargets),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tap::fuzz
