#include "ws/connection.h"

#include <algorithm>
#include <utility>

namespace tap::ws {
namespace {

std::string_view toView(std::span<char> bytes) {
  return {bytes.data(), bytes.size()};
}

}  // namespace

void Connection::receive(char* bytes, size_t size, std::vector<Event>& events) {
  std::span<char> rest(bytes, size);
  while (!rest.empty() && !over_) {
    rest = inPayload_ ? readPayload(rest, events) : readHeader(rest, events);
  }
}

std::string Connection::takeOutput() {
  std::string out;
  // The pong first: a close frame must be the last (RFC 6455 5.5.1).
  if (pong_) appendFrame(out, Opcode::Pong, *pong_);
  pong_.reset();
  out.append(std::exchange(output_, {}));
  return out;
}

void Connection::close(CloseCode code, std::string_view reason) {
  if (closeSent_) return;
  closeSent_ = true;
  appendCloseFrame(output_, code, reason);
  dropMessage();
}

std::span<char> Connection::readHeader(std::span<char> bytes, Events& events) {
  std::string_view rest = toView(bytes);
  switch (parser_.read(rest)) {
    case FrameParser::Status::Incomplete:
      break;
    case FrameParser::Status::Complete:
      beginFrame(events);
      break;
    case FrameParser::Status::Invalid:
      fail(CloseCode::ProtocolError, parser_.violation(), events);
      break;
  }
  return bytes.last(rest.size());
}

std::span<char> Connection::readPayload(std::span<char> bytes, Events& events) {
  const FrameHeader& header = parser_.header();
  const uint64_t due = header.size - payloadRead_;
  const std::span<char> piece = bytes.first(std::min<uint64_t>(due, bytes.size()));
  if (sink_ != Sink::Skip) unmask(piece.data(), piece.size(), header.mask, payloadRead_);
  if (isWholeText(piece)) {
    deliverBorrowed(toView(piece), events);
  } else {
    payloadRead_ += piece.size();
    receivePayload(toView(piece), events);
    if (payloadRead_ == header.size && !over_) endFrame(events);
  }
  return bytes.subspan(piece.size());
}

void Connection::beginFrame(Events& events) {
  const FrameHeader& header = parser_.header();
  inPayload_ = true;
  payloadRead_ = 0;
  if (isControl(header.opcode)) {
    sink_ = header.opcode == Opcode::Pong ? Sink::Skip : Sink::Control;
    control_.clear();
  } else {
    beginDataFrame(events);
  }
  if (header.size == 0 && !over_) endFrame(events);
}

void Connection::beginDataFrame(Events& events) {
  sink_ = Sink::Skip;
  if (closeSent_) return;  // 5.5.1: after our close frame, data is ignored
  const Opcode opcode = parser_.header().opcode;
  const bool continues = opcode == Opcode::Continuation;
  if (continues != (stage_ != Stage::Between)) {
    return fail(CloseCode::ProtocolError,
                continues ? "continuation without a message" : "message inside a message", events);
  }
  if (opcode == Opcode::Binary) {
    return fail(CloseCode::UnsupportedData, "text messages only", events);
  }
  if (!continues) {
    stage_ = Stage::Text;
    announced_ = 0;
    fragments_ = 0;
  }
  admitMessageSize(events);
}

void Connection::admitMessageSize(Events& events) {
  // Counted as well as measured: otherwise frames without a payload could continue without end.
  if (fragments_ == caps_.maxFragments) {
    return fail(CloseCode::MessageTooBig, "too many fragments", events);
  }
  ++fragments_;
  const uint64_t size = parser_.header().size;
  if (size > caps_.maxAnnounced - announced_) {
    return fail(CloseCode::MessageTooBig, "message too big", events);
  }
  announced_ += size;
  if (stage_ == Stage::Text && announced_ > cap_) {
    text_.clear();
    stage_ = Stage::Oversize;
    events.emplace_back(OversizeMessage{announced_});
  }
  sink_ = stage_ == Stage::Text ? Sink::Text : Sink::Skip;
}

bool Connection::isWholeText(std::span<char> bytes) const {
  const FrameHeader& header = parser_.header();
  return sink_ == Sink::Text && fragments_ == 1 && header.final && bytes.size() == header.size;
}

void Connection::deliverBorrowed(std::string_view text, Events& events) {
  if (!utf8::isValid(text)) return fail(CloseCode::InvalidPayload, "invalid UTF-8", events);
  deliver(Slice::borrow(text), events);
  stage_ = Stage::Between;
  inPayload_ = false;
}

void Connection::deliver(Slice text, Events& events) {
  events.emplace_back(TextMessage{std::move(text)});
  cap_ = caps_.maxMessage;
}

void Connection::receivePayload(std::string_view piece, Events& events) {
  switch (sink_) {
    case Sink::Skip:
      break;
    case Sink::Control:
      control_.append(piece);
      break;
    case Sink::Text:
      if (!text_.append(piece, announced_)) {
        fail(CloseCode::InvalidPayload, "invalid UTF-8", events);
      }
      break;
  }
}

void Connection::endFrame(Events& events) {
  inPayload_ = false;
  if (isControl(parser_.header().opcode)) {
    endControlFrame(events);
  } else {
    endDataFrame(events);
  }
}

void Connection::endDataFrame(Events& events) {
  if (!parser_.header().final) return;
  if (stage_ == Stage::Text) {
    if (!text_.complete()) return fail(CloseCode::InvalidPayload, "invalid UTF-8", events);
    deliver(Slice(text_.take()), events);
  }
  stage_ = Stage::Between;
}

void Connection::endControlFrame(Events& events) {
  const Opcode opcode = parser_.header().opcode;
  if (opcode == Opcode::Close) return onClose(control_, events);
  // 5.5.2: a ping is answered unless a close frame has been received or sent. A pong needs no
  // answer (5.5.3).
  if (opcode == Opcode::Ping && !closeSent_) pong_ = control_;
  if (opcode == Opcode::Pong) pongSeen_ = true;
}

void Connection::onClose(std::string_view payload, Events& events) {
  Closed closed{.code = CloseCode::NoStatus, .reason = {}, .clean = true};
  if (payload.size() == 1) {
    return fail(CloseCode::ProtocolError, "close frame with half a code", events);
  }
  if (payload.size() >= 2) {
    const auto high = static_cast<uint8_t>(payload[0]);
    const auto low = static_cast<uint8_t>(payload[1]);
    closed.code = static_cast<CloseCode>(high * 256 + low);
    closed.reason = payload.substr(2);
    if (!mayBeSent(closed.code)) {
      return fail(CloseCode::ProtocolError, "close code that may not be sent", events);
    }
  }
  if (!utf8::isValid(closed.reason)) {
    return fail(CloseCode::InvalidPayload, "invalid UTF-8 in the close reason", events);
  }
  close(closed.code, closed.reason);  // the echo (5.5.1), unless this was the answer to ours
  finish(std::move(closed), events);
}

void Connection::fail(CloseCode code, std::string_view reason, Events& events) {
  close(code, reason);
  finish(Closed{.code = code, .reason = std::string(reason), .clean = false}, events);
}

void Connection::finish(Closed closed, Events& events) {
  over_ = true;
  events.emplace_back(std::move(closed));
}

// Frees the memory and skips the rest of the current frame.
void Connection::dropMessage() {
  text_.clear();
  stage_ = Stage::Between;
  if (sink_ == Sink::Text) sink_ = Sink::Skip;
}

}  // namespace tap::ws
