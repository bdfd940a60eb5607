// Results that are in files (docs/decisions.md D-16): what a provider may point at, and what its
// content becomes. The uv layer does the reading.
#pragma once

#include <string>
#include <string_view>

#include "gateway/core/turn.h"

namespace tap::gateway {

// The folder that the provider may have files in, with a slash at its end; empty: it has none.
[[nodiscard]] std::string persistDir(const Turn& turn, const Provider& provider);
// The same; the folder will be there when the provider hears of it.
[[nodiscard]] std::string preparePersistDir(const Turn& turn, const Provider& provider);

// A call has been answered with a file: it stays in flight until that is read.
void readResultFile(const Turn& turn, const Provider& provider, CallInFlight& call,
                    const protocol::FileReference& file);
// It has been read, or cannot be. A call that is over by now is left alone.
void completeFileResult(const Turn& turn, const CallId& callId, FileOutcome outcome);

}  // namespace tap::gateway
