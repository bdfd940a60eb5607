// Records of refused messages. The first one of a provider is recorded at once; of those that
// follow, one row a second says how many they were. So a provider that floods does not fill the
// store.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/timer_queue.h"
#include "protocol/errors.h"

namespace tap::gateway {

struct Turn;
struct Provider;

// Of the current second of one provider.
struct RefusedCount {
  uint64_t count = 0;  // since the last row
  // Of the last one.
  std::string session;
  std::string_view code;
  std::string detail;
};
// By the provider's name, however many connections it has.
using RefusedRows = std::map<std::string, RefusedCount, std::less<>>;

// A message was refused. `session`: empty where it is not about one. REQUIRES: records are on.
void recordRefused(const Turn& turn, const Provider& provider, std::string_view session,
                   const protocol::Refusal& refusal);
// Whether one of this provider was recorded in the last second: further ones are only counted.
[[nodiscard]] bool isCountingRefused(const Turn& turn, const Provider& provider);
void refusedDue(const Turn& turn, const std::string& provider);

}  // namespace tap::gateway
