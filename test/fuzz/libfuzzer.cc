// Runs the target that TAP_FUZZ_TARGET names under libFuzzer. A failed assertion ends the process,
// so that libFuzzer keeps the input.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "targets.h"

namespace {

class AbortOnFailure : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "%s\n", result.summary());
    std::abort();
  }
};

void (*chosen)(std::string_view) = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  testing::InitGoogleTest();
  testing::UnitTest::GetInstance()->listeners().Append(new AbortOnFailure);
  const char* name = std::getenv("TAP_FUZZ_TARGET");
  for (const tap::fuzz::Target& target : tap::fuzz::kTargets) {
    if (name != nullptr && target.name == name) chosen = target.run;
  }
  if (chosen == nullptr) {
    std::fprintf(stderr, "TAP_FUZZ_TARGET names no target\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  chosen({reinterpret_cast<const char*>(data), size});
  return 0;
}
