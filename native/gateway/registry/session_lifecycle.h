// A session's life in the gateway: it registers, lingers when its process goes, ends; and what it
// is told meanwhile.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "gateway/core/turn.h"

namespace tap::gateway {

// To the session's process; while it lingers the event waits for the next one.
void sendToSession(const Turn& turn, Session& session, protocol::SessionEvent&& event);
// A line in the session's timeline. Control characters are made visible here.
void tellTimeline(const Turn& turn, Session& session, protocol::LogLevel level,
                  std::string_view text);

// Ends a session's link; what still comes over it is ignored.
void closeLink(const Turn& turn, PeerId peer, std::string reason);
// The process of a session is there: it is welcomed and gets its tools.
void registerSession(const Turn& turn, PeerId peer, const protocol::Register& message);
// Its process is gone: a reload, a crash or a broken link; the session lingers.
void sessionProcessGone(const Turn& turn, Session& session);
// It is over: providers hear shutdown.pending and have until the deadline. May erase the session
// at once, if no provider is bound.
void endSession(const Turn& turn, Session& session, std::string_view reason);
// The deadline has passed, or the last provider is gone: what is still bound becomes unbound.
// Its link stays, for its process to close.
void finishSession(const Turn& turn, const std::string& sessionId);

// Tells every authenticated provider what sessions there are now, if that has changed.
void announceSessions(const Turn& turn);
// Starts or stops the grace time.
void watchGrace(const Turn& turn);

// What the session should have of these names has changed; and when to synchronise it next.
void toolsChanged(const Turn& turn, Session& session, const std::set<std::string>& names);
// Only the latter: something about timing has changed.
void rescheduleSync(const Turn& turn, Session& session);
// Sends what is due.
void runSync(const Turn& turn, Session& session);

}  // namespace tap::gateway
