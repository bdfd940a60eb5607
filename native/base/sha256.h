// SHA-256 (FIPS 180-4), for digests that name a text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tap {

[[nodiscard]] std::array<uint8_t, 32> sha256(std::string_view bytes);

}  // namespace tap
