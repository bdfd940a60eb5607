// The differences between two sets of tools.
#pragma once

#include <optional>

#include "gateway/sync/tool_sync.h"

namespace tap::gateway {

inline ToolChanges changes(const ToolSnapshot& from, const ToolSnapshot& to) {
  ToolChanges changes(to.begin(), to.end());
  for (const auto& [provider, digest] : from) changes.try_emplace(provider, std::nullopt);
  return changes;
}

}  // namespace tap::gateway
