// tool.result, with its result in the message or in a file (docs/protocol.md, "tool.result").
#pragma once

#include "base/slice.h"
#include "protocol/field_reader.h"
#include "protocol/provider/provider_messages.h"

namespace tap::protocol {

// `text` is the message's: the data is a part of it. The type of a file is in lower case, without
// parameters.
[[nodiscard]] ToolResult readToolResult(FieldReader& fields, const Slice& text, Problem& problem);

}  // namespace tap::protocol
