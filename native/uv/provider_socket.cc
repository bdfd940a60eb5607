#include "uv/provider_socket.h"

#include <memory>
#include <string>
#include <utility>

#include "base/json_writer.h"
#include "uv/server.h"

namespace tap::uv {

namespace {

ws::Caps capsFrom(const Limits& limits) {
  ws::Caps caps;
  caps.maxFirst = limits.bytes(Limit::AuthBytes);
  caps.maxMessage = limits.bytes(Limit::ResultBytes);
  return caps;
}

// Sent before the request is read: any client may learn that a tap gateway has this port, but only
// a client with a loopback Host may learn whose gateway it is.
std::string httpUnavailable(std::string_view reason) {
  std::string body = R"({"program":"tap","error":)";
  json::appendQuoted(body, reason);
  body += "}\n";
  return "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
         "Content-Length: " +
         std::to_string(body.size()) + "\r\nRetry-After: 1\r\nConnection: close\r\n\r\n" + body;
}

}  // namespace

ProviderSocket::ProviderSocket(Server& server, gateway::PeerId peer, StreamPtr stream)
    : Peer(Role::Provider),
      server_(server),
      peer_(peer),
      stream_(std::move(stream)),
      handshake_(std::make_unique<ws::Handshake>(server.plainAnswer())),
      connection_(capsFrom(server.limits())) {}

void ProviderSocket::onBytes(char* bytes, size_t size) {
  if (closed_) return;
  if (upgraded_) {
    receive(bytes, size);
  } else {
    receiveHandshake({bytes, size});
  }
}

void ProviderSocket::receiveHandshake(std::string_view bytes) {
  const ws::HandshakeState state = handshake_->feed(bytes);
  if (state == ws::HandshakeState::Incomplete) return;
  stream_->queue(handshake_->response());
  stream_->flush();
  if (state == ws::HandshakeState::Answered) {
    closed_ = true;
    return server_.peerGone(peer_);
  }
  upgraded_ = true;
  // Unmasking works in place: the leftover is a view into bytes that are ours to change.
  std::string leftover(handshake_->leftover());
  const ws::Request request = std::exchange(handshake_, nullptr)->request();
  // An empty header counts as an origin.
  server_.upgraded(peer_, request.hasOrigin ? std::optional(request.origin) : std::nullopt);
  if (!leftover.empty() && !closed_) receive(leftover.data(), leftover.size());
}

void ProviderSocket::receive(char* bytes, size_t size) {
  std::vector<ws::Event> events;
  connection_.receive(bytes, size, events);
  const std::string answer = connection_.takeOutput();
  if (!answer.empty()) {
    stream_->queue(answer);
    stream_->flush();
  }
  if (connection_.takePong()) server_.providerPong(peer_);
  if (!events.empty()) server_.received(peer_, events);
  // Pongs accumulate, too, for a peer that pings and does not read.
  if (!answer.empty() && !closed_) server_.providerBacklog(peer_, stream_->backlog());
}

void ProviderSocket::onEnd(std::string_view) {
  if (std::exchange(closed_, true)) return;
  server_.peerGone(peer_);
}

bool ProviderSocket::sendText(const Slice& text) {
  if (!upgraded_ || closed_ || !connection_.writable()) return false;
  std::string header;
  ws::appendFrameHeader(header, ws::Opcode::Text, text.size());
  stream_->queue(header);
  stream_->queue(text);
  return true;
}

bool ProviderSocket::ping() {
  if (!upgraded_ || closed_ || !connection_.writable()) return false;
  std::string frame;
  ws::appendFrame(frame, ws::Opcode::Ping, {});
  stream_->queue(frame);
  return true;
}

void ProviderSocket::close(uint16_t code, std::string_view reason) {
  if (std::exchange(closed_, true)) return;
  if (upgraded_) {
    connection_.close(static_cast<ws::CloseCode>(code), reason);
    stream_->queue(connection_.takeOutput());
  } else {
    stream_->queue(httpUnavailable(reason));
  }
  stream_.reset();
}

void ProviderSocket::drop() {
  closed_ = true;
  stream_.reset();
}

void ProviderSocket::release() {
  server_.retire(std::unique_ptr<StreamHandler>(this));
}

size_t ProviderSocket::flush() {
  stream_->flush();
  return stream_->backlog();
}

}  // namespace tap::uv
