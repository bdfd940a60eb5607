// The loop, the environment variables and the randomness of the process.
#pragma once

#include <napi.h>
#include <uv.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/limits.h"

namespace tap::addon {

[[nodiscard]] uv_loop_t* eventLoop(Napi::Env env);

// The limits in force in this process; see Limits::withOverrides.
[[nodiscard]] Limits limitsFromEnvironment(std::vector<std::string>& complaints);

// From the operating system. Zeros only if it fails, which libuv does not expect.
[[nodiscard]] std::array<uint64_t, 4> randomSeed();

// The same for secrets. Without randomness the process ends.
void fillSecret(uint8_t* bytes, size_t size);

}  // namespace tap::addon
