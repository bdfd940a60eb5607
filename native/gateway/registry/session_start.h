// How a session begins, or goes on with another process (session_end.h: how it ends).
#pragma once

#include "gateway/core/turn.h"

namespace tap::gateway {

// A session's process has registered over this link: the gateway welcomes it and sends its tools.
// A new session is welcomed after the host has been told of it.
void registerSession(const Turn& turn, PeerId peer, const protocol::Register& message);
// Goes on with a new session, unless another process serves it by now.
void welcomeNew(const Turn& turn, const std::string& sessionId, PeerId peer, bool joined);

}  // namespace tap::gateway
