#include "uv/link_socket.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/json_writer.h"
#include "protocol/link/session_codec.h"
#include "uv/server.h"

namespace tap::uv {

namespace {
// The heartbeats of a provider's link, byte for byte: compared before a message is parsed.
constexpr std::string_view kPing = R"({"type":"ping"})";
constexpr std::string_view kPong = R"({"type":"pong"})";
}  // namespace

LinkSocket::LinkSocket(Server& server, gateway::PeerId peer, StreamPtr stream, const Limits& limits)
    : Peer(Role::Link),
      server_(server),
      peer_(peer),
      stream_(std::move(stream)),
      // Until the first message has proved the secret.
      reader_(std::min(limits.bytes(Limit::MessageBytes), limits.bytes(Limit::LinkFrameBytes))) {}

void LinkSocket::onBytes(char* bytes, size_t size) {
  if (over_) return;
  std::vector<Slice> bodies;
  const bool good = reader_.receive({bytes, size}, bodies);
  if (!bodies.empty() && !std::exchange(opened_, true)) {
    reader_.allow(server_.limits().bytes(Limit::LinkFrameBytes));
    server_.opened(peer_, *this, bodies.front());
    bodies.erase(bodies.begin());
  }
  if (role() == Role::Provider) {
    std::erase_if(bodies, [this](const Slice& body) { return handleHeartbeat(body); });
  }
  if (!bodies.empty() && !over_) server_.received(peer_, role(), bodies);
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

bool LinkSocket::sendText(const Slice& text) {
  if (over_) return false;
  std::string header;
  link::appendHeader(header, text.size());
  stream_->queue(header);
  stream_->queue(text);
  return true;
}

bool LinkSocket::ping() {
  return sendText(Slice::borrow(kPing));
}

bool LinkSocket::handleHeartbeat(const Slice& body) {
  if (body.view() == kPong) {
    server_.providerPong(peer_);
    return true;
  }
  if (body.view() != kPing) return false;
  if (sendText(Slice::borrow(kPong))) {
    stream_->flush();
    // They accumulate for a peer that does not read.
    server_.providerBacklog(peer_, stream_->backlog());
  }
  return true;
}

void LinkSocket::pause() {
  if (!over_) stream_->pause();
}

void LinkSocket::resume() {
  if (!over_) stream_->resume();
}

void LinkSocket::close(uint16_t code, std::string_view reason) {
  if (role() == Role::Provider) {
    std::string text = R"({"type":"closed","code":)" + std::to_string(code) + R"(,"reason":)";
    json::appendQuoted(text, reason);
    (void)sendText(Slice(text + "}"));
  }
  drop();
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
