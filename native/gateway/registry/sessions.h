// The session registry: every CLI session that shares this gateway, and which process speaks for
// it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/text_map.h"
#include "base/timer_queue.h"
#include "gateway/core/effects.h"
#include "gateway/hooks/hooks.h"
#include "gateway/records/sync_notes.h"
#include "gateway/registry/lines.h"
#include "gateway/registry/providers.h"
#include "gateway/streams/event_streams.h"
#include "gateway/streams/held_injects.h"
#include "gateway/streams/push_budget.h"
#include "gateway/sync/tool_sync.h"
#include "gateway/sync/tools_in_force.h"
#include "protocol/link/session_messages.h"
#include "protocol/provider/provider_codec.h"

namespace tap::gateway {

// One identity (name and instance) in one session, beyond the life of a connection: for the
// reconnect window it keeps its id, and its token can bring its binding back.
struct KnownProvider {
  std::string providerId;
  std::string reconnectToken;
  Credentials credentials;  // the token is valid only with the same credentials
  std::string party;        // gateway/registry/party.h; empty: not met yet
  std::optional<std::string> origin;
  int64_t revision = 0;               // of its binding: does not fall when it comes back
  std::unique_ptr<Binding> saved;     // what it had when its connection was lost
  std::unique_ptr<Binding> declared;  // for all sessions, where it was bound to "all"
  bool startupGiven = false;          // the session has had its startup_context
  TimerId departure = TimerId::None;  // forgotten when this is due
  Time departedAt{};
  RetainedDataShare retainedShare;  // its rules that are held included
};
using Identity = std::pair<std::string, std::string>;  // name, instance

// The deny rules and closed gates of a provider whose connection was lost. They hold until it is
// back or is forgotten.
struct DetachedRules {
  uint64_t order = 0;  // of its binding
  std::vector<protocol::HookRule> rules;
  bool trusted = false;  // its provider was
};

struct Session {
  Session(std::string sessionId, const Limits& limits) : id(std::move(sessionId)), sync(limits) {}

  std::string id;
  std::string label;
  std::string cwd;
  int64_t cliPid = 0;
  std::string path;  // as Register has it, as the next
  protocol::SessionRuntime runtime;
  std::optional<PeerId> peer;  // its extension process; none while it lingers
  bool welcomed = false;       // it has had its first welcome
  bool ending = false;         // providers have been told; gone after the deadline
  protocol::Activity activity = protocol::Activity::Idle;
  std::string agentMode;         // the CLI's, as its process has last said; empty: not known
  std::string agentModeBy;       // who has chosen it
  uint64_t lastActive = 0;       // larger is later
  protocol::TraceContext trace;  // its root span; what names no other span is below it
  int64_t openedUnixMillis = 0;
  uint64_t turnSpan = 0;  // of the model's turn, below `trace`; 0: it is in none
  Time turnSince{};
  ToolSync sync;
  SyncNotes syncNotes;
  std::set<std::string, LessIgnoringCase> builtins;  // the CLI's own tools
  std::map<Identity, KnownProvider> known;
  std::map<Identity, DetachedRules> detachedRules;
  // Digests of texts of paired providers that the timeline has shown, by name and section.
  std::map<std::pair<std::string, std::string>, std::array<uint8_t, 20>> announcedTexts;
  // Names that the timeline has shown as being here, and whether it has shown their hooks.
  std::map<std::string, bool, std::less<>> announced;
  std::set<std::string, std::less<>> boundToOtherSession;  // names of which it has said that
  std::map<std::string, TimerId, std::less<>>
      offers;       // names that were asked to serve it: OfferDue
  Time newsFrom{};  // do not announce earlier events: another gateway has done so
  std::map<std::string, EventStreams, std::less<>> streams;  // by provider name
  std::map<std::string, LineBudget, std::less<>> lines;      // by party
  std::deque<protocol::SessionEvent> outbox;                 // waits for a process while it lingers
  uint8_t subscribed = 0;                                    // events that its process reports
  PushBudgets budgets;
  HeldInjects heldInjects;
  SessionHooks hooks;
  std::vector<ToolsWaiter> toolsWaiters;  // for its tools to be in force
  bool warnedManyTools = false;
  std::string syncFailure;  // why its tools could not be changed; empty: they could
  TimerId lingerTimer = TimerId::None;
  TimerId shutdownTimer = TimerId::None;
  TimerId syncTimer = TimerId::None;
  TimerId hooksTimer = TimerId::None;
  TimerId otherSessionTimer = TimerId::None;
};

class Sessions {
 public:
  [[nodiscard]] Session* find(std::string_view id);
  [[nodiscard]] Session* byPeer(PeerId peer);
  // The session, new or known; null if there are too many.
  [[nodiscard]] Session* obtain(const std::string& id, const Limits& limits);
  void attach(Session& session, PeerId peer);
  void detach(Session& session);
  void erase(const std::string& id);

  // Marks it as the one that was last in use.
  void touch(Session& session) { session.lastActive = ++clock_; }
  // Marks it as the one that the user last spoke to.
  void bringToForeground(const Session& session) { foreground_ = session.id; }

  // Sessions that providers may bind to: most recently active first, lingering ones last.
  [[nodiscard]] std::vector<const Session*> active() const;
  // What a provider with these credentials sees of them.
  [[nodiscard]] std::vector<protocol::SessionSummary> summaries(const Credentials& for_) const;
  // No session is left that could still be used.
  [[nodiscard]] bool allEnded() const;

  [[nodiscard]] std::map<std::string, Session, std::less<>>& all() { return sessions_; }

 private:
  std::map<std::string, Session, std::less<>> sessions_;
  std::unordered_map<PeerId, Session*> byPeer_;
  std::string foreground_;
  uint64_t clock_ = 0;
};

// Every call asks for these.
inline Session* Sessions::find(std::string_view id) {
  const auto at = sessions_.find(id);
  return at == sessions_.end() ? nullptr : &at->second;
}

inline Session* Sessions::byPeer(PeerId peer) {
  const auto at = byPeer_.find(peer);
  return at == byPeer_.end() ? nullptr : at->second;
}

}  // namespace tap::gateway
