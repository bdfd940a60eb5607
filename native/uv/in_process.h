// Peers in this process: sessions and providers that run in the gateway's own process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "uv/peer.h"

namespace tap::uv {

// The messages of a link, without a pipe.
class InProcessSession final : public Peer {
 public:
  struct Handlers {
    // The event may borrow. REQUIRES: it does not call Server.
    std::function<void(protocol::SessionEvent&&)> receive;
    std::function<void()> flush;  // no event follows for now
    // Once, when the gateway ends the session; not on Server::closeSession.
    std::function<void(const std::string& reason)> ended;
  };
  explicit InProcessSession(Handlers handlers)
      : Peer(Role::Link), handlers_(std::make_shared<Handlers>(std::move(handlers))) {}

  [[nodiscard]] bool isInProcess() const override { return true; }
  [[nodiscard]] bool sendEvent(protocol::SessionEvent&& event) override {
    handlers_->receive(std::move(event));
    return true;
  }
  size_t flush() override {
    const auto handlers = handlers_;  // the call may free this peer
    handlers->flush();
    return 0;
  }
  void close(uint16_t, std::string_view reason) override {
    const auto handlers = handlers_;
    if (handlers->ended) handlers->ended(std::string(reason));
  }

 private:
  std::shared_ptr<Handlers> handlers_;
};

// The messages of a provider, without a connection.
class InProcessProvider final : public Peer {
 public:
  struct Handlers {
    // May be called from inside Server::openProvider.
    std::function<void(std::string_view text)> receive;
    // Once, when the gateway ends the connection, after goodbye too.
    std::function<void(const std::string& reason)> ended;
  };
  explicit InProcessProvider(Handlers handlers)
      : Peer(Role::Provider), handlers_(std::make_shared<Handlers>(std::move(handlers))) {}

  [[nodiscard]] bool isInProcess() const override { return true; }
  [[nodiscard]] bool sendText(const Slice& text) override {
    const auto handlers = handlers_;  // the call may free this peer
    handlers->receive(text.view());
    return false;
  }
  void close(uint16_t, std::string_view reason) override {
    const auto handlers = handlers_;
    if (handlers->ended) handlers->ended(std::string(reason));
  }

 private:
  std::shared_ptr<Handlers> handlers_;
};

}  // namespace tap::uv
