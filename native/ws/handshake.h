// The opening handshake of RFC 6455, section 4.2, server side, and the plain HTTP answers of the
// port. A request is answered when its header is complete, and before that only if it is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tap::ws {

struct HttpRequest;

inline constexpr size_t kMaxHandshakeBytes = size_t{8} * 1024;  // request line and headers together

// The fields of a complete request that the caller needs.
struct Request {
  std::string host;        // the Host header, as sent
  std::string origin;      // empty: no Origin header
  bool hasOrigin = false;  // true for an empty Origin header, too
  std::string target;      // request target, e.g. "/"
};

enum class HandshakeState : uint8_t {
  Incomplete,  // feed more
  Upgrade,     // response() is the 101; bytes after the header belong to the WebSocket
  Answered,    // response() is a plain HTTP answer; close after sending it
};

class Handshake {
 public:
  // `plainAnswer` is the body (application/json) of a plain `GET /`; it must outlive this object.
  explicit Handshake(std::string_view plainAnswer) : plainAnswer_(plainAnswer) {}

  // Consumes bytes until the header is complete. Returns the state; once it is not Incomplete,
  // further bytes are ignored. Rules, in this order: malformed or too long -> 400/431; a Host that
  // is not loopback (localhost, *.localhost, 127.0.0.0/8, [::1], any port) or missing or doubled ->
  // 403; `GET /` without Upgrade -> 200 with plainAnswer; other targets than "/" -> 404; other
  // methods -> 405; a broken upgrade -> 400; a version other than 13 -> 426 with
  // Sec-WebSocket-Version: 13. The body of each refusal is a sentence with a correction.
  [[nodiscard]] HandshakeState feed(std::string_view bytes);

  [[nodiscard]] const Request& request() const { return request_; }
  [[nodiscard]] const std::string& response() const { return response_; }
  // Bytes that came after the header, in the state Upgrade: a view into the bytes fed last.
  [[nodiscard]] std::string_view leftover() const { return leftover_; }

 private:
  struct Refusal;
  struct Rules;

  // Whether the header is incomplete, complete, or invalid.
  enum class Scan : uint8_t { More, Complete, TooLong, Malformed };

  [[nodiscard]] Scan scanByte(char byte);
  void decide();
  void refuse(const Refusal& refusal, bool withBody = true);
  void upgrade(const HttpRequest& http);

  std::string_view plainAnswer_;
  HandshakeState state_ = HandshakeState::Incomplete;
  std::string header_;
  std::string_view leftover_;
  Request request_;
  std::string response_;
};

// Sec-WebSocket-Accept for a Sec-WebSocket-Key (RFC 6455, 4.2.2, step 5.4).
[[nodiscard]] std::string acceptKey(std::string_view key);

}  // namespace tap::ws
