// A provider's TCP connection: the handshake, then WebSocket messages in both directions.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "gateway/core/effects.h"
#include "uv/stream.h"
#include "ws/connection.h"
#include "ws/handshake.h"

namespace tap::uv {

class Server;

class ProviderSocket final : public StreamHandler {
 public:
  ProviderSocket(Server& server, gateway::PeerId peer, StreamPtr stream);

  void start() { stream_->start(*this); }
  void send(const Slice& text);
  void ping();
  // Close handshake, or a plain HTTP refusal where there was no upgrade yet; the stream then ends.
  void close(uint16_t code, std::string_view reason);
  // Nothing is read or reported any more.
  void forget() {
    closed_ = true;
    stream_.reset();
  }
  void pause() { stream_->pause(); }
  void resume() { stream_->resume(); }
  // Writes what was queued; the number of bytes that wait for the peer to read.
  size_t flush();

  void onBytes(char* bytes, size_t size) override;
  void onEnd(std::string_view reason) override;

 private:
  void shakeHands(std::string_view bytes);
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
