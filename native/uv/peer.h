// The gateway's end of one connection: to a provider or to a link's other end, over a socket or in
// this process. A new transport is a subclass in a file of its own, and Server::add.
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
  // A link is a session's, a control client's or a provider's: the gateway learns which from its
  // first message. One that is a provider's then has that role.
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
  // A ping, for transports that have one. Returns likewise.
  [[nodiscard]] virtual bool ping() { return false; }
  // Hands on what was sent. Returns: the bytes that wait for the other end to read them.
  virtual size_t flush() { return 0; }
  [[nodiscard]] virtual size_t backlog() const { return 0; }
  // Stops and resumes reading; transports that cannot do so ignore it.
  virtual void pause() {}
  virtual void resume() {}

  // The gateway ends the connection: the other end is told, nothing is read or reported any more.
  // `code`: of WebSocket.
  virtual void close(uint16_t code, std::string_view reason) = 0;
  // The other end has left: nothing is read or reported any more.
  virtual void drop() {}
  // What waits for the other end is forgotten. drop() or close() must follow.
  virtual void forgetOutput() {}

 protected:
  // Frees the peer: at once, or later where a method of it may be running.
  virtual void release() { delete this; }

  // Of a link, when its first message has shown that it is a provider's.
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
