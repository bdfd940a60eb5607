// A WebSocket connection after the handshake, server side: turns frames into messages, answers
// control frames, and does the close handshake. It holds at most half a frame and the fragments; it
// does no I/O and reads no clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/slice.h"
#include "ws/frame.h"
#include "ws/frame_parser.h"
#include "ws/text_buffer.h"

namespace tap::ws {

// Bounds on the memory for a peer: at most about twice maxMessage, and before its first message is
// complete about twice maxFirst.
struct Caps {
  uint64_t maxMessage = uint64_t{5} * 1024 * 1024;     // bytes; longer: skipped and reported
  uint64_t maxAnnounced = uint64_t{64} * 1024 * 1024;  // bytes; a message beyond: close with 1009
  uint32_t maxFragments = 64 * 1024;                   // frames in a message; more: close, 1009
  uint64_t maxFirst = UINT64_MAX;  // bytes; of the first message, if that is less than maxMessage
};

// A complete text message, valid UTF-8. Borrowed (Slice::borrowed) if it lay whole in the received
// bytes: it then lives until the caller's buffer changes.
struct TextMessage {
  Slice text;
};
// A message above the limit was announced. Its bytes are skipped; it is reported once, as soon as
// the excess is known. `size`: the size known by then.
struct OversizeMessage {
  uint64_t size = 0;
};
// The connection is over. Output may still hold a close frame: send it, then end the TCP
// connection. `clean`: both sides have sent a close frame; code and reason are then the peer's,
// otherwise they describe its mistake.
struct Closed {
  CloseCode code = CloseCode::NoStatus;
  std::string reason;
  bool clean = false;
};
using Event = std::variant<TextMessage, OversizeMessage, Closed>;

class Connection {
 public:
  explicit Connection(const Caps& caps)
      : caps_(caps), cap_(std::min(caps.maxFirst, caps.maxMessage)), text_(caps.maxMessage) {}

  // Reads bytes of the peer and appends the events, in order. Unmasks the bytes in place. After
  // Closed it reads no more. Binary messages close with 1003, protocol violations with 1002, bad
  // UTF-8 with 1007 (as soon as it is seen, RFC 6455 8.1).
  void receive(char* bytes, size_t size, std::vector<Event>& events);

  // Frames that answer received frames (pongs, the close echo), to send before other output; may be
  // empty. Only the last of several pings is answered (RFC 6455 5.5.3), so a flood of pings cannot
  // grow this.
  [[nodiscard]] std::string takeOutput();

  // Whether a pong has come since the last call.
  [[nodiscard]] bool takePong() { return std::exchange(pongSeen_, false); }

  // Starts the close handshake: appends a close frame to the output. A second call has no effect.
  // Afterwards the peer's messages are dropped until its close frame gives Closed; the caller
  // decides how long to wait for it.
  void close(CloseCode code, std::string_view reason);

  // False once a close frame was sent or the connection failed: data frames must not follow it.
  [[nodiscard]] bool writable() const { return !closeSent_; }
  // Bytes held of an incomplete message: for limits and diagnostics.
  [[nodiscard]] size_t buffered() const { return text_.size(); }

 private:
  using Events = std::vector<Event>;
  // The use of the current frame's payload.
  enum class Sink : uint8_t { Skip, Control, Text };
  // The position between a message's first and final frame (RFC 6455 5.4).
  enum class Stage : uint8_t { Between, Text, Oversize };

  [[nodiscard]] std::span<char> readHeader(std::span<char> bytes, Events& events);
  [[nodiscard]] std::span<char> readPayload(std::span<char> bytes, Events& events);
  void beginFrame(Events& events);
  void beginDataFrame(Events& events);
  void admitMessageSize(Events& events);
  void receivePayload(std::string_view piece, Events& events);
  void endFrame(Events& events);
  void endDataFrame(Events& events);
  void endControlFrame(Events& events);
  void onClose(std::string_view payload, Events& events);
  [[nodiscard]] bool isWholeText(std::span<char> bytes) const;
  void deliverBorrowed(std::string_view text, Events& events);
  void deliver(Slice text, Events& events);
  void fail(CloseCode code, std::string_view reason, Events& events);
  void finish(Closed closed, Events& events);
  void dropMessage();

  Caps caps_;
  FrameParser parser_;
  bool inPayload_ = false;
  Sink sink_ = Sink::Skip;
  uint64_t payloadRead_ = 0;  // of the current frame
  std::string control_;       // a control frame's payload, at most 125 bytes

  Stage stage_ = Stage::Between;
  uint64_t announced_ = 0;  // payload sizes of the message's frames so far
  uint32_t fragments_ = 0;  // their number
  uint64_t cap_;            // of the message
  TextBuffer text_;

  std::optional<std::string> pong_;  // the payload of the last ping, not yet answered
  std::string output_;               // at most a close frame
  bool pongSeen_ = false;
  bool closeSent_ = false;
  bool over_ = false;
};

}  // namespace tap::ws
