// How a session begins, or goes on with another process (session_end.h: how it ends).
#pragma once

#include "gateway/core/turn.h"

namespace tap::gateway {

// A session's process has registered over this link: the gateway welcomes it and sends its tools.
void registerSession(const Turn& turn, PeerId peer, const protocol::Register& message);

}  // namespace tap::gateway
