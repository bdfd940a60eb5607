// A result of the form {"image":"data:image/png;base64,…"}, as a web page's canvas gives it
// (docs/protocol.md, "tool.result").
#pragma once

#include <optional>
#include <string_view>

#include "base/slice.h"
#include "protocol/link/session_messages.h"

namespace tap::protocol {

struct ImageResult {
  Slice rest;  // JSON text of the object without the image; empty if the image was its only member
  Binary image;
};

// The type of an image by its first bytes, if models accept that type; otherwise empty. With other
// data, a model's API refuses the whole conversation.
[[nodiscard]] std::string_view imageType(std::string_view base64);

// Empty if `data` (validated JSON text, or empty) has no such member. The image's slice has the
// owner of the data, and the type of its bytes.
[[nodiscard]] std::optional<ImageResult> takeImage(const Slice& data);

}  // namespace tap::protocol
