// Groups of tools: a session has the tools of a group only while that group is on. Those of the
// config and those that were opened are on, until the session ends.
#pragma once

#include <string>
#include <vector>

#include "gateway/core/turn.h"

namespace tap::gateway {

// Turns these groups on, too. The change comes with the session's next tools. Names that cannot be
// a group's, and those beyond the 64th, are left out.
void addGroups(const Turn& turn, Session& session, const std::vector<std::string>& names);
// The same at once. GroupsOpened says how it went.
void openGroups(const Turn& turn, Session& session, OpeningNumber number,
                const std::vector<std::string>& names);
// Tells the session which are on.
void sendGroups(const Turn& turn, Session& session);

}  // namespace tap::gateway
