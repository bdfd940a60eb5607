// Output that the other ends do not read.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "uv/server.h"

namespace tap::uv {

using gateway::PeerId;

void Server::linkWritten(PeerId peer, size_t waiting) {
  if (waiting == 0) return reads_.resume(peer);
  // A session that does not read is as good as gone; the same holds for a control client that
  // traces, with a lower limit.
  const Limit most = gateway_.traces(peer) ? Limit::OutboundBytes : Limit::LinkFrameBytes;
  if (waiting > 2 * limits().bytes(most)) unreadLink(peer);
}

void Server::boundUnread(Peer::Role role) {
  const bool links = role == Peer::Role::Link;
  size_t all = 0;
  std::pair<size_t, PeerId> most{};
  for (const auto& [id, peer] : peers_) {
    if (peer->role() != role) continue;
    all += peer->backlog();
    most = std::max(most, std::pair(peer->backlog(), id));
  }
  if (all <= limits().bytes(links ? Limit::UnreadLinkBytes : Limit::OutboundBytesInAll)) return;
  if (links) return unreadLink(most.second);
  gateway_.providerBacklog(most.second, SIZE_MAX, clock_.now(), effects_);
}

void Server::unreadLink(PeerId peer) {
  find(peer)->forgetOutput();
  linkGone(peer, "it does not read");
}

}  // namespace tap::uv
