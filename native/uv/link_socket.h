// The gateway's end of a link: length-prefixed frames over a pipe.
#pragma once

#include <string_view>
#include <vector>

#include "base/limits.h"
#include "gateway/core/effects.h"
#include "link/frame.h"
#include "uv/peer.h"
#include "uv/stream.h"

namespace tap::uv {

class Server;

class LinkSocket final : public StreamHandler, public Peer {
 public:
  LinkSocket(Server& server, gateway::PeerId peer, StreamPtr stream, const Limits& limits);

  void start() { stream_->start(*this); }
  // Queues the event for flush(). Writes the queue once it has a few kilobytes.
  [[nodiscard]] bool sendEvent(protocol::SessionEvent&& event) override;
  // For a provider's link: a message, or a ping, in a frame.
  [[nodiscard]] bool sendText(const Slice& text) override;
  [[nodiscard]] bool ping() override;
  void pause() override;
  void resume() override;
  size_t flush() override;
  [[nodiscard]] size_t backlog() const override { return stream_->backlog(); }
  // `Refused` or `Draining` has been sent with the reason; a provider gets a frame with it. Queued
  // output is still written.
  void close(uint16_t code, std::string_view reason) override;
  void drop() override;
  void forgetOutput() override { stream_->close(); }

  // The first message was a provider's.
  void serveProvider() { becomes(Role::Provider); }

  void onBytes(char* bytes, size_t size) override;
  void onEnd(std::string_view reason) override;
  void onDrained() override;

 private:
  void release() override;
  // Pings and pongs, which are not messages of the protocol.
  [[nodiscard]] bool handleHeartbeat(const Slice& body);

  Server& server_;
  gateway::PeerId peer_;
  StreamPtr stream_;
  link::FrameReader reader_;
  bool opened_ = false;  // the first message has arrived
  bool over_ = false;
};

}  // namespace tap::uv
