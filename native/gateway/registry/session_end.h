// How a session ends: its process goes and the session lingers, it ends, and its bindings end with
// it.
#pragma once

#include <string>
#include <string_view>

#include "gateway/core/turn.h"

namespace tap::gateway {

// The session's process is gone: a reload, a crash or a broken link. The session lingers.
void sessionProcessGone(const Turn& turn, Session& session);
// The session ends: its providers get shutdown.pending and have until the deadline. Erases the
// session at once where no provider is bound: do not use it afterwards.
void endSession(const Turn& turn, Session& session, std::string_view reason);
// The deadline has passed, or the last provider is gone: ends the bindings that are left and erases
// the session. Its link stays open until its process closes it.
void finishSession(const Turn& turn, const std::string& sessionId);

}  // namespace tap::gateway
