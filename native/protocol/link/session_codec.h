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

// JSON text in up to three pieces, so that a large result is never copied: head, a shared slice
// that stands as it is, tail.
struct SplitText {
  std::string head;
  Slice middle;
  std::string tail;
};

class SessionDecoder {
 public:
  // Slices in the result have the text's owner. The error is a sentence for the log. What the
  // gateway sends has been checked to be UTF-8 already; what a session sends is checked here.
  [[nodiscard]] Result<LinkMessage, std::string> message(const Slice& text);
  [[nodiscard]] Result<SessionEvent, std::string> event(const Slice& text);
  // The arguments of a call that came without a frame, as message() would give them. The error says
  // what they are instead, after "its arguments".
  [[nodiscard]] Result<Slice, std::string> arguments(const Slice& text);

 private:
  json::Scanner scanner_;
};

[[nodiscard]] SplitText encode(const LinkMessage& message);
[[nodiscard]] SplitText encode(const SessionEvent& event);
// The fields of `register` that say what a program of the session runs with.
void writeEnvironment(json::Writer& writer, std::string_view path, const SessionRuntime& runtime);

}  // namespace tap::protocol
