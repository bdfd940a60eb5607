// Who shares one account of what the gateway gives away: memory, work, lines in the timeline.
//
// A web page is one party in all its tabs and with all its tokens; any other paired program is one
// with its token. Of your own programs each is a party by its name, in all sessions together.
// Providers in the gateway's own process are part of it, and no party: theirs is the empty text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/providers.h"

namespace tap::gateway {

// `name`: as in hello.
[[nodiscard]] std::string partyOf(const Credentials& credentials,
                                  const std::optional<std::string>& origin, std::string_view name);

}  // namespace tap::gateway
