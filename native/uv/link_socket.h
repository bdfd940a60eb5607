// A session's link on the gateway's side: length-prefixed frames over a pipe.
#pragma once

#include <string_view>
#include <vector>

#include "gateway/core/effects.h"
#include "link/frame.h"
#include "uv/stream.h"

namespace tap::uv {

class Server;

class LinkSocket final : public StreamHandler {
 public:
  LinkSocket(Server& server, gateway::PeerId peer, StreamPtr stream, size_t maxFrame);

  void start() { stream_->start(*this); }
  // Queues it for flush(), and writes what is queued where that is a few kilobytes.
  void send(const protocol::SessionEvent& event);
  size_t flush();
  [[nodiscard]] size_t backlog() const { return stream_->backlog(); }
  // What is queued still goes out; nothing is read or reported any more.
  void close();

  void onBytes(char* bytes, size_t size) override;
  void onEnd(std::string_view reason) override;
  void onDrained() override;

 private:
  Server& server_;
  gateway::PeerId peer_;
  StreamPtr stream_;
  link::FrameReader reader_;
  bool over_ = false;
};

}  // namespace tap::uv
