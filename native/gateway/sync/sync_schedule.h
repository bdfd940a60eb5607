// When a session gets its tools: ToolSync decides, the functions here keep it informed, hold its
// timer and send its plans.
#pragma once

#include <set>
#include <string>

#include "gateway/core/turn.h"

namespace tap::gateway {

// The tools for a process that has just registered. `joined`: it has joined the CLI's session
// before, and gets its changes as they are due.
[[nodiscard]] protocol::Tools firstTools(const Turn& turn, Session& session, bool joined);
// The tools of these names may have changed in the session.
void toolsChanged(const Turn& turn, Session& session, const std::set<std::string>& names);
// Something that ToolSync waits for has changed: the session's activity, its calls, its gates.
void rescheduleSync(const Turn& turn, Session& session);
// Sends the plan that is due.
// The answer of the session to that revision: its record. `failure`: empty where it is in force.
void syncSettled(const Turn& turn, Session& session, int64_t revision, std::string_view failure);
void runSync(const Turn& turn, Session& session);

}  // namespace tap::gateway
