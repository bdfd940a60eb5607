// Tools that a session's CLI does not take.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/turn.h"

namespace tap::gateway {

// Takes these tools out of the session and sends their providers an error that gives the reason.
void refuseTools(const Turn& turn, Session& session, const std::vector<std::string>& names,
                 std::string_view reason);

}  // namespace tap::gateway
