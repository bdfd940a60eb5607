// Error codes, a row each: the source of `error.code` for providers, and of the text of a failed
// tool call for the model.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/table.h"

namespace tap::protocol {

enum class ErrorCode : uint8_t {
  // Errors for a provider's message (docs/protocol.md, "Errors").
  AuthFailed,
  UnsupportedVersion,
  InvalidSession,
  DuplicateInstance,
  ToolConflict,
  PayloadTooLarge,
  RateLimited,
  Unauthorized,
  InvalidJson,
  UnknownType,
  // Outcomes of a tool call (docs/protocol.md, "How a call ends").
  InvalidArguments,
  NotFound,
  Timeout,
  Cancelled,
  Disconnected,
  Internal,
  ToolError,
  Count_,
};

struct ErrorRow {
  ErrorCode id;
  std::string_view name;    // on the wire
  bool fatal;               // the connection is closed after it
  std::string_view advice;  // the next step, for the reader of a failed call
};

inline constexpr std::array<ErrorRow, static_cast<size_t>(ErrorCode::Count_)> kErrorTable{{
    {ErrorCode::AuthFailed, "AUTH_FAILED", true, "Send auth with the token from the token file."},
    {ErrorCode::UnsupportedVersion, "UNSUPPORTED_VERSION", true,
     "Send protocolVersion 2 in hello."},
    {ErrorCode::InvalidSession, "INVALID_SESSION", false,
     "Pick a session from the last sessions message."},
    {ErrorCode::DuplicateInstance, "DUPLICATE_INSTANCE", false,
     "Choose another name, or close the other connection."},
    {ErrorCode::ToolConflict, "TOOL_CONFLICT", false,
     "Rename the tool and send hello or tools.update again."},
    {ErrorCode::PayloadTooLarge, "PAYLOAD_TOO_LARGE", false, "Ask the tool for less at a time."},
    {ErrorCode::RateLimited, "RATE_LIMITED", false, "Wait a second, then try again."},
    {ErrorCode::Unauthorized, "UNAUTHORIZED", false, "This message is not allowed in this state."},
    {ErrorCode::InvalidJson, "INVALID_JSON", false,
     "The provider sent something unreadable: it needs a fix."},
    {ErrorCode::UnknownType, "UNKNOWN_TYPE", false, "Check the message type and protocolVersion."},
    {ErrorCode::InvalidArguments, "INVALID_ARGUMENTS", false,
     "Check the arguments, then call again."},
    {ErrorCode::NotFound, "NOT_FOUND", false,
     "Check the arguments, or whether the thing asked for exists."},
    {ErrorCode::Timeout, "TIMEOUT", false,
     "Try again with less work, or raise the tool's timeout."},
    {ErrorCode::Cancelled, "CANCELLED", false,
     "The call was cancelled; call again if it is still wanted."},
    {ErrorCode::Disconnected, "DISCONNECTED", false,
     "The call was not repeated. Check that the provider is running, then try again."},
    {ErrorCode::Internal, "INTERNAL", false, "The provider failed; its own log says more."},
    {ErrorCode::ToolError, "TOOL_ERROR", false, "The tool says what is wrong."},
}};
static_assert(idsAreIndices(kErrorTable));

[[nodiscard]] constexpr const ErrorRow& row(ErrorCode code) {
  return kErrorTable[static_cast<size_t>(code)];
}
[[nodiscard]] constexpr std::string_view wireName(ErrorCode code) {
  return row(code).name;
}

// The code that a provider gave in tool.result; Internal for a code that is not in the table.
[[nodiscard]] ErrorCode callErrorFromWire(std::string_view name);

// A refusal of a message: all that an `error` message carries.
struct Refusal {
  ErrorCode code = ErrorCode::Internal;
  std::string message;  // the problem and the next step, for a person
  std::string replyTo;  // type of the offending message, empty if it could not be read
  std::string requestId = {};
  std::string sessionId = {};  // of the message, or empty
};

}  // namespace tap::protocol
