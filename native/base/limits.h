// Every limit of the gateway: a row each, only here. `copilot-tap limits --why` prints the table.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/table.h"
#include "base/time.h"

namespace tap {

enum class Limit : uint8_t {
  ResultBytes,
  FileBytes,
  MessageBytes,
  AuthBytes,
  ToolsPerProvider,
  Connections,
  ConnectionsPerToken,
  Sessions,
  CallsPerSession,
  QueuedCalls,
  CommandsPerSession,
  HostRequestsPerLink,
  SessionRequestsPerSession,
  StreamsPerProvider,
  StreamEntries,
  StreamBytes,
  QueryEntries,
  FilterRules,
  RulesPerProvider,
  PatternsPerParty,
  PatternBytesPerParty,
  Patterns,
  PatternBytes,
  CompilesPerSecond,
  KeptBytesPerParty,
  KeptBytes,
  DepartedPerParty,
  CommandTextBytes,
  SessionAnswerBytes,
  HookTextBytes,
  ExternalTextBytes,
  NameBytes,
  DescriptionBytes,
  MetadataBytes,
  OutboundBytes,
  OutboundBytesInAll,
  LinkFrameBytes,
  UnreadLinkBytes,
  MessageBurst,
  MessagesPerSecond,
  PushesPerSecond,
  LinesPerSecond,
  ProgressMs,
  HeldInjects,
  InjectCycles,
  SessionInjectCycles,
  WatchHoldMs,
  WakeGapMs,
  WakeGapMaxMs,
  WakesPerHour,
  SessionWakesPerHour,
  HellosPerMinute,
  PairingsPerMinute,
  ThrottleMs,
  StrangerMs,
  HandshakeMs,
  AuthMs,
  PairingMs,
  CallTimeoutMs,
  CallTimeoutMaxMs,
  CommandMs,
  SessionRequestMs,
  ToolsInForceMs,
  GateMs,
  TransformMs,
  CommitMs,
  GuardMs,
  CancelledSlotMs,
  ShutdownMs,
  LingerMs,
  ReconnectMs,
  RemovalHoldMs,
  GraceMs,
  DrainMs,
  DebounceMs,
  DebounceMaxMs,
  LiveDebounceMs,
  LiveGatherMs,
  ReloadWaitMs,
  ReloadFloorMs,
  ReloadFloorMaxMs,
  PingMs,
  LinkDeadMs,
  LinkBusyMs,
  ProviderPingMs,
  ProviderSilentMs,
  Count_,
};

struct LimitRow {
  Limit id;
  std::string_view name;  // as in `copilot-tap limits`
  int64_t value;          // the default
  int64_t least;          // the smallest valid override
  std::string_view unit;  // "bytes", "ms", "count"
  std::string_view env;   // the variable that overrides it
  std::string_view why;
};

inline constexpr int64_t kMegabyte = int64_t{1024} * 1024;

// The largest valid override. Bytes: the longest string of JavaScript, as base64, too. Times:
// JavaScript's timers wait at most 2^31 - 1 ms, including a margin; a longer timer fires
// immediately. Counts: a rate times any uptime does not overflow.
[[nodiscard]] constexpr int64_t maxOverride(const LimitRow& row) {
  if (row.unit == "bytes") return 256 * kMegabyte;
  return row.unit == "ms" ? 2'000'000'000 : 1'000'000;
}

inline constexpr std::array<LimitRow, static_cast<size_t>(Limit::Count_)> kLimitTable{{
    {Limit::ResultBytes, "result-bytes", 5 * kMegabyte, 1024, "bytes", "TAP_MAX_RESULT_BYTES",
     "a tool.result message; larger output does not help a model"},
    {Limit::FileBytes, "file-bytes", 50 * kMegabyte, 1, "bytes", "TAP_MAX_FILE_BYTES",
     "a file that a tool.result points at"},
    {Limit::MessageBytes, "message-bytes", 2 * kMegabyte, 1024, "bytes", "TAP_MAX_MESSAGE_BYTES",
     "any other message of a provider"},
    {Limit::AuthBytes, "auth-bytes", 65536, 1024, "bytes", "TAP_MAX_AUTH_BYTES",
     "a connection's first message: the most that a stranger makes the gateway hold until it is "
     "complete"},
    {Limit::ToolsPerProvider, "tools-per-provider", 100, 1, "count", "TAP_MAX_TOOLS",
     "each tool costs room in every prompt"},
    {Limit::Connections, "connections", 50, 1, "count", "TAP_MAX_CONNECTIONS",
     "open WebSocket connections; a new connection replaces an unauthenticated one"},
    {Limit::ConnectionsPerToken, "connections-per-token", 4, 1, "count",
     "TAP_MAX_CONNECTIONS_PER_TOKEN", "open connections with a paired token"},
    {Limit::Sessions, "sessions", 64, 1, "count", "TAP_MAX_SESSIONS",
     "CLI sessions that share a gateway"},
    {Limit::CallsPerSession, "calls-per-session", 1024, 1, "count", "TAP_MAX_CALLS",
     "tool calls in flight for a session"},
    {Limit::QueuedCalls, "queued-calls", 10, 0, "count", "TAP_MAX_QUEUED_CALLS",
     "calls in line for a provider that limits how many run at once"},
    {Limit::CommandsPerSession, "commands-per-session", 4, 1, "count", "TAP_MAX_COMMANDS",
     "slash commands of a session that run at once"},
    {Limit::HostRequestsPerLink, "host-requests-per-link", 64, 1, "count", "TAP_MAX_HOST_REQUESTS",
     "requests of a control client that wait for their answer"},
    {Limit::SessionRequestsPerSession, "session-requests-per-session", 8, 1, "count",
     "TAP_MAX_SESSION_REQUESTS", "requests of features that a session has not answered"},
    {Limit::StreamsPerProvider, "streams-per-provider", 20, 1, "count", "TAP_MAX_STREAMS",
     "event streams of a provider"},
    {Limit::StreamEntries, "stream-entries", 200, 1, "count", "TAP_STREAM_ENTRIES",
     "events kept in a stream; the oldest are deleted first"},
    {Limit::StreamBytes, "stream-bytes", 4 * kMegabyte, 1024, "bytes", "TAP_STREAM_BYTES",
     "memory of a stream; the oldest events are deleted first"},
    {Limit::QueryEntries, "query-entries", 100, 1, "count", "TAP_QUERY_ENTRIES",
     "events that a stream.query gets from each stream"},
    {Limit::FilterRules, "filter-rules", 50, 1, "count", "TAP_MAX_FILTER_RULES",
     "rules of a stream's filter"},
    {Limit::RulesPerProvider, "rules-per-provider", 50, 1, "count", "TAP_MAX_RULES",
     "onPreToolUse rules of a provider; all are checked before each tool call"},
    {Limit::PatternsPerParty, "patterns-per-party", 200, 1, "count", "TAP_MAX_PATTERNS",
     "different patterns in the filters and rules of a party (docs/limits.md, Parties)"},
    {Limit::PatternBytesPerParty, "pattern-bytes-per-party", 4 * kMegabyte, 1024, "bytes",
     "TAP_MAX_PATTERN_BYTES", "memory of these, once they are compiled"},
    {Limit::Patterns, "patterns", 2000, 1, "count", "TAP_MAX_PATTERNS_IN_ALL",
     "different patterns that the gateway holds; a text that several use counts once"},
    {Limit::PatternBytes, "pattern-bytes", 32 * kMegabyte, 1024, "bytes",
     "TAP_MAX_PATTERN_BYTES_IN_ALL", "memory of these, once they are compiled"},
    {Limit::CompilesPerSecond, "compiles-per-second", 100, 1, "count", "TAP_COMPILES_PER_SECOND",
     "patterns that are compiled for a party, after a burst; 5 times that for all parties"},
    {Limit::KeptBytesPerParty, "kept-bytes-per-party", 32 * kMegabyte, 65536, "bytes",
     "TAP_MAX_KEPT_BYTES_PER_PARTY",
     "events, waiting injects and declarations of a party; its oldest events are deleted first"},
    {Limit::KeptBytes, "kept-bytes", 128 * kMegabyte, 65536, "bytes", "TAP_MAX_KEPT_BYTES",
     "the same of all parties; a party that needs room loses its own oldest events"},
    {Limit::DepartedPerParty, "departed-per-party", 16, 1, "count", "TAP_MAX_DEPARTED",
     "names of a party that a session remembers for reconnect-ms; the oldest are forgotten"},
    {Limit::CommandTextBytes, "command-text-bytes", 65536, 16, "bytes",
     "TAP_MAX_COMMAND_TEXT_BYTES",
     "output of a slash command in the timeline; the rest is cut off"},
    {Limit::SessionAnswerBytes, "session-answer-bytes", 262'144, 1024, "bytes",
     "TAP_MAX_SESSION_ANSWER_BYTES", "the answer of a session to a request of a feature"},
    {Limit::HookTextBytes, "hook-text-bytes", 65536, 16, "bytes", "TAP_MAX_HOOK_TEXT_BYTES",
     "a context, reason or content of a rule, a transform or a provider"},
    {Limit::ExternalTextBytes, "external-text-bytes", 131'072, 1024, "bytes",
     "TAP_MAX_EXTERNAL_TEXT_BYTES",
     "tools, section texts and metadata of a paired program in a session together"},
    {Limit::NameBytes, "name-bytes", 128, 1, "bytes", "TAP_MAX_NAME_BYTES",
     "a provider's or stream's name"},
    {Limit::DescriptionBytes, "description-bytes", 4096, 16, "bytes", "TAP_MAX_DESCRIPTION_BYTES",
     "a tool's description; the rest is cut off"},
    {Limit::MetadataBytes, "metadata-bytes", 16'384, 16, "bytes", "TAP_MAX_METADATA_BYTES",
     "hello.metadata; the model reads that of all instances at once"},
    {Limit::OutboundBytes, "outbound-bytes", 16 * kMegabyte, 65536, "bytes",
     "TAP_MAX_OUTBOUND_BYTES", "unread output for a provider; more closes its connection"},
    {Limit::OutboundBytesInAll, "outbound-bytes-in-all", 128 * kMegabyte, 65536, "bytes",
     "TAP_MAX_OUTBOUND_BYTES_IN_ALL",
     "the same of all providers; more closes the connection with the most"},
    {Limit::LinkFrameBytes, "link-frame-bytes", 80 * kMegabyte, 65536, "bytes",
     "TAP_MAX_LINK_FRAME_BYTES",
     "a frame between gateway and session; the largest file fits in base64 (67 MB)"},
    {Limit::UnreadLinkBytes, "unread-link-bytes", 192 * kMegabyte, 65536, "bytes",
     "TAP_MAX_UNREAD_LINK_BYTES",
     "unread output for all sessions and control clients; more closes the link with the most"},
    {Limit::MessageBurst, "message-burst", 200, 1, "count", "TAP_MESSAGE_BURST",
     "messages a provider may send at once, answers to calls not counted"},
    {Limit::MessagesPerSecond, "messages-per-second", 100, 1, "count", "TAP_MESSAGES_PER_SECOND",
     "the rate beyond the burst; faster senders are read more slowly"},
    {Limit::PushesPerSecond, "pushes-per-second", 10, 1, "count", "TAP_PUSHES_PER_SECOND",
     "pushes of a party to a session"},
    {Limit::LinesPerSecond, "lines-per-second", 10, 1, "count", "TAP_LINES_PER_SECOND",
     "lines that a party writes into a session's timeline; a last line counts those that are left "
     "out"},
    {Limit::ProgressMs, "progress-ms", 1'000, 0, "ms", "TAP_PROGRESS_MS",
     "between two lines of a call's tool.progress; the newest text is shown"},
    {Limit::HeldInjects, "held-injects", 10, 0, "count", "TAP_HELD_INJECTS",
     "injects that wait for the session to be idle"},
    {Limit::InjectCycles, "inject-cycles", 3, 1, "count", "TAP_INJECT_CYCLES",
     "injects answered in a row before a party must wait for the user"},
    {Limit::SessionInjectCycles, "session-inject-cycles", 12, 1, "count",
     "TAP_SESSION_INJECT_CYCLES",
     "turns that injects of all providers start in a session before they wait for the user"},
    {Limit::WatchHoldMs, "watch-hold-ms", 2'000, 0, "ms", "TAP_WATCH_HOLD_MS",
     "how long a change of the user's waits for a further change before a watcher starts a turn"},
    {Limit::WakeGapMs, "wake-gap-ms", 30'000, 0, "ms", "TAP_WAKE_GAP_MS",
     "least time between two turns of a watcher for changes of the user's; it doubles"},
    {Limit::WakeGapMaxMs, "wake-gap-max-ms", 600'000, 0, "ms", "TAP_WAKE_GAP_MAX_MS",
     "the most that this gap doubles up to while such turns follow each other closely"},
    {Limit::WakesPerHour, "wakes-per-hour", 12, 0, "count", "TAP_WAKES_PER_HOUR",
     "turns of a watcher in an hour for changes of the user's"},
    {Limit::SessionWakesPerHour, "session-wakes-per-hour", 30, 0, "count",
     "TAP_SESSION_WAKES_PER_HOUR", "the same of all watchers of a session"},
    {Limit::HellosPerMinute, "hellos-per-minute", 10, 1, "count", "TAP_HELLOS_PER_MINUTE",
     "rebinds of a connection"},
    {Limit::PairingsPerMinute, "pairings-per-minute", 5, 1, "count", "TAP_PAIRINGS_PER_MINUTE",
     "pairing codes for all connections together"},
    {Limit::ThrottleMs, "throttle-ms", 30'000, 100, "ms", "TAP_THROTTLE_MS",
     "how long a flood is slowed before its connection is closed"},
    {Limit::StrangerMs, "stranger-ms", 20, 0, "ms", "TAP_STRANGER_MS",
     "how long a connection has to authenticate before a new one may replace it"},
    {Limit::HandshakeMs, "handshake-ms", 5'000, 10, "ms", "TAP_HANDSHAKE_MS",
     "to complete the WebSocket handshake"},
    {Limit::AuthMs, "auth-ms", 10'000, 10, "ms", "TAP_AUTH_MS",
     "from the handshake to a valid auth"},
    {Limit::PairingMs, "pairing-ms", 120'000, 10, "ms", "TAP_PAIRING_MS",
     "how long a pairing code is valid"},
    {Limit::CallTimeoutMs, "call-timeout-ms", 300'000, 10, "ms", "TAP_CALL_TIMEOUT_MS",
     "a tool call, where the tool names no timeout of its own"},
    {Limit::CallTimeoutMaxMs, "call-timeout-max-ms", 3'600'000, 10, "ms", "TAP_CALL_TIMEOUT_MAX_MS",
     "the longest that a call may take in all, and the longest timeout that a tool may name"},
    {Limit::CommandMs, "command-ms", 30'000, 10, "ms", "TAP_COMMAND_MS", "a slash command"},
    {Limit::SessionRequestMs, "session-request-ms", 90'000, 10, "ms", "TAP_SESSION_REQUEST_MS",
     "a request of a feature to a session, the time of its user included"},
    {Limit::ToolsInForceMs, "tools-in-force-ms", 2'000, 10, "ms", "TAP_TOOLS_IN_FORCE_MS",
     "how long tap_tools and a tools.update with inForce wait for the session to have the tools"},
    {Limit::GateMs, "gate-ms", 5'000, 10, "ms", "TAP_GATE_MS",
     "for a gate.result; then the action is denied, unless the rule says failOpen"},
    {Limit::TransformMs, "transform-ms", 2'000, 10, "ms", "TAP_TRANSFORM_MS",
     "for a transform.result; then the section stays as it is"},
    {Limit::CommitMs, "commit-ms", 2'000, 10, "ms", "TAP_COMMIT_MS",
     "for a text of a feature to be recorded; then it is not put before the model"},
    {Limit::GuardMs, "guard-ms", 10'000, 0, "ms", "TAP_GUARD_MS",
     "how long a session without its gateway denies tools that its rules covered"},
    {Limit::CancelledSlotMs, "cancelled-slot-ms", 5'000, 10, "ms", "TAP_CANCELLED_SLOT_MS",
     "how long a call that was cancelled keeps its place while its provider does not answer"},
    {Limit::ShutdownMs, "shutdown-ms", 10'000, 10, "ms", "TAP_SHUTDOWN_MS",
     "for providers to clean up after shutdown.pending"},
    {Limit::LingerMs, "linger-ms", 10'000, 10, "ms", "TAP_LINGER_MS",
     "how long a session outlives its extension process, for a reload to come back"},
    {Limit::ReconnectMs, "reconnect-ms", 30'000, 10, "ms", "TAP_RECONNECT_TTL_MS",
     "a provider that reconnects within it continues, without announcement"},
    {Limit::RemovalHoldMs, "removal-hold-ms", 6'000, 0, "ms", "TAP_REMOVAL_HOLD_MS",
     "after a restart of the gateway or the feature host: tools stay while providers come back"},
    {Limit::GraceMs, "grace-ms", 30'000, 10, "ms", "TAP_GRACE_MS",
     "how long a gateway without sessions waits for a session"},
    {Limit::DrainMs, "drain-ms", 4'000, 10, "ms", "TAP_DRAIN_MS",
     "for calls in flight to finish when a newer gateway takes over"},
    {Limit::DebounceMs, "debounce-ms", 200, 0, "ms", "TAP_RELOAD_DEBOUNCE_MS",
     "quiet time after the last tool change before a reload, or before tools only leave"},
    {Limit::DebounceMaxMs, "debounce-max-ms", 1'000, 0, "ms", "TAP_RELOAD_DEBOUNCE_MAX_MS",
     "the longest that a first change waits for such a quiet time"},
    {Limit::LiveDebounceMs, "live-debounce-ms", 20, 0, "ms", "TAP_LIVE_DEBOUNCE_MS",
     "from a first tool change to the live synchronisation that carries it"},
    {Limit::LiveGatherMs, "live-gather-ms", 250, 0, "ms", "TAP_LIVE_GATHER_MS",
     "least time between two live synchronisations; changes meanwhile leave together"},
    {Limit::ReloadWaitMs, "reload-wait-ms", 4'000, 0, "ms", "TAP_RELOAD_WAIT_MS",
     "how long a reload waits for an idle session before it is forced"},
    {Limit::ReloadFloorMs, "reload-floor-ms", 1'000, 0, "ms", "TAP_RELOAD_FLOOR_MS",
     "least time between two reloads"},
    {Limit::ReloadFloorMaxMs, "reload-floor-max-ms", 60'000, 0, "ms", "TAP_RELOAD_FLOOR_MAX_MS",
     "the maximum to which that time doubles while a provider flaps"},
    {Limit::PingMs, "ping-ms", 2'000, 10, "ms", "TAP_PING_MS",
     "between two pings on a session's link"},
    {Limit::LinkDeadMs, "link-dead-ms", 6'000, 20, "ms", "TAP_LINK_DEAD_MS",
     "silence after which a gateway counts as hung"},
    {Limit::LinkBusyMs, "link-busy-ms", 30'000, 20, "ms", "TAP_LINK_BUSY_MS",
     "the most for a gateway at work (its process uses processor time), or after one that was "
     "killed"},
    {Limit::ProviderPingMs, "provider-ping-ms", 5'000, 10, "ms", "TAP_PROVIDER_PING_MS",
     "a provider is pinged that keeps a call waiting for so long"},
    {Limit::ProviderSilentMs, "provider-silent-ms", 10'000, 10, "ms", "TAP_PROVIDER_SILENT_MS",
     "a session shows a provider that keeps its call waiting so long and answers no ping"},
}};
static_assert(idsAreIndices(kLimitTable));

// The value of a limit, read from its variable.
struct LimitReading {
  int64_t value;      // in force: the default if the variable is wrong, empty or absent
  std::string wrong;  // the problem, as a sentence without its full stop, or empty
};
// Reads these variables: a value is decimal digits, from the row's least to maxOverride.
[[nodiscard]] LimitReading readLimit(const LimitRow& row, std::optional<std::string_view> text);

// The values in force: the table with the overrides of the environment.
class Limits {
 public:
  Limits();

  // Reads the variable of every row (readLimit). `complaints` gets a sentence for each ignored
  // variable.
  using Lookup = std::function<std::optional<std::string>(std::string_view variable)>;
  static Limits withOverrides(const Lookup& lookup, std::vector<std::string>& complaints);

  [[nodiscard]] int64_t get(Limit limit) const { return values_[static_cast<size_t>(limit)]; }
  [[nodiscard]] size_t bytes(Limit limit) const { return static_cast<size_t>(get(limit)); }
  [[nodiscard]] size_t count(Limit limit) const { return static_cast<size_t>(get(limit)); }
  [[nodiscard]] Millis time(Limit limit) const { return Millis(get(limit)); }
  void set(Limit limit, int64_t value) { values_[static_cast<size_t>(limit)] = value; }

 private:
  std::array<int64_t, kLimitTable.size()> values_{};
};

}  // namespace tap
