// One WebSocket connection after the handshake, server side: frames to messages, the control frames
// answered, the close handshake. It owns half a frame and the fragments, and nothing else; it does
// no I/O and reads no clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/slice.h"
#include "ws/frame.h"

namespace tap::ws {

// Bounds on what one peer may make us hold.
struct Caps {
  uint64_t maxMessage = 5 * 1024 * 1024;    // bytes; longer ones are skipped and reported
  uint64_t maxAnnounced = 64 * 1024 * 1024; // bytes; a message beyond it closes with 1009
  uint32_t maxFragments = 64 * 1024;        // frames in one message; more close with 1009
};

// A complete text message, valid UTF-8. Borrowed (Slice::borrowed) where it lay whole in the bytes
// that were fed: it then lives until the caller's buffer changes.
struct TextMessage {
  Slice text;
};
// A message over maxMessage was announced. Its bytes are skipped, not kept; reported once, when the
// limit is first known to be passed. `size` is what is known of its size by then.
struct OversizeMessage {
  uint64_t size = 0;
};
// The connection is over. Output may still hold a close frame: send it, then end the TCP
// connection. `clean` means that both sides have sent a close frame.
struct Closed {
  CloseCode code = CloseCode::NoStatus;
  std::string reason;
  bool clean = false;
};
using Event = std::variant<TextMessage, OversizeMessage, Closed>;

class Connection {
 public:
  explicit Connection(const Caps& caps) : caps_(caps) {}

  // Reads the next bytes from the peer and appends what happened to `events`, in order. The bytes
  // are unmasked in place. After Closed nothing more is read. Binary messages close with 1003,
  // protocol violations with 1002, bad UTF-8 with 1007 (as soon as it is seen, RFC 6455 8.1).
  void receive(char* bytes, size_t size, std::vector<Event>& events);

  // Frames that answer what was received (pongs, the close echo), to be sent before anything else;
  // empty if none. Pongs are coalesced: of several pings in one read only the last is answered
  // (RFC 6455 5.5.3), so that a flood of pings cannot grow this.
  [[nodiscard]] std::string takeOutput();

  // Starts the close handshake: appends a close frame to the output. A second call does nothing.
  void close(CloseCode code, std::string_view reason);

  // False once a close frame was sent or the connection failed: data frames must not follow it.
  [[nodiscard]] bool writable() const;
  // Bytes held for half a message: for bounds and diagnostics.
  [[nodiscard]] size_t buffered() const;

 private:
  Caps caps_;
};

}  // namespace tap::ws
