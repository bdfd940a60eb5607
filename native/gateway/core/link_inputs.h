// What the receivers of the link's two sets of messages share.
#pragma once

#include <string>

#include "gateway/core/turn.h"
#include "protocol/link/control_messages.h"

namespace tap::gateway {

// Sends Refused and closes the link. A session that it belonged to lingers; the calls of a control
// client are cancelled.
void refuseLink(const Turn& turn, PeerId peer, std::string code, std::string message);
// The same for a link that has done nothing wrong.
void endLink(const Turn& turn, PeerId peer, std::string code, std::string message);
// Whether the secret is right; the link is refused if not.
[[nodiscard]] bool checkSecret(const Turn& turn, PeerId peer, const std::string& secret);

// Whether the link was opened with a feature's token, which does not allow this; it is refused.
[[nodiscard]] bool refuseFeature(const Turn& turn, PeerId peer);
// provider.open: the link is a provider's if the token is right; else it is refused. Returns:
// whether it is.
[[nodiscard]] bool openFeature(const Turn& turn, PeerId peer, const std::string& token);

// A control message, on whichever link it came.
void receiveControl(const Turn& turn, PeerId peer, const protocol::ControlMessage& message);

}  // namespace tap::gateway
