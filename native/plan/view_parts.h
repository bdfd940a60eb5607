// Shared by the source files of the views only.
#pragma once

#include <array>

#include "base/json_writer.h"
#include "plan/words.h"

namespace tap::plan {

using Counts = std::array<size_t, kNodeStatuses>;

inline void writeCounts(json::Writer& writer, const Counts& counts) {
  writer.beginObject();
  for (const auto& word : kNodeStatusWords) {
    const size_t count = counts[static_cast<size_t>(word.id)];
    if (count > 0) writer.key(word.text).integer(static_cast<int64_t>(count));
  }
  writer.endObject();
}

}  // namespace tap::plan
