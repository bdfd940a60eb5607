// Follows which sessions exist: the list that providers have of them, and the grace time after
// which a gateway without a session ends.
#pragma once

#include "gateway/core/turn.h"

namespace tap::gateway {

// Sends the list of sessions to every authenticated provider, if it has changed.
void announceSessions(const Turn& turn);
// Starts the grace time once no session is left, and stops it when there is one.
void watchGrace(const Turn& turn);

}  // namespace tap::gateway
