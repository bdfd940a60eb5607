// JSON text ⇄ messages of the link, both ways: the gateway decodes LinkMessage and encodes
// SessionEvent, the other end does the reverse.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/result.h"
#include "base/slice.h"
#include "protocol/link/session_messages.h"

namespace tap::protocol {

// JSON text in up to three pieces, so that a large result is never copied: head, a shared slice,
// tail.
struct SplitText {
  std::string head;
  Slice middle;
  std::string tail;
};

class SessionDecoder {
 public:
  // Slices in the result have the text's owner. The error is a sentence for the log. Messages of
  // the gateway are known to be UTF-8; messages of a session are checked here.
  [[nodiscard]] Result<LinkMessage, std::string> message(const Slice& text);
  [[nodiscard]] Result<SessionEvent, std::string> event(const Slice& text);
  // The arguments of a call without a frame, as message() would return them. The error describes
  // the text, to follow "its arguments".
  [[nodiscard]] Result<Slice, std::string> arguments(const Slice& text);

 private:
  json::Scanner scanner_;
};

[[nodiscard]] SplitText encode(const LinkMessage& message);
[[nodiscard]] SplitText encode(const SessionEvent& event);
// The fields of `register` with the environment for a session's programs.
void writeEnvironment(json::Writer& writer, std::string_view path, const SessionRuntime& runtime);

}  // namespace tap::protocol
