// The gateway's end of a connection: to a provider or to the other end of a link, over a socket or
// in this process. A new transport is a subclass in its own file, and Server::add.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/slice.h"
#include "protocol/link/session_messages.h"

namespace tap::uv {

class Peer {
 public:
  // A link belongs to a session, a control client or a provider: its first message decides. A
  // provider's link then gets the role Provider.
  enum class Role : uint8_t { Provider, Link };

  explicit Peer(Role role) : role_(role) {}
  virtual ~Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] Role role() const { return role_; }
  [[nodiscard]] virtual bool isInProcess() const { return false; }

  // A message: text to a provider, an event to a link. Returns: whether flush() must follow.
  [[nodiscard]] virtual bool sendText(const Slice&) { return false; }
  [[nodiscard]] virtual bool sendEvent(protocol::SessionEvent&&) { return false; }
  // Sends a ping, for transports that have pings. Returns likewise.
  [[nodiscard]] virtual bool ping() { return false; }
  // Writes the queued messages. Returns: the bytes that the other end has not read yet.
  virtual size_t flush() { return 0; }
  [[nodiscard]] virtual size_t backlog() const { return 0; }
  // Stops and resumes reading; transports that cannot do so ignore it.
  virtual void pause() {}
  virtual void resume() {}

  // The gateway ends the connection: the other end gets the reason, and reading and reports stop.
  // `code`: of WebSocket.
  virtual void close(uint16_t code, std::string_view reason) = 0;
  // The other end has left: reading and reports stop.
  virtual void drop() {}
  // Discards pending output. drop() or close() must follow.
  virtual void forgetOutput() {}

 protected:
  // Frees the peer: immediately, or later if a method of it may be running.
  virtual void release() { delete this; }

  // For a link whose first message shows that it is a provider's.
  void becomes(Role role) { role_ = role; }

 private:
  friend struct ReleasePeer;
  Role role_;
};

struct ReleasePeer {
  void operator()(Peer* peer) const { peer->release(); }
};
using PeerPtr = std::unique_ptr<Peer, ReleasePeer>;

}  // namespace tap::uv
