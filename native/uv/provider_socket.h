// A provider's TCP connection: the handshake, then WebSocket messages in both directions.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "gateway/core/effects.h"
#include "uv/peer.h"
#include "uv/stream.h"
#include "ws/connection.h"
#include "ws/handshake.h"

namespace tap::uv {

class Server;

class ProviderSocket final : public StreamHandler, public Peer {
 public:
  ProviderSocket(Server& server, gateway::PeerId peer, StreamPtr stream);

  void start() { stream_->start(*this); }
  [[nodiscard]] bool sendText(const Slice& text) override;
  [[nodiscard]] bool ping() override;
  size_t flush() override;
  [[nodiscard]] size_t backlog() const override { return stream_->backlog(); }
  void pause() override { stream_->pause(); }
  void resume() override { stream_->resume(); }
  // Sends a close frame, or before the upgrade a plain HTTP refusal; the stream then ends.
  void close(uint16_t code, std::string_view reason) override;
  void drop() override;

  void onBytes(char* bytes, size_t size) override;
  void onEnd(std::string_view reason) override;

 private:
  void release() override;
  void receiveHandshake(std::string_view bytes);
  void receive(char* bytes, size_t size);

  Server& server_;
  gateway::PeerId peer_;
  StreamPtr stream_;
  std::unique_ptr<ws::Handshake> handshake_;  // until it is done
  ws::Connection connection_;
  bool upgraded_ = false;
  bool closed_ = false;
};

}  // namespace tap::uv
