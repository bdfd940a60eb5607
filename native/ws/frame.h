// The frame layer's vocabulary and the frames that a server writes: RFC 6455, sections 5.2, 5.5
// and 7.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tap::ws {

enum class Opcode : uint8_t {
  Continuation = 0x0,
  Text = 0x1,
  Binary = 0x2,
  Close = 0x8,
  Ping = 0x9,
  Pong = 0xA,
};

// Section 5.5: the opcodes whose high bit is set.
[[nodiscard]] constexpr bool isControl(Opcode opcode) {
  return (static_cast<uint8_t>(opcode) & 0x8U) != 0;
}
inline constexpr size_t kMaxControlPayload = 125;

// A peer may send further codes (3000 to 4999 belong to applications), so a value of this type need
// not have a name.
enum class CloseCode : uint16_t {
  Normal = 1000,
  GoingAway = 1001,
  ProtocolError = 1002,
  UnsupportedData = 1003,
  NoStatus = 1005,  // never on the wire
  Abnormal = 1006,  // never on the wire
  InvalidPayload = 1007,
  PolicyViolation = 1008,
  MessageTooBig = 1009,
  InternalError = 1011,
  ServiceRestart = 1012,
  TryAgainLater = 1013,
};

// Whether a close frame may carry the code: section 7.4.2 and its IANA registry.
[[nodiscard]] bool mayBeSent(CloseCode code);

// The header of a server frame (unmasked, final) for a payload of `size` bytes, appended to `out`.
void appendFrameHeader(std::string& out, Opcode opcode, uint64_t size);
// A whole unfragmented server frame.
void appendFrame(std::string& out, Opcode opcode, std::string_view payload);
// A close frame; the reason is cut to the size of a control frame, at a character boundary. A code
// that may not be sent (NoStatus, say) gives a close frame without a payload.
void appendCloseFrame(std::string& out, CloseCode code, std::string_view reason);

}  // namespace tap::ws
