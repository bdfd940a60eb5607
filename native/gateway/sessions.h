// The session registry: every CLI session that shares this gateway, and which process speaks for
// it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/timer_queue.h"
#include "gateway/effects.h"
#include "gateway/event_streams.h"
#include "gateway/tool_sync.h"
#include "protocol/provider_codec.h"
#include "protocol/session_messages.h"

namespace tap::gateway {

// A provider's name in one session, beyond the life of a connection.
struct KnownProvider {
  bool announced = false;             // the timeline has said that it is here
  std::string providerId;             // stays the same when it comes back in time
  TimerId departure = TimerId::None;  // gone without goodbye: forgotten when this is due
  EventStreams streams;
};

struct Session {
  Session(std::string sessionId, const Limits& limits) : id(std::move(sessionId)), sync(limits) {}

  std::string id;
  std::string label;
  std::string cwd;
  int64_t cliPid = 0;
  std::optional<PeerId> peer;  // its extension process; none while it lingers
  bool ending = false;         // providers have been told; gone after the deadline
  protocol::Activity activity = protocol::Activity::Idle;
  uint64_t lastActive = 0;  // larger is later
  ToolSync sync;
  std::set<std::string, std::less<>> builtins;
  std::map<std::string, KnownProvider, std::less<>> known;
  std::deque<protocol::SessionEvent> outbox;  // waits for a process while it lingers
  bool warnedManyTools = false;
  TimerId lingerTimer = TimerId::None;
  TimerId shutdownTimer = TimerId::None;
  TimerId syncTimer = TimerId::None;
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

  // Sessions that providers may bind to: most recently active first, lingering ones last.
  [[nodiscard]] std::vector<const Session*> active() const;
  [[nodiscard]] std::vector<protocol::SessionSummary> summaries() const;
  // No session is left that could still be used.
  [[nodiscard]] bool allEnded() const;

  [[nodiscard]] std::map<std::string, Session, std::less<>>& all() { return sessions_; }

 private:
  std::map<std::string, Session, std::less<>> sessions_;
  std::unordered_map<PeerId, std::string> byPeer_;
  uint64_t clock_ = 0;
};

}  // namespace tap::gateway
