// One WebSocket connection after the handshake, server side: frames to messages, the control frames
// answered, the close handshake. It owns half a frame and the fragments, and nothing else; it does
// no I/O and reads no clock.
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

// Bounds on what one peer may make us hold: at most about twice maxMessage, and before its first
// message is complete about twice maxFirst.
struct Caps {
  uint64_t maxMessage = uint64_t{5} * 1024 * 1024;     // bytes; longer: skipped and reported
  uint64_t maxAnnounced = uint64_t{64} * 1024 * 1024;  // bytes; a message beyond: close with 1009
  uint32_t maxFragments = 64 * 1024;                   // frames in one message; more: close, 1009
  uint64_t maxFirst = UINT64_MAX;  // bytes; of the first message, if that is less than maxMessage
};

// A complete text message, valid UTF-8. Borrowed (Slice::borrowed) where it lay whole in the bytes
// that were fed: it then lives until the caller's buffer changes.
struct TextMessage {
  Slice text;
};
// A message over its cap was announced. Its bytes are skipped, not kept; reported once, when the
// limit is first known to be passed. `size` is what is known of its size by then.
struct OversizeMessage {
  uint64_t size = 0;
};
// The connection is over. Output may still hold a close frame: send it, then end the TCP
// connection. `clean` means that both sides have sent a close frame; code and reason are then the
// peer's, else they say what it did wrong.
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

  // Reads the next bytes from the peer and appends what happened to `events`, in order. The bytes
  // are unmasked in place. After Closed nothing more is read. Binary messages close with 1003,
  // protocol violations with 1002, bad UTF-8 with 1007 (as soon as it is seen, RFC 6455 8.1).
  void receive(char* bytes, size_t size, std::vector<Event>& events);

  // Frames that answer what was received (pongs, the close echo), to be sent before anything else;
  // empty if none. Pongs are coalesced: of several pings since the last call only the last is
  // answered (RFC 6455 5.5.3), so that a flood of pings cannot grow this.
  [[nodiscard]] std::string takeOutput();

  // Whether a pong has come since the last call.
  [[nodiscard]] bool takePong() { return std::exchange(pongSeen_, false); }

  // Starts the close handshake: appends a close frame to the output. A second call does nothing.
  // From then on the peer's messages are dropped, until its close frame gives Closed; how long to
  // wait for that is the caller's to decide.
  void close(CloseCode code, std::string_view reason);

  // False once a close frame was sent or the connection failed: data frames must not follow it.
  [[nodiscard]] bool writable() const { return !closeSent_; }
  // Bytes held for half a message: for bounds and diagnostics.
  [[nodiscard]] size_t buffered() const { return text_.size(); }

 private:
  using Events = std::vector<Event>;
  // What becomes of the current frame's payload.
  enum class Sink : uint8_t { Skip, Control, Text };
  // Where between a message's first and final frame we are (RFC 6455 5.4).
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
  uint32_t fragments_ = 0;  // how many those are
  uint64_t cap_;            // of the message
  TextBuffer text_;

  std::optional<std::string> pong_;  // the payload of the last ping, not yet answered
  std::string output_;               // at most one close frame
  bool pongSeen_ = false;
  bool closeSent_ = false;
  bool over_ = false;
};

}  // namespace tap::ws
