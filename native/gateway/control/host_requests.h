// Requests that clients of the link make of the process around the gateway (docs/session-link.md,
// "host.request"). The gateway checks, numbers and bounds them; it does not know the methods.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gateway/core/effects.h"

namespace tap::gateway {

struct Turn;

struct RequestInFlight {
  PeerId link;
  std::string requestId;
};

struct HostRequests {
  std::unordered_map<RequestNumber, RequestInFlight>
      waiting;  // by the number that the host answers
  uint64_t last = 0;
};

// Whether too many requests of this link wait; then this one is answered with RATE_LIMITED.
[[nodiscard]] bool hasTooManyRequests(const Turn& turn, PeerId link, const std::string& requestId);
// Answers the request with an error.
void failRequest(const Turn& turn, PeerId link, std::string requestId, std::string_view code,
                 std::string_view message);

// REQUIRES: the link is a control client's.
void startRequest(const Turn& turn, PeerId link, const protocol::HostRequest& request);
// The host's answer: JSON text of an object with `result`, or with `error` (`code`, `message`).
// Nothing, if nobody waits for it any more.
void answerRequest(const Turn& turn, RequestNumber number, std::string_view json);
// The link has ended: nobody waits for its requests.
void dropRequests(const Turn& turn, PeerId link);

}  // namespace tap::gateway
