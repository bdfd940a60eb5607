// Requests of tap's own features to the process of a session (docs/session-link.md,
// "session.request"). The gateway numbers and bounds them and says what became of each; it does not
// know what they ask for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/timer_queue.h"
#include "gateway/core/effects.h"

namespace tap::gateway {

struct Turn;

struct SessionRequestInFlight {
  PeerId link;
  TimerId deadline = TimerId::None;
};

// By number, which is also the id on the link.
using SessionRequests = std::map<SessionRequestNumber, SessionRequestInFlight>;

// SessionAnswered follows: once, and at the latest after `session-request-ms`.
void requestFromSession(const Turn& turn, SessionRequestNumber number, const std::string& sessionId,
                        const std::string& request, const std::string& params);
// Nothing, unless this link was asked.
void sessionAnswered(const Turn& turn, PeerId link, const protocol::SessionResult& result);
void sessionRequestDue(const Turn& turn, SessionRequestNumber number);
// The link has ended, or its session has: nobody answers, for this reason.
void dropSessionRequests(const Turn& turn, PeerId link, std::string_view reason);

}  // namespace tap::gateway
