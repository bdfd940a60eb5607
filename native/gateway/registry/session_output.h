// Output to a session's process: events, and lines of the timeline.
#pragma once

#include <string>
#include <string_view>

#include "gateway/core/turn.h"

namespace tap::gateway {

// Sends the event to the session's process; while the session lingers it waits for the next one.
void sendToSession(const Turn& turn, Session& session, protocol::SessionEvent&& event);
// Writes a line into the session's timeline. Control characters are made visible here.
void writeTimeline(const Turn& turn, Session& session, protocol::LogLevel level,
                   std::string_view text);
// The text as a line of the timeline shows it, for a message that the session shows itself; it is
// logged like one.
[[nodiscard]] std::string formatTimeline(const Turn& turn, const Session& session,
                                         protocol::LogLevel level, std::string_view text);

// Closes a session's link. The gateway ignores what still comes over it.
void closeLink(const Turn& turn, PeerId peer, std::string reason);

}  // namespace tap::gateway
