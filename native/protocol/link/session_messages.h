// The messages between a session and the gateway: the same set over the link and in one process.
// control_messages.h has those of control clients; docs/session-link.md describes both.
//
// To add one: a struct, a place in the variant, lines in session_*coder.cc, overloads in
// gateway/core/session_inputs.cc (to the gateway) or a case in js/extension/session-runner.mjs (to
// the session).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/slice.h"
#include "protocol/errors.h"
#include "protocol/link/control_messages.h"
#include "protocol/trace_context.h"

namespace tap::protocol {

// Raised when a message changes its name or its meaning. Drain keeps its shape in every version.
inline constexpr int64_t kLinkVersion = 2;

// What a user may type after a slash command, in bytes.
inline constexpr size_t kMaxCommandArguments = 4096;
inline constexpr size_t kMaxCommandName = 64;
inline constexpr size_t kMaxMethodName = 64;  // of HostRequest

// One provider's tools as a session has them: enough to know whether they are still right.
struct ProviderDigest {
  std::string provider;
  std::string digest;
};

// How the session's process can change its tools (architecture: tool synchronisation).
enum class SyncMode : uint8_t { Live, Reload };

// What the session is doing, as far as scheduling needs it. UserPrompt is busy, by the user's hand.
enum class Activity : uint8_t { Idle, Busy, UserPrompt };

// What the CLI of a session runs with, for programs that tap starts for that session. Empty: not
// known.
struct SessionRuntime {
  std::string execPath;  // the CLI's own binary
  std::string sdkPath;   // of the SDK that it has brought along
  std::string cliVersion;
  std::string copilotHome;
  std::string distDir;  // where it has unpacked itself
};
inline constexpr size_t kMaxPathVariable = 32'768;
inline constexpr size_t kMaxRuntimeText = 4096;

// --- Session → gateway ---

// First frame of a link. Answered by Welcome and Tools, or by Refused.
struct Register {
  int64_t linkVersion = 0;
  std::string secret;  // from the descriptor file; empty in one process
  std::string version;
  std::string sessionId;
  std::string label;
  std::string cwd;
  int64_t cliPid = 0;  // two sessions of one CLI share it
  SyncMode mode = SyncMode::Live;
  bool joined = false;                   // false: it waits for its first tools before it joins
  std::vector<ProviderDigest> have;      // tools that the joined session already has
  std::vector<std::string> groups = {};  // of tools, that were on
  std::string path = {};                 // PATH of the CLI; empty: not known
  SessionRuntime runtime = {};
};
// Something about the session changed, or is known now. Absent fields keep their value.
struct Update {
  std::optional<std::string> label;
  std::optional<std::string> cwd;
  std::optional<SyncMode> mode;
  std::optional<std::vector<std::string>> builtins;  // names of the CLI's own tools
  std::optional<std::string> agentMode = {};  // the CLI's: "interactive", "plan", "autopilot"
  std::string agentModeBy = {};               // who has chosen it: "user", "tap", "start"
};
struct ActivityChanged {
  Activity activity = Activity::Idle;
};
// The model calls a tool. Settled by exactly one CallResult, unless cancelled.
struct Call {
  std::string callId;  // the session's own, unique on its link
  std::string tool;
  Slice args;  // JSON text of an object
  // The CLI's id of the call, as JSON text of a string; empty: not known.
  Slice toolCallId = {};
  TraceField trace = {};  // the CLI's span of the call
};
// The session no longer waits for this call: no CallResult follows.
struct CancelCall {
  std::string callId;
  std::string reason;
};
// The tools of that revision are in force.
struct Synced {
  int64_t revision = 0;
};
// They are not. `refused` names tools that the CLI does not take, if it said so.
struct SyncFailed {
  int64_t revision = 0;
  std::string message;
  std::vector<std::string> refused;
};
// The session is over, not just its process.
struct EndSession {
  std::string reason;
};
struct Ping {};
// The session's user wants to see the codes that wait to be typed, in the timeline.
struct ShowPairings {};

// The user wants a provider in a session: the link's own, or the one that a control client names.
// A control client gets Used; a session reads the outcome in its timeline.
struct UseProvider {
  std::string provider;
  std::string sessionId;
};

// The user has typed a slash command of tap. Answered by CommandResult.
struct RunCommand {
  std::string commandId;  // the session's own, unique on its link
  std::string name;       // without the slash
  std::string arguments;  // the rest of the line
};

// Something has happened that a provider has subscribed to, in the shape of docs/protocol.md,
// "session.event".
struct EventOccurred {
  std::string event;
  Slice data;  // JSON text of an object
};

// The agent is about to use a tool, and the session has hooks. Answered by HookVerdict.
struct HookCheck {
  std::string checkId;  // the session's own, unique on its link
  std::string tool;
  Slice args;  // JSON text
};
// A prompt was submitted. Answered by PromptContext.
struct PromptSubmitted {
  std::string promptId;
};
// The CLI builds its system message, with this section. Answered by SectionText.
struct SectionBuild {
  std::string buildId;
  std::string section;
  std::string current;
};
// How far the hooks of that revision have come.
enum class HookOutcome : uint8_t { InForce, Denied, Unavailable };
struct HooksState {
  int64_t revision = 0;
  HookOutcome hooks = HookOutcome::InForce;     // InForce also where none are wanted
  HookOutcome sections = HookOutcome::InForce;  // the edits of the system message
};

// The answer to SessionRequest.
struct SessionResult {
  std::string requestId;
  bool failed = false;
  Slice value;  // JSON text: the result, or where failed an object with `code` and `message`
};

using SessionMessage =
    std::variant<Register, Update, ActivityChanged, Call, CancelCall, Synced, SyncFailed,
                 EndSession, Ping, ShowPairings, UseProvider, RunCommand, EventOccurred, HookCheck,
                 PromptSubmitted, SectionBuild, HooksState, SessionResult>;

// All that may come over a link. A control client may also send Call, CancelCall, Ping and
// UseProvider; a session may also send the control messages that carry the secret.
using LinkMessage = std::variant<SessionMessage, ControlMessage>;

// --- Gateway → session ---

struct Welcome {
  int64_t linkVersion = kLinkVersion;
  std::string version;
  int64_t pid = 0;
  int64_t port = 0;
  bool known = false;  // the session is not new: this gateway has met it, or it had joined before
};
// The link is of no use; the gateway closes it.
struct Refused {
  std::string code;  // docs/session-link.md, "refused"
  std::string message;
};
// A change to the session's tools, by provider. Answered by Synced or SyncFailed.
struct ProviderTools {
  std::string provider;
  std::string digest;
  std::vector<std::string> definitions;  // JSON text, ToolDefinition::json
};
struct Tools {
  int64_t revision = 0;
  bool reload = false;             // this is the moment to reload; else swap them live
  std::vector<ProviderTools> set;  // sorted by provider
  std::vector<std::string> drop;   // providers whose tools go
};
// Bytes that a model does not read as text: an image, or a file of another sort.
struct Binary {
  std::string mimeType;
  Slice base64;
};
struct CallResult {
  std::string callId;
  bool failed = false;
  Slice data;                            // JSON text of the result; empty: nothing
  ErrorCode code = ErrorCode::Internal;  // where failed
  std::string text;                      // where failed: for the model
  Binary binary = {};                    // beside the data; empty: none
};
// The provider is still at it: the session's own deadline for that call starts again.
struct CallProgress {
  std::string callId;
};
enum class LogLevel : uint8_t { Info, Warning, Error };
// A line for the session's timeline. Control characters are already made visible.
struct Timeline {
  LogLevel level = LogLevel::Info;
  std::string text;
};
// A prompt for the session, fenced and attributed (docs/decisions.md D-21).
struct Inject {
  std::string provider;
  std::string prompt;
  std::string display = {};  // what the user sees in its place; empty: the prompt
};
// Which events the session is to report.
struct Subscribe {
  std::vector<std::string> events;
};
// The session's hooks from now on. Answered by HooksState once they are in force.
struct ProviderGuards {
  std::string provider;
  std::vector<std::string> rules;  // JSON text, HookRule::json
  bool operator==(const ProviderGuards&) const = default;
};
struct SectionEdit {
  std::string section;
  std::string prepend;
  std::string append;
  std::optional<std::string> replace;
  bool callback = false;  // a SectionBuild whenever the section is built
  bool operator==(const SectionEdit&) const = default;
};
struct Hooks {
  int64_t revision = 0;
  bool wanted = false;   // a HookCheck before each tool call
  bool prompts = false;  // a PromptSubmitted for each prompt
  int64_t gateMs = 0;    // how long a HookCheck may take
  // Uses that the session itself denies while it has no gateway.
  std::vector<ProviderGuards> guards;
  std::vector<SectionEdit> sections;  // sorted by name
  std::string needs = {};  // which providers need hooks, and why: for the user who must consent
  bool operator==(const Hooks&) const = default;
};
// Neither a denial nor a context: nothing speaks against it.
struct HookVerdict {
  std::string checkId;
  std::optional<std::string> deny;  // the reason, for the model
  std::string context;
};
struct PromptContext {
  std::string promptId;
  std::string context;  // may be empty
};
struct SectionText {
  std::string buildId;
  std::optional<std::string> content;  // nothing: it stays as it is
};
// The groups of tools that are on in the session from now on: for Register.
struct Groups {
  std::vector<std::string> names;  // sorted
};
struct Pong {};
// The gateway is going away on purpose: connect again, a new one will be there.
struct Draining {
  std::string reason;
};

// The answer to RunCommand.
struct CommandResult {
  std::string commandId;
  std::string text;  // for the timeline; control characters are already made visible
};

// What tap's own features want of the session, from the table of js/extension/session-requests.mjs.
// Answered by SessionResult.
struct SessionRequest {
  std::string requestId;  // the gateway's, unique on the link
  std::string request;
  std::string params;  // JSON text of an object
};

// All that the gateway sends over a link. Paired, Inspection, TraceFrame, CallsLogged, Used and
// HostResult go to control clients.
using SessionEvent =
    std::variant<Welcome, Refused, Tools, CallResult, CallProgress, Timeline, Inject, Subscribe,
                 Hooks, HookVerdict, PromptContext, SectionText, Pong, Draining, Paired, Inspection,
                 TraceFrame, CallsLogged, CommandResult, Used, HostResult, Groups, SessionRequest>;

}  // namespace tap::protocol
