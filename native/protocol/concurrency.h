// hello.concurrency (docs/protocol.md, "Concurrency").
#pragma once

#include "protocol/field_reader.h"
#include "protocol/provider/provider_messages.h"

namespace tap::protocol {

// Reads it out of a hello; no limit where it is not there.
[[nodiscard]] Concurrency readConcurrency(FieldReader& hello, Problem& problem);

}  // namespace tap::protocol
