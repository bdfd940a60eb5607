// A result of the form {"image":"data:image/png;base64,…"}, as a web page's canvas gives it
// (docs/protocol.md, "tool.result").
#pragma once

#include <optional>
#include <string_view>

#include "base/slice.h"
#include "protocol/link/session_messages.h"

namespace tap::protocol {

struct ImageResult {
  Slice rest;  // JSON text of the object without the image; empty: there was nothing else
  Binary image;
};

// The type that the first bytes of an image say, of those that models take; else empty. A model's
// API refuses the whole conversation because of data that is no such image.
[[nodiscard]] std::string_view imageType(std::string_view base64);

// Nothing where `data` (validated JSON text, or empty) has no such member. The image's slice has
// the owner of the data, and the type that its bytes say.
[[nodiscard]] std::optional<ImageResult> takeImage(const Slice& data);

}  // namespace tap::protocol
