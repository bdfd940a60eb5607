// A result of the form {"image":"data:image/png;base64,…"}, as a web page's canvas gives it
// (docs/protocol.md, "tool.result").
#pragma once

#include <optional>

#include "base/slice.h"
#include "protocol/link/session_messages.h"

namespace tap::protocol {

struct ImageResult {
  Slice rest;  // JSON text of the object without the image; empty: there was nothing else
  Binary image;
};

// Nothing where `data` (validated JSON text, or empty) has no such member. The image's slice has
// the owner of the data.
[[nodiscard]] std::optional<ImageResult> takeImage(const Slice& data);

}  // namespace tap::protocol
