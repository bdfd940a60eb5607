// The session's end of a link: pending calls, their deadlines, and whether the gateway is alive.
// Like the gateway it does no I/O and reads no clock; its owner transports the messages (over a
// pipe, or within a process).
//
// Every call settles exactly once: by the gateway's CallResult, by its own deadline (a gateway that
// hangs must not hang the model), by cancel, or when the link is lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "base/time.h"
#include "base/timer_queue.h"
#include "protocol/link/session_messages.h"

namespace tap::link {

// The actions that the owner must carry out, in order.
struct SendMessage {
  protocol::SessionMessage message;
};
// A call has its outcome. Slices may borrow from the event being handled.
struct SettleCall {
  protocol::CallResult result;
};
// For the owner to handle: every event but CallResult and Pong.
struct Deliver {
  protocol::SessionEvent event;
};
// A ping has not been answered. The owner finds out whether the gateway's process is working, and
// answers with quiet().
struct GatewayQuiet {
  Millis silence;
};
// The gateway has been silent for too long: drop the link. Its process may hang. Always the last
// action: lost() settles the pending calls.
struct GatewaySilent {};
using Action = std::variant<SendMessage, SettleCall, Deliver, GatewayQuiet, GatewaySilent>;
using Actions = std::vector<Action>;

class SessionClient {
 public:
  // `watch`: whether to ping; not needed within a process.
  SessionClient(const Limits& limits, bool watch) : limits_(limits), watch_(watch) {}
  SessionClient(const SessionClient&) = delete;
  SessionClient& operator=(const SessionClient&) = delete;

  // The link is up; pings start.
  void opened(Time now);
  // Adds a pending call with the tool's timeout (none: the default); its owner sends it. Returns
  // false, without effect, if a call with this callId is pending.
  [[nodiscard]] bool call(const std::string& callId, std::optional<Millis> timeout, Time now);
  // Settles a pending call as cancelled; its owner sends the cancel to the gateway. Returns false
  // if no such call is pending.
  [[nodiscard]] bool cancel(const std::string& callId, const std::string& reason, Actions& actions);
  void received(protocol::SessionEvent&& event, Time now, Actions& actions);
  // The answer to GatewayQuiet: until then, no ping is due. A gateway that is working has more time
  // than a stopped one.
  void quiet(Millis silence, bool atWork, Time now, Actions& actions);
  // The link is lost: all calls settle with DISCONNECTED and `why`.
  void lost(const std::string& why, Actions& actions);

  [[nodiscard]] std::optional<Time> nextDeadline() const { return timers_.next(); }
  void timersDue(Time now, Actions& actions);

  [[nodiscard]] size_t callsInFlight() const { return calls_.size(); }

 private:
  struct PingDue {};
  struct CallDue {
    const std::string* callId;  // its key in calls_: erase the call and its timer together
  };
  using Timer = std::variant<PingDue, CallDue>;

  void settle(const std::string& callId, protocol::ErrorCode code, std::string text,
              Actions& actions);
  // Returns false if the owner must first check the gateway.
  [[nodiscard]] bool pingDue(Time now, Actions& actions);
  void ping(Time now, Actions& actions);

  const Limits& limits_;
  bool watch_;
  Time lastReceived_{};
  Time lastPing_{};
  TimerId pingTimer_ = TimerId::None;
  TimerQueue<Timer> timers_;
  struct Waiting {
    TimerId deadline;
    Millis patience;
  };
  std::unordered_map<std::string, Waiting> calls_;
};

}  // namespace tap::link
