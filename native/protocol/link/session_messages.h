// The messages between a session and the gateway: the same set over the link and in a process.
// control_messages.h has those of control clients; docs/session-link.md describes both.
//
// To add a message: a struct, a place in the variant, lines in session_*coder.cc, overloads in
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

// Raised when a message changes its name or its meaning. Drain is the same in every version.
inline constexpr int64_t kLinkVersion = 2;

// The maximum of arguments of a slash command, in bytes.
inline constexpr size_t kMaxCommandArguments = 4096;
inline constexpr size_t kMaxCommandName = 64;
inline constexpr size_t kMaxMethodName = 64;  // of HostRequest

// A provider's tools as a session has them: enough to detect a change.
struct ProviderDigest {
  std::string provider;
  std::string digest;
};

// How the session's process can change its tools (architecture: tool synchronisation).
enum class SyncMode : uint8_t { Live, Reload };

// The session's activity, as far as scheduling needs it. UserPrompt: busy with a prompt of the
// user.
enum class Activity : uint8_t { Idle, Busy, UserPrompt };

// The environment of a session's CLI, for programs that tap starts for that session. Empty:
// unknown.
struct SessionRuntime {
  std::string execPath;  // the CLI's own binary
  std::string sdkPath;   // of the SDK that it contains
  std::string cliVersion;
  std::string copilotHome;
  std::string distDir;  // the folder that it has unpacked
};
inline constexpr size_t kMaxPathVariable = 32'768;
inline constexpr size_t kMaxRuntimeText = 4096;

// --- Session → gateway ---

// First frame of a link. Answered by Welcome and Tools, or by Refused.
struct Register {
  int64_t linkVersion = 0;
  std::string secret;  // from the descriptor file; empty within a process
  std::string version;
  std::string sessionId;
  std::string label;
  std::string cwd;
  int64_t cliPid = 0;  // shared by two sessions of the same CLI
  SyncMode mode = SyncMode::Live;
  bool joined = false;                   // false: it waits for its first tools before it joins
  std::vector<ProviderDigest> have;      // tools that the joined session already has
  std::vector<std::string> groups = {};  // the enabled groups of tools
  std::string path = {};                 // PATH of the CLI, or empty
  SessionRuntime runtime = {};
};
// A change of the session. Absent fields keep their value.
struct Update {
  std::optional<std::string> label;
  std::optional<std::string> cwd;
  std::optional<SyncMode> mode;
  std::optional<std::vector<std::string>> builtins;  // names of the CLI's own tools
  std::optional<std::string> agentMode = {};  // the CLI's: "interactive", "plan", "autopilot"
  std::string agentModeBy = {};               // the source of the mode: "user", "tap", "start"
};
struct ActivityChanged {
  Activity activity = Activity::Idle;
};
// A tool call of the model. Settled by exactly one CallResult, unless cancelled.
struct Call {
  std::string callId;  // the session's, unique on its link
  std::string tool;
  Slice args;  // JSON text of an object
  // The CLI's id of the call, as JSON text of a string, or empty.
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
// They are not in force. `refused`: tools that the CLI rejects, if it reports them.
struct SyncFailed {
  int64_t revision = 0;
  std::string message;
  std::vector<std::string> refused;
};
// The session has ended, not only its process.
struct EndSession {
  std::string reason;
};
struct Ping {};
// The session's user wants to see the pending pairing codes, in the timeline.
struct ShowPairings {};

// The user wants a provider in a session: the link's own, or the session that a control client
// specifies. A control client gets Used; a session shows the outcome in its timeline.
struct UseProvider {
  std::string provider;
  std::string sessionId;
};

// A slash command of tap from the user. Answered by CommandResult.
struct RunCommand {
  std::string commandId;  // the session's, unique on its link
  std::string name;       // without the slash
  std::string arguments;  // the rest of the line
};

// An event that a provider has subscribed to, in the form of docs/protocol.md, "session.event".
struct EventOccurred {
  std::string event;
  Slice data;  // JSON text of an object
};

// The agent is about to use a tool, and the session has hooks. Answered by HookVerdict.
struct HookCheck {
  std::string checkId;  // the session's, unique on its link
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
// The state of the hooks of that revision.
enum class HookOutcome : uint8_t { InForce, Denied, Unavailable };
struct HooksState {
  int64_t revision = 0;
  HookOutcome hooks = HookOutcome::InForce;     // InForce without hooks, too
  HookOutcome sections = HookOutcome::InForce;  // the changes of the system message
};

// The answer to SessionRequest.
struct SessionResult {
  std::string requestId;
  bool failed = false;
  Slice value;  // JSON text: the result, or of a failure an object with `code` and `message`
};

using SessionMessage =
    std::variant<Register, Update, ActivityChanged, Call, CancelCall, Synced, SyncFailed,
                 EndSession, Ping, ShowPairings, UseProvider, RunCommand, EventOccurred, HookCheck,
                 PromptSubmitted, SectionBuild, HooksState, SessionResult>;

// All messages that are allowed on a link. A control client may also send Call, CancelCall, Ping
// and UseProvider; a session may also send the control messages with a secret.
using LinkMessage = std::variant<SessionMessage, ControlMessage>;

// --- Gateway → session ---

struct Welcome {
  int64_t linkVersion = kLinkVersion;
  std::string version;
  int64_t pid = 0;
  int64_t port = 0;
  bool known = false;  // this gateway has met the session before, or the session had joined before
};
// The gateway refuses the link, and closes it.
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
  bool reload = false;             // reload now; otherwise swap the tools live
  std::vector<ProviderTools> set;  // sorted by provider
  std::vector<std::string> drop;   // providers whose tools are removed
};
// Binary data for the model: an image, or a file of a different type.
struct Binary {
  std::string mimeType;
  Slice base64;
};
struct CallResult {
  std::string callId;
  bool failed = false;
  Slice data;                            // JSON text of the result, or empty
  ErrorCode code = ErrorCode::Internal;  // of a failure
  std::string text;                      // of a failure: for the model
  Binary binary = {};                    // in addition to the data, or empty
};
// The provider is still working: the session's deadline for that call starts again.
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
  std::string display = {};  // the text that the user sees instead, or empty
  bool immediate = false;    // into the turn that runs
};
// The events that the session must report.
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
  // Tool uses that the session itself denies while it has no gateway.
  std::vector<ProviderGuards> guards;
  std::vector<SectionEdit> sections;  // sorted by name
  std::string needs = {};             // which providers need hooks, and why: for the user's consent
  bool operator==(const Hooks&) const = default;
};
// Without a denial and context, the tool may run.
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
  std::optional<std::string> content;  // empty: the section is unchanged
};
// The enabled groups of tools of the session from now on, for Register.
struct Groups {
  std::vector<std::string> names;  // sorted
};
struct Pong {};
// The gateway ends for a successor: connect again.
struct Draining {
  std::string reason;
};

// The answer to RunCommand.
struct CommandResult {
  std::string commandId;
  std::string text;  // for the timeline; control characters are already made visible
};

// A request of a feature to the session, as in the table of js/extension/session-requests.mjs.
// Answered by SessionResult.
struct SessionRequest {
  std::string requestId;  // the gateway's, unique on the link
  std::string request;
  std::string params;  // JSON text of an object
};

// All messages that the gateway sends over a link. Paired, Inspection, TraceFrame, CallsLogged,
// Used and HostResult are for control clients.
using SessionEvent =
    std::variant<Welcome, Refused, Tools, CallResult, CallProgress, Timeline, Inject, Subscribe,
                 Hooks, HookVerdict, PromptContext, SectionText, Pong, Draining, Paired, Inspection,
                 TraceFrame, CallsLogged, CommandResult, Used, HostResult, Groups, SessionRequest>;

}  // namespace tap::protocol
