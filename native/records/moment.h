// Times as people write them in queries.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tap::records {

// Unix time in ms of "2026-01-31", "2026-01-31T12:00Z", "2026-01-31T12:00:00.250+02:00" (without a
// zone: UTC), or of a duration before `now`: "90s", "15m", "2h", "7d". Empty for any other text.
[[nodiscard]] std::optional<int64_t> parseMoment(std::string_view text, int64_t now);

}  // namespace tap::records
