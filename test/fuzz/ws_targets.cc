// Bytes of a WebSocket client: the result does not depend on their chunks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/utf8.h"
#include "link/frame.h"
#include "targets.h"
#include "ws/handshake.h"
#include "ws/harness.h"
#include "ws/http_request.h"

namespace tap::fuzz {

namespace {

constexpr ws::Caps kCaps{.maxMessage = 300, .maxAnnounced = 5000, .maxFragments = 20};

// Sizes of pieces as the input's first bytes say them, again and again.
struct Sizes {
  std::string_view sizes;
  size_t at = 0;
  size_t operator()() {
    if (sizes.empty()) return 1;
    return size_t{1} + static_cast<uint8_t>(sizes[at++ % sizes.size()]);
  }
};

// The input is often a client's frames without their masks: it then gets further.
std::string masked(Bytes bytes) {
  std::string out;
  while (!bytes.empty()) {
    const uint8_t first = bytes.byte();
    const size_t size = bytes.byte();
    const std::string_view payload = bytes.take(size);
    out += ws::test::frame(first, payload, static_cast<uint32_t>(out.size()) * 0x01030507U);
  }
  return out;
}

void checkEvents(const ws::test::Seen& seen) {
  bool over = false;
  for (const std::string& event : seen.events) {
    EXPECT_FALSE(over) << "something after the end";
    over = event.starts_with("closed") || event.starts_with("failed");
    if (!event.starts_with("text ")) continue;
    EXPECT_TRUE(utf8::isValid(std::string_view(event).substr(5)));
    EXPECT_LE(event.size() - 5, kCaps.maxMessage);
  }
  EXPECT_LE(seen.buffered, kCaps.maxMessage);
  // At most a pong and a close frame.
  EXPECT_LE(seen.output.size(), 2 * (2 + ws::kMaxControlPayload));
}

}  // namespace

void frames(std::string_view input) {
  Bytes bytes(input);
  const bool raw = bytes.below(4) == 0;
  const bool closing = bytes.below(8) == 0;
  const std::string_view sizes = bytes.take(bytes.below(8));
  const std::string wire = raw ? std::string(bytes.rest()) : masked(bytes);
  const auto prepare = [&](ws::Connection& connection) {
    if (closing) connection.close(ws::CloseCode::GoingAway, "bye");
  };
  using ws::test::run;
  const ws::test::Seen whole = run(wire, kCaps, prepare, [&] { return wire.size(); });
  const ws::test::Seen cut = run(wire, kCaps, prepare, Sizes{sizes});
  checkEvents(whole);
  EXPECT_EQ(cut.events, whole.events);
  EXPECT_EQ(cut.output, whole.output);
  EXPECT_EQ(cut.writable, whole.writable);
}

void handshake(std::string_view input) {
  Bytes bytes(input);
  const std::string_view sizes = bytes.take(bytes.below(8));
  const std::string wire(bytes.rest());
  ws::Handshake whole("{}");
  const ws::HandshakeState state = whole.feed(wire);
  ws::Handshake parts("{}");
  ws::HandshakeState last = ws::HandshakeState::Incomplete;
  Sizes next{sizes};
  for (std::string_view rest = wire; !rest.empty();) {
    const std::string_view piece = rest.substr(0, next());
    rest.remove_prefix(piece.size());
    last = parts.feed(piece);
  }
  EXPECT_EQ(last, state);
  EXPECT_EQ(parts.response(), whole.response());
  EXPECT_EQ(parts.request().host, whole.request().host);
  EXPECT_EQ(parts.request().origin, whole.request().origin);
  EXPECT_EQ(whole.response().empty(), state == ws::HandshakeState::Incomplete);
  if (state == ws::HandshakeState::Upgrade) {
    EXPECT_TRUE(whole.response().starts_with("HTTP/1.1 101 "));
    EXPECT_TRUE(ws::isLoopbackHost(whole.request().host));
    EXPECT_EQ(whole.request().target, "/");
    EXPECT_TRUE(wire.ends_with(whole.leftover()));
  }
}

void linkFrames(std::string_view input) {
  constexpr size_t kMaxBody = 200;
  Bytes bytes(input);
  const std::string_view sizes = bytes.take(bytes.below(8));
  const std::string_view wire = bytes.rest();
  const auto receive = [&](auto next, std::string& told) {
    link::FrameReader reader(kMaxBody);
    for (std::string_view rest = wire; !rest.empty();) {
      const std::string piece(rest.substr(0, next()));
      rest.remove_prefix(piece.size());
      std::vector<Slice> bodies;
      const bool good = reader.receive(piece, bodies);
      for (const Slice& body : bodies) {
        EXPECT_GT(body.size(), 0U);
        EXPECT_LE(body.size(), kMaxBody);
        told += std::string(body.view()) + "\n";
      }
      if (!good) return false;
    }
    return true;
  };
  std::string whole;
  std::string cut;
  EXPECT_EQ(receive([&] { return wire.size(); }, whole), receive(Sizes{sizes}, cut));
  EXPECT_EQ(whole, cut);
}

}  // namespace tap::fuzz
