// Effects: the actions that the gateway requests. It returns them instead of doing I/O; the uv
// layer carries them out after the call has returned, in order, so nothing re-enters a half-made
// transition.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/slice.h"
#include "gateway/records/recorder.h"
#include "protocol/link/session_messages.h"
#include "ws/frame.h"

namespace tap::gateway {

// A connection, named by the uv layer, never used twice.
enum class PeerId : uint64_t {};

// A tool call on its way; providers know it by the text of this.
using CallId = Uuid;

// A slash command that the host runs.
enum class CommandNumber : uint64_t {};

// One text message to a provider.
struct SendText {
  PeerId peer;
  Slice text;  // may borrow from the input that is being handled
};
// One message to a session.
struct SendEvent {
  PeerId peer;
  protocol::SessionEvent event;  // slices in it may borrow likewise
};
// Say goodbye and end the connection; nothing is sent to it or read from it any more. For a
// provider `code` is a WebSocket close code; a session's link has none.
struct ClosePeer {
  PeerId peer;
  uint16_t code;
  std::string reason;
};
inline constexpr auto kPolicyViolation = static_cast<uint16_t>(ws::CloseCode::PolicyViolation);
// A control frame to a provider, which Gateway::providerPong answers.
struct PingProvider {
  PeerId peer;
};
// Read nothing from this peer, or read again: TCP then slows the sender.
struct PauseReading {
  PeerId peer;
};
struct ResumeReading {
  PeerId peer;
};
// Make this folder and those above it, for this user only.
struct MakeFolder {
  std::string path;
};
// Read a file that a call was answered with. Gateway::fileRead says how it went, exactly once,
// unless the session's link has ended.
struct ReadFile {
  CallId callId;
  PeerId link;         // of the session that waits for it
  std::string folder;  // it must lie in here, whatever links say
  std::string path;
  std::string mimeType;
  uint64_t size;  // exactly
};
struct LogLine {
  protocol::LogLevel level;
  std::string text;
};
// Something only the process around the gateway can do.
enum class HostAction : uint8_t {
  SessionOpened,  // a new one, not just a new process of one; it works in `cwd`
  SessionEnded,   // the host can forget its processes and its folder
  Exit,           // no session for the grace time, or drained: leave, for this `reason`
};
struct NotifyHost {
  HostAction action;
  std::string sessionId;
  std::string cwd;
  std::string reason;
};

// The user has typed a slash command in this session, which works in `cwd`.
// Gateway::commandFinished says what it shows.
struct HostCommand {
  CommandNumber number;
  std::string sessionId;
  std::string cwd;
  std::string name;       // of a-z, 0-9 and -
  std::string arguments;  // as the user has typed them
};

// A row for the record store.
struct WriteRecord {
  RowPtr row;
};
// The same, and Gateway::recordCommitted says when it is durable, or that it cannot be.
struct CommitRecord {
  uint64_t number;
  RowPtr row;
};

// A client of the link wants something of the process around the gateway.
// Gateway::answerRequest has the outcome.
enum class RequestNumber : uint64_t {};
struct RequestHost {
  RequestNumber number;
  bool fromFeature;    // the link was opened with a feature's token
  std::string method;  // of a-z, 0-9, "." and "-"
  std::string params;  // JSON text of an object
};
// The client has left before its answer: what only it has a use for may end.
struct RequestDropped {
  RequestNumber number;
};

// The answer to Gateway::openGroups.
enum class OpeningNumber : uint64_t {};
struct GroupsOpened {
  OpeningNumber number;
  bool inForce;                    // the session has the tools
  std::vector<std::string> tools;  // of these groups
  std::string reason;              // why it does not have them
};
// The answer to Gateway::requestFromSession: JSON text of an object with `result`, or with `error`
// (`code`, `message`).
enum class SessionRequestNumber : uint64_t {};
struct SessionAnswered {
  SessionRequestNumber number;
  std::string json;
};
// A new session, of which the host has been told just before (NotifyHost): Gateway::welcomeSession
// goes on with it, so that the groups that the host turns on are part of its first tools.
struct WelcomeSession {
  std::string sessionId;
  PeerId peer;
  bool joined;
};

using Effect =
    std::variant<SendText, SendEvent, ClosePeer, PingProvider, PauseReading, ResumeReading,
                 MakeFolder, ReadFile, LogLine, NotifyHost, HostCommand, WriteRecord, CommitRecord,
                 RequestHost, RequestDropped, GroupsOpened, SessionAnswered, WelcomeSession>;
using Effects = std::vector<Effect>;

// The outcome of a ReadFile.
struct FileContent {
  Slice data;  // JSON text, as in CallResult
  protocol::Binary binary;
};
using FileOutcome = Result<FileContent, protocol::Refusal>;

}  // namespace tap::gateway
