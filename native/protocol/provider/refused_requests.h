// Requests of a session that cannot be read, and calls with unusable arguments: the waiting side
// gets an immediate answer with the reason.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "protocol/link/session_messages.h"

namespace tap::protocol {

// A provider gets them inside its own message, which may be json::kMaxDepth levels deep.
inline constexpr int kMaxArgumentsDepth = json::kMaxDepth - 1;

// The arguments of a call: an object. The error describes the text, to follow "its arguments".
[[nodiscard]] Result<json::Value, std::string> readArguments(json::Scanner& scanner,
                                                             std::string_view text);

// Whether the text begins like an object: the cheap half of readArguments, for code that passes the
// arguments to a reader.
[[nodiscard]] bool beginsAsObject(std::string_view text);

// The result of a call whose arguments readArguments refuses.
[[nodiscard]] CallResult refuseArguments(std::string_view callId, std::string_view tool,
                                         std::string_view problem);

// The answer to a message that SessionDecoder has refused with `reason`: the failure of a `call`, a
// denial of a `hook.check`, no context for a `prompt.submitted`, no text for a `section.build`, the
// reason for a `command.run`, an error for a `host.request` and a `permission.check`. Empty for
// other messages, and if the id cannot be read. `text` may be any bytes.
[[nodiscard]] std::optional<SessionEvent> answerUnreadable(std::string_view text,
                                                           std::string_view reason);

// The tool of an unreadable call or check, if it can be read.
[[nodiscard]] std::string toolOfUnreadable(std::string_view text);
// The same for the arguments, as in the text: UTF-8.
[[nodiscard]] std::string_view argumentsOfUnreadable(std::string_view text);

}  // namespace tap::protocol
