// One input being handled: the gateway's state, the time, and the effects so far. Every room of the
// gateway works on it; nothing else is shared between them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "base/random.h"
#include "base/time.h"
#include "base/timer_queue.h"
#include "gateway/calls/call_log.h"
#include "gateway/calls/call_queue.h"
#include "gateway/calls/tool_router.h"
#include "gateway/calls/tool_stats.h"
#include "gateway/control/commands.h"
#include "gateway/control/control_clients.h"
#include "gateway/control/host_requests.h"
#include "gateway/control/session_requests.h"
#include "gateway/core/effects.h"
#include "gateway/hooks/hook_checks.h"
#include "gateway/hooks/recorded_answers.h"
#include "gateway/hooks/sections.h"
#include "gateway/records/recorder.h"
#include "gateway/records/refused_rows.h"
#include "gateway/registry/authenticator.h"
#include "gateway/registry/pattern_store.h"
#include "gateway/registry/providers.h"
#include "gateway/registry/retained_data_sums.h"
#include "gateway/registry/sessions.h"

namespace tap::gateway {

// The timers of the gateway.
struct UnauthenticatedDue {
  PeerId peer;
};
struct ThrottleDue {
  PeerId peer;
};
struct CallDue {
  CallId id;
};
struct ProgressDue {
  CallId id;
};
struct LinesDue {
  std::string sessionId;
  std::string party;
};
struct GateDue {
  std::string callId;
};
struct TransformDue {
  std::string callId;
};
struct HooksDue {
  std::string sessionId;
};
struct QueueDue {
  std::string key;  // CallQueue's
};
struct SlotDue {
  CallId callId;
};
struct SyncDue {
  std::string sessionId;
};
struct LingerDue {
  std::string sessionId;
};
struct ShutdownDue {
  std::string sessionId;
};
struct DepartureDue {
  std::string sessionId;
  Identity identity;
};
struct WatchDue {};
struct OtherSessionDue {
  std::string sessionId;
};
struct OfferDue {
  std::string sessionId;
  std::string provider;
};
struct CommitDue {
  std::string sessionId;
  uint64_t number;
};
struct AnswerDue {
  uint64_t answer;
};
struct ToolsDue {
  std::string sessionId;
  uint64_t waiter;
};
struct CommandDue {
  CommandNumber number;
};
struct RefusedDue {
  std::string provider;
};
struct SessionRequestDue {
  SessionRequestNumber number;
};
struct GraceDue {};
struct DrainDue {};
using Timer =
    std::variant<UnauthenticatedDue, ThrottleDue, CallDue, ProgressDue, LinesDue, QueueDue, SlotDue,
                 GateDue, TransformDue, HooksDue, SyncDue, LingerDue, ShutdownDue, DepartureDue,
                 WatchDue, OtherSessionDue, OfferDue, CommitDue, AnswerDue, ToolsDue, CommandDue,
                 RefusedDue, SessionRequestDue, GraceDue, DrainDue>;

struct Config {
  Limits limits;
  std::string version;     // of this program
  std::string node;        // version of the Node.js that it runs on; empty: none
  std::string token;       // the instance token (docs/decisions.md D-1)
  std::string linkSecret;  // a session's first frame must carry this; empty: not required
  int64_t pid = 0;
  int64_t port = 0;
  std::array<uint64_t, 4> seed{};  // for identifiers
  // Fills with secret random bytes, for tokens and codes.
  std::function<void(uint8_t*, size_t)> fillSecret;
  std::string persistRoot;  // folder of the providers' own folders; empty: they get none
  RecordMode records = RecordMode::Off;
  bool spans = false;     // recorded with the records
  std::string tokenFile;  // where the token is written, to name it in errors; empty: not known
};

struct State {
  explicit State(Config c)
      : config(std::move(c)),
        ids(config.seed),
        patterns(config.limits),
        authenticator(config.token, config.fillSecret) {
    recorder.set(config.records, config.spans);
  }

  Config config;
  RandomIds ids;
  RetainedDataSums retainedData;  // outlives all that has a share in it
  PatternStore patterns;
  Sessions sessions;
  Providers providers;
  ToolRouter calls;
  HookChecks checks;
  Sections sections;
  ToolStats stats;
  CallLog log;
  ControlClients controlClients;
  Recorder recorder;
  RefusedRows refused;
  uint64_t lastCommit = 0;
  RecordedAnswers answers;
  Commands commands;  // slash commands that the host runs
  uint64_t lastCommand = 0;
  uint64_t lastToolsWaiter = 0;
  HostRequests requests;            // that the host has not answered yet
  SessionRequests sessionRequests;  // that sessions have not answered yet
  int64_t startedUnixMillis = 0;
  CallQueue queue;                     // of calls that wait for a slot
  TextMap<std::string> disabledTools;  // to the id of the feature that the user has disabled
  TimerQueue<Timer> timers;
  Authenticator authenticator;
  // What providers were last told of the sessions, by id.
  std::vector<protocol::SessionSummary> announced;
  // Links that the gateway has closed, until their end is reported: nothing they still say counts.
  std::unordered_set<PeerId> closedLinks;
  // Links whose session is over, while their process has not left yet. It may register again.
  std::unordered_set<PeerId> endedLinks;
  TimerId watchTimer = TimerId::None;  // providers are looked at (provider_watch.h)
  TimerId graceTimer = TimerId::None;
  TimerId drainTimer = TimerId::None;
  bool draining = false;
};

struct Turn {
  State& state;
  Now now;
  Effects& effects;

  [[nodiscard]] const Limits& limits() const { return state.config.limits; }

  // Built in place: g++ 12 warns about a moved variant that it takes for uninitialised.
  template <class Kind>
  void effect(Kind&& kind) const {
    effects.emplace_back(std::in_place_type<std::remove_cvref_t<Kind>>, std::forward<Kind>(kind));
  }
  void log(protocol::LogLevel level, std::string text) const {
    if (level != protocol::LogLevel::Info && state.recorder.all()) {
      recordDiagnostic(*this, level, text);
    }
    effect(LogLine{level, std::move(text)});
  }
  // Shows a provider's traffic to the control clients that trace.
  void trace(PeerId peer, protocol::TraceKind kind, const Slice& text) const {
    if (!state.controlClients.tracers().empty()) traceProvider(*this, peer, kind, text);
  }
  // To a provider.
  void send(PeerId peer, Slice text) const {
    trace(peer, protocol::TraceKind::Sent, text);
    effect(SendText{peer, std::move(text)});
  }
  void closeProvider(PeerId peer, uint16_t code, std::string reason) const {
    trace(peer, protocol::TraceKind::Closed, Slice(std::string(reason)));
    effect(ClosePeer{peer, code, std::move(reason)});
  }

  // `limit` from now.
  TimerId schedule(Limit limit, Timer timer) const {
    return state.timers.schedule(now.steady + limits().time(limit), std::move(timer));
  }
  void cancel(TimerId& timer) const {
    if (timer != TimerId::None) state.timers.cancel(timer);
    timer = TimerId::None;
  }
};

}  // namespace tap::gateway
