// Requests of a session that cannot be read, and calls with unusable arguments: whoever waits for
// an answer gets one that says why, at once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "protocol/link/session_messages.h"

namespace tap::protocol {

// A provider gets them within a message of its own, which may be json::kMaxDepth levels deep.
inline constexpr int kMaxArgumentsDepth = json::kMaxDepth - 1;

// The arguments of a call: an object. The error says what else they are, after "its arguments".
[[nodiscard]] Result<json::Value, std::string> readArguments(json::Scanner& scanner,
                                                             std::string_view text);

// Whether the text begins as an object does. The cheap half of readArguments, for who passes them
// on to somebody who reads them.
[[nodiscard]] bool beginsAsObject(std::string_view text);

// How a call ends whose arguments readArguments refuses.
[[nodiscard]] CallResult refuseArguments(std::string_view callId, std::string_view tool,
                                         std::string_view problem);

// What answers a message that SessionDecoder has refused, with that reason: the failure of a
// `call`, a denial of a `hook.check`, no context for a `prompt.submitted`, no text for a
// `section.build`, the reason for a `command.run`, an error for a `host.request` and a
// `permission.check`. Nothing for other messages, and where the id cannot be read. `text` may be
// any bytes.
[[nodiscard]] std::optional<SessionEvent> answerUnreadable(std::string_view text,
                                                           std::string_view reason);

// The tool of an unreadable call or check, if that can be read.
[[nodiscard]] std::string toolOfUnreadable(std::string_view text);
// The arguments, likewise, as they stand in the text: UTF-8.
[[nodiscard]] std::string_view argumentsOfUnreadable(std::string_view text);

}  // namespace tap::protocol
