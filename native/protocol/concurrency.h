// hello.concurrency (docs/protocol.md, "Concurrency").
#pragma once

#include "protocol/field_reader.h"
#include "protocol/provider/provider_messages.h"

namespace tap::protocol {

// Reads it from a hello; without it there is no limit.
[[nodiscard]] Concurrency readConcurrency(FieldReader& hello, Problem& problem);

}  // namespace tap::protocol
