// Session events that providers have subscribed to (docs/protocol.md, "session.event").
#pragma once

#include "gateway/core/turn.h"

namespace tap::gateway {

// Passes the event on to those of the session's providers that subscribed to it.
void forwardEvent(const Turn& turn, Session& session, const protocol::EventOccurred& event);
// Tells the session which events anybody wants, if that has changed.
void subscriptionsChanged(const Turn& turn, Session& session);
// Tells a new process of the session.
void introduceSubscriptions(const Turn& turn, Session& session);

}  // namespace tap::gateway
