#include "ws/handshake.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/encoding.h"
#include "ws/http_request.h"

namespace tap::ws {

struct Handshake::Refusal {
  std::string_view status;
  std::string_view advice;
  std::string_view fields = {};  // whole lines
};

// The refusals, and the function that chooses a refusal.
struct Handshake::Rules {
  static constexpr Refusal kMalformed{
      "400 Bad Request", "This is not an HTTP/1.1 request; open a WebSocket at the target \"/\"."};
  static constexpr Refusal kTooLong{
      "431 Request Header Fields Too Large",
      "The request header is limited to 8192 bytes; leave out cookies and other extra headers."};
  static constexpr Refusal kForeignHost{
      "403 Forbidden", "Connect by a loopback name: localhost, 127.0.0.1 or [::1]."};
  static constexpr Refusal kNotFound{"404 Not Found", "The only path is \"/\"; connect to that."};
  static constexpr Refusal kMethod{"405 Method Not Allowed",
                                   "Use GET, with or without an upgrade to WebSocket.",
                                   "Allow: GET\r\n"};
  static constexpr Refusal kBrokenUpgrade{
      "400 Bad Request",
      "An upgrade needs HTTP/1.1, Connection: Upgrade, Upgrade: websocket, Sec-WebSocket-Version "
      "and a Sec-WebSocket-Key of 16 bytes in base64, and no body; use a WebSocket client."};
  // RFC 7231, 6.5.15 asks for Upgrade in a 426, and RFC 7230, 6.7 for Connection to name it.
  static constexpr Refusal kVersion{
      "426 Upgrade Required", "Use version 13 of the WebSocket protocol (RFC 6455).",
      "Sec-WebSocket-Version: 13\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"};

  static const Refusal* checkRequest(const HttpRequest& http);
  static bool isPlainGet(const HttpRequest& http);
};

namespace {

// RFC 6455, 4.2.1, item 5: base64 of 16 bytes. The spare bits of the last character are ignored;
// some clients make the key up as text.
bool isKey(std::string_view key) {
  constexpr std::string_view kPadding = "==";
  if (key.size() != 24 || !key.ends_with(kPadding)) return false;
  key.remove_suffix(kPadding.size());
  return std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
  });
}

// A body would be read as frames: no upgrade then.
bool hasBody(const HttpRequest& http) {
  if (http.count("transfer-encoding") != 0) return true;
  const size_t lengths = http.count("content-length");
  return lengths > 1 || (lengths == 1 && http.first("content-length") != "0");
}

// RFC 6455, 4.2.1.
bool isUpgrade(const HttpRequest& http) {
  return http.minorVersion >= 1 && http.hasToken("connection", "upgrade") &&
         http.hasToken("upgrade", "websocket") && http.count("sec-websocket-key") == 1 &&
         isKey(http.first("sec-websocket-key")) && http.count("sec-websocket-version") == 1 &&
         !hasBody(http);
}

std::string plainResponse(std::string_view status, std::string_view fields, std::string_view type,
                          std::string_view body) {
  std::string out = "HTTP/1.1 ";
  out.append(status).append("\r\nContent-Type: ").append(type);
  out.append("\r\nContent-Length: ").append(std::to_string(body.size()));
  out.append("\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n");
  out.append(fields).append("\r\n").append(body);
  return out;
}

}  // namespace

bool Handshake::Rules::isPlainGet(const HttpRequest& http) {
  return http.method == "GET" && http.target == "/" && http.count("upgrade") == 0;
}

const Handshake::Refusal* Handshake::Rules::checkRequest(const HttpRequest& http) {
  if (http.count("origin") > 1) return &kMalformed;
  if (http.count("host") != 1 || !isLoopbackHost(http.first("host"))) return &kForeignHost;
  if (isPlainGet(http)) return nullptr;
  if (http.target != "/") return &kNotFound;
  if (http.method != "GET") return &kMethod;
  if (!isUpgrade(http)) return &kBrokenUpgrade;
  if (http.first("sec-websocket-version") != "13") return &kVersion;
  return nullptr;
}

HandshakeState Handshake::feed(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size() && state_ == HandshakeState::Incomplete; ++i) {
    switch (scanByte(bytes[i])) {
      case Scan::More:
        break;
      case Scan::Complete:
        decide();
        if (state_ == HandshakeState::Upgrade) leftover_ = bytes.substr(i + 1);
        break;
      case Scan::TooLong:
        refuse(Rules::kTooLong);
        break;
      case Scan::Malformed:
        refuse(Rules::kMalformed);
        break;
    }
  }
  return state_;
}

// Lines must end in CR LF, and control characters are not allowed in a header (RFC 7230, 3.2).
// Checked immediately, so that a client of a different protocol (TLS, say) need not wait.
Handshake::Scan Handshake::scanByte(char byte) {
  if (header_.size() == kMaxHandshakeBytes) return Scan::TooLong;
  const bool afterReturn = header_.ends_with('\r');
  if (afterReturn != (byte == '\n')) return Scan::Malformed;
  const bool control = static_cast<uint8_t>(byte) < 0x20 || byte == 0x7F;
  if (control && byte != '\t' && byte != '\r' && byte != '\n') return Scan::Malformed;
  header_.push_back(byte);
  return header_.ends_with("\r\n\r\n") ? Scan::Complete : Scan::More;
}

void Handshake::decide() {
  const std::optional<HttpRequest> http = parseHttpRequest(header_);
  if (!http) return refuse(Rules::kMalformed);
  request_ = Request{.host = std::string(http->first("host")),
                     .origin = std::string(http->first("origin")),
                     .hasOrigin = http->count("origin") != 0,
                     .target = std::string(http->target)};
  if (const Refusal* refusal = Rules::checkRequest(*http)) {
    return refuse(*refusal, http->method != "HEAD");  // RFC 7231, 4.3.2: HEAD gets no body
  }
  if (!Rules::isPlainGet(*http)) return upgrade(*http);
  response_ = plainResponse("200 OK", {}, "application/json", plainAnswer_);
  state_ = HandshakeState::Answered;
}

void Handshake::refuse(const Refusal& refusal, bool withBody) {
  std::string body(refusal.advice);
  body.push_back('\n');
  response_ = plainResponse(refusal.status, refusal.fields, "text/plain; charset=utf-8", body);
  if (!withBody) response_.resize(response_.size() - body.size());
  state_ = HandshakeState::Answered;
}

// No subprotocol and no extension is accepted (4.2.2, item 5): their headers are left out.
void Handshake::upgrade(const HttpRequest& http) {
  response_ = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
  response_.append("Sec-WebSocket-Accept: ").append(acceptKey(http.first("sec-websocket-key")));
  response_.append("\r\n\r\n");
  state_ = HandshakeState::Upgrade;
}

std::string acceptKey(std::string_view key) {
  constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  const std::array<uint8_t, 20> digest = sha1(std::string(key).append(kGuid));
  return base64(std::string(digest.begin(), digest.end()));
}

}  // namespace tap::ws
