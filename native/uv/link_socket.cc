#include "uv/link_socket.h"

#include <memory>
#include <string>
#include <utility>

#include "protocol/link/session_codec.h"
#include "uv/server.h"

namespace tap::uv {

LinkSocket::LinkSocket(Server& server, gateway::PeerId peer, StreamPtr stream, size_t maxFrame)
    : Peer(Role::Link),
      server_(server),
      peer_(peer),
      stream_(std::move(stream)),
      reader_(maxFrame) {}

void LinkSocket::onBytes(char* bytes, size_t size) {
  if (over_) return;
  std::vector<Slice> bodies;
  const bool good = reader_.receive({bytes, size}, bodies);
  if (!bodies.empty()) server_.received(peer_, bodies);
  if (!good && !over_) onEnd("it sent a frame of an impossible size");
}

void LinkSocket::onEnd(std::string_view reason) {
  if (std::exchange(over_, true)) return;
  server_.linkGone(peer_, reason);
}

void LinkSocket::onDrained() {
  if (!over_) server_.linkDrained(peer_);
}

bool LinkSocket::sendEvent(protocol::SessionEvent&& event) {
  const protocol::SplitText text = protocol::encode(event);
  std::string header;
  link::appendHeader(header, text.head.size() + text.middle.size() + text.tail.size());
  stream_->queue(header);
  stream_->queue(text.head);
  if (!text.middle.empty()) stream_->queue(text.middle);
  stream_->queue(text.tail);
  stream_->flushIfEnough();
  return true;
}

void LinkSocket::drop() {
  over_ = true;
  stream_.reset();
}

void LinkSocket::release() {
  server_.retire(std::unique_ptr<StreamHandler>(this));
}

size_t LinkSocket::flush() {
  stream_->flush();
  return stream_->backlog();
}

}  // namespace tap::uv
