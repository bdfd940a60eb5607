#include "ws/handshake.h"

#include <gtest/gtest.h>

namespace tap::ws {
namespace {

constexpr std::string_view kPlain = R"({"program":"tap"})";

// The result of the bytes.
struct Outcome {
  HandshakeState state = HandshakeState::Incomplete;
  std::string response;
  std::string leftover;
  Request request;
};

Outcome feedInChunks(std::string_view input, size_t size) {
  Handshake handshake(kPlain);
  Outcome outcome;
  while (!input.empty()) {
    const std::string chunk(input.substr(0, size));
    input.remove_prefix(chunk.size());
    const bool before = outcome.state == HandshakeState::Incomplete;
    outcome.state = handshake.feed(chunk);
    if (outcome.state == HandshakeState::Upgrade) {
      outcome.leftover += before ? handshake.leftover() : std::string_view(chunk);
    }
  }
  outcome.response = handshake.response();
  outcome.request = handshake.request();
  return outcome;
}

// The result in a single chunk; also expects the same result for other chunkings.
Outcome feed(std::string_view input) {
  Outcome whole = feedInChunks(input, input.size());
  for (const size_t size : {1, 2, 3, 7, 100}) {
    const Outcome pieces = feedInChunks(input, size);
    EXPECT_EQ(pieces.state, whole.state) << size;
    EXPECT_EQ(pieces.response, whole.response) << size;
    EXPECT_EQ(pieces.leftover, whole.leftover) << size;
    EXPECT_EQ(pieces.request.host, whole.request.host) << size;
  }
  return whole;
}

std::string get(const std::string& fields) {
  return "GET / HTTP/1.1\r\n" + fields + "\r\n";
}

constexpr const char* kKeyField = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
constexpr const char* kVersionField = "Sec-WebSocket-Version: 13\r\n";

std::string upgradeWith(const std::string& fields) {
  return get("Host: localhost:9400\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" + fields);
}
std::string upgrade(const std::string& fields = "") {
  return upgradeWith(kKeyField + std::string(kVersionField) + fields);
}

void expectAnswer(std::string_view input, std::string_view status) {
  const Outcome outcome = feed(input);
  EXPECT_EQ(outcome.state, HandshakeState::Answered);
  const std::string line = "HTTP/1.1 " + std::string(status) + " ";
  EXPECT_EQ(outcome.response.substr(0, line.size()), line) << input;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Handshake, AcceptsTheKeyOfTheRfc) {
  // Section 1.3.
  EXPECT_EQ(acceptKey("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

// shows: P-CONN-1
TEST(Handshake, UpgradesARequest) {
  const Outcome outcome = feed(upgrade());
  EXPECT_EQ(outcome.state, HandshakeState::Upgrade);
  EXPECT_EQ(outcome.response,
            "HTTP/1.1 101 Switching Protocols\r\n"
            "Upgrade: websocket\r\n"
            "Connection: Upgrade\r\n"
            "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
            "\r\n");
  EXPECT_EQ(outcome.request.host, "localhost:9400");
  EXPECT_EQ(outcome.request.target, "/");
  EXPECT_FALSE(outcome.request.hasOrigin);
  EXPECT_EQ(outcome.leftover, "");
}

TEST(Handshake, LeavesWhatFollowsTheHeader) {
  EXPECT_EQ(feed(upgrade() + "\x81\x85 frames\r\n\r\n").leftover, "\x81\x85 frames\r\n\r\n");
}

TEST(Handshake, WaitsForTheWholeHeader) {
  const std::string input = upgrade();
  for (size_t size = 1; size < input.size(); ++size) {
    Handshake handshake(kPlain);
    EXPECT_EQ(handshake.feed(input.substr(0, size)), HandshakeState::Incomplete);
    EXPECT_EQ(handshake.response(), "");
    EXPECT_EQ(handshake.feed(input.substr(size)), HandshakeState::Upgrade);
  }
}

TEST(Handshake, TakesTokensInAnyCaseAmongOthers) {
  EXPECT_EQ(feed(get("HOST: localhost\r\nupgrade: WebSocket\r\nConnection: keep-alive, upgrade\r\n"
                     "SEC-WEBSOCKET-KEY:dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version:13 \r\n"))
                .state,
            HandshakeState::Upgrade);
}

TEST(Handshake, TakesUpNoSubprotocolAndNoExtension) {
  const Outcome outcome = feed(
      upgrade("Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"));
  EXPECT_EQ(outcome.state, HandshakeState::Upgrade);
  EXPECT_FALSE(has(outcome.response, "Protocol:"));
  EXPECT_FALSE(has(outcome.response, "Extensions"));
}

TEST(Handshake, TellsTheOrigin) {
  const Outcome page = feed(upgrade("Origin: https://example.com\r\n"));
  EXPECT_TRUE(page.request.hasOrigin);
  EXPECT_EQ(page.request.origin, "https://example.com");
  const Outcome empty = feed(upgrade("Origin:\r\n"));
  EXPECT_TRUE(empty.request.hasOrigin);
  EXPECT_EQ(empty.request.origin, "");
  expectAnswer(upgrade("Origin: a\r\nOrigin: b\r\n"), "400");
}

// shows: P-CONN-2
TEST(Handshake, AnswersAPlainGet) {
  EXPECT_EQ(feed(get("Host: 127.0.0.1:9400\r\n")).response,
            "HTTP/1.1 200 OK\r\n"
            "Content-Type: application/json\r\n"
            "Content-Length: 17\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Connection: close\r\n"
            "\r\n"
            R"({"program":"tap"})");
  expectAnswer("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n", "200");
}

TEST(Handshake, IgnoresWhatComesAfterAPlainAnswer) {
  Handshake handshake(kPlain);
  EXPECT_EQ(handshake.feed(get("Host: localhost\r\n") + upgrade()), HandshakeState::Answered);
  const std::string response = handshake.response();
  EXPECT_EQ(handshake.feed(upgrade()), HandshakeState::Answered);
  EXPECT_EQ(handshake.response(), response);
  EXPECT_EQ(handshake.leftover(), "");
}

TEST(Handshake, RefusesMalformedRequests) {
  expectAnswer("\r\n\r\n", "400");
  expectAnswer("GET /\r\n\r\n", "400");
  expectAnswer(get("Host: localhost\r\nA: b\r\n folded\r\n"), "400");
  expectAnswer(get("Host : localhost\r\n"), "400");
}

TEST(Handshake, RefusesAtOnceWhatIsNoHeader) {
  expectAnswer("GET / HTTP/1.1\n", "400");
  expectAnswer("GET / HTTP/1.1\rX", "400");
  expectAnswer(std::string("GET /\0", 6), "400");
  expectAnswer("\x16\x03\x01\x02", "400");  // how TLS begins
}

// shows: P-CONN-2
TEST(Handshake, BoundsTheHeader) {
  const std::string frame = get("Host: localhost\r\nX: \r\n");
  const size_t room = kMaxHandshakeBytes - frame.size();
  for (const size_t size : {room - 1, room}) {
    expectAnswer(get("Host: localhost\r\nX: " + std::string(size, 'x') + "\r\n"), "200");
  }
  expectAnswer(get("Host: localhost\r\nX: " + std::string(room + 1, 'x') + "\r\n"), "431");
}

TEST(Handshake, EndsHeaderBombs) {
  expectAnswer(std::string(kMaxHandshakeBytes + 1, 'G'), "431");
  std::string many = "GET / HTTP/1.1\r\n";
  while (many.size() < 1000000) many += "a:\r\n";
  expectAnswer(many, "431");
}

// shows: P-CONN-2
TEST(Handshake, RefusesForeignHosts) {
  for (const char* host : {"evil.com", "localhost.evil.com", "127.0.0.1.nip.io", "localhost@evil",
                           "localhost:80x", ""}) {
    expectAnswer(get("Host: " + std::string(host) + "\r\n"), "403");
  }
  expectAnswer(get(""), "403");
  expectAnswer(get("Host: localhost\r\nHost: localhost\r\n"), "403");
}

// shows: P-CONN-2
TEST(Handshake, RefusesOtherTargets) {
  for (const char* target : {"/x", "//", "/?a", "*", "http://localhost/"}) {
    expectAnswer("GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", "404");
  }
}

// shows: P-CONN-2
TEST(Handshake, RefusesOtherMethods) {
  for (const char* method : {"POST", "OPTIONS", "PUT", "get"}) {
    expectAnswer(std::string(method) + " / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405");
  }
  EXPECT_TRUE(
      has(feed("PUT / HTTP/1.1\r\nHost: localhost\r\n\r\n").response, "\r\nAllow: GET\r\n"));
}

TEST(Handshake, AnswersHeadWithoutABody) {
  const Outcome outcome = feed("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(outcome.response.starts_with("HTTP/1.1 405 "));
  EXPECT_TRUE(outcome.response.ends_with("\r\n\r\n"));
}

// shows: P-CONN-2
TEST(Handshake, RefusesABrokenUpgrade) {
  const std::string host = "Host: localhost\r\n";
  const std::string rest = kKeyField + std::string(kVersionField);
  expectAnswer(get(host + "Upgrade: websocket\r\n" + rest), "400");
  expectAnswer(get(host + "Upgrade: websocket\r\nConnection: close\r\n" + rest), "400");
  expectAnswer(get(host + "Upgrade: h2c\r\nConnection: Upgrade\r\n" + rest), "400");
  expectAnswer(upgradeWith(kKeyField), "400");
  expectAnswer(upgradeWith(kVersionField), "400");
  expectAnswer(upgrade(kKeyField), "400");
  expectAnswer(upgrade(kVersionField), "400");
  std::string old = upgrade();
  old.replace(old.find("1.1"), 3, "1.0");
  expectAnswer(old, "400");
}

TEST(Handshake, RefusesAnUpgradeWithABody) {
  EXPECT_EQ(feed(upgrade("Content-Length: 0\r\n")).state, HandshakeState::Upgrade);
  expectAnswer(upgrade("Content-Length: 5\r\n"), "400");
  expectAnswer(upgrade("Content-Length: 0\r\nContent-Length: 5\r\n"), "400");
  expectAnswer(upgrade("Transfer-Encoding: chunked\r\n"), "400");
}

TEST(Handshake, RefusesKeysThatAreNot16Bytes) {
  for (const char* key :
       {"", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZQ===", "dGhlIHNhbXBsZSBub25jZQAA",
        "dGhlIHNhbXBsZSBub25jZQ==x", "dGhlIHNhbXBsZSBub25j-_==", "dGhlIHNhbXBs=SBub25jZQ==",
        "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBs ZSBub25jZQ=="}) {
    expectAnswer(upgradeWith("Sec-WebSocket-Key: " + std::string(key) + "\r\n" + kVersionField),
                 "400");
  }
}

TEST(Handshake, AsksForVersion13) {
  for (const char* version : {"8", "12", "14", "013", "13, 8", ""}) {
    const std::string input =
        upgradeWith(kKeyField + ("Sec-WebSocket-Version: " + std::string(version)) + "\r\n");
    expectAnswer(input, "426");
    EXPECT_TRUE(has(feed(input).response, "\r\nSec-WebSocket-Version: 13\r\n"));
  }
}

TEST(Handshake, JudgesTheHostBeforeEverythingElse) {
  expectAnswer("POST /x HTTP/1.1\r\nHost: evil.com\r\n\r\n", "403");
  expectAnswer("POST /x HTTP/1.1\r\nHost: localhost\r\n\r\n", "404");
  expectAnswer("GET /x HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n\r\n", "404");
  expectAnswer("POST / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n\r\n", "405");
}

TEST(Handshake, EveryRefusalIsCompleteAndSharesNothing) {
  const std::string local = "Host: localhost\r\n";
  for (const std::string& input :
       {std::string("\n"), std::string(9000, 'x'), get(""), "GET /x HTTP/1.1\r\n" + local + "\r\n",
        "PUT / HTTP/1.1\r\n" + local + "\r\n", get(local + "Upgrade: x\r\n"),
        upgradeWith(kKeyField + std::string("Sec-WebSocket-Version: 8\r\n"))}) {
    const std::string response = feed(input).response;
    const size_t end = response.find("\r\n\r\n");
    ASSERT_NE(end, std::string::npos);
    const std::string body = response.substr(end + 4);
    EXPECT_TRUE(body.ends_with(".\n")) << response;
    EXPECT_TRUE(has(response, "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n"));
    EXPECT_TRUE(has(response, "\r\nConnection: close\r\n"));
    EXPECT_TRUE(has(response, "\r\nContent-Type: text/plain; charset=utf-8\r\n"));
    EXPECT_TRUE(has(response, "\r\nX-Content-Type-Options: nosniff\r\n"));
    EXPECT_FALSE(has(response, "Access-Control"));
  }
}

}  // namespace
}  // namespace tap::ws
