#include "link/session_client.h"

#include <algorithm>
#include <utility>

namespace tap::link {

using protocol::CallResult;
using protocol::ErrorCode;

namespace {
// The gateway's deadline is earlier; this deadline is for a gateway that hangs.
constexpr Millis kCallMargin{5'000};
}  // namespace

void SessionClient::opened(Time now) {
  lastReceived_ = now;
  lastPing_ = now;
  if (watch_) pingTimer_ = timers_.schedule(now + limits_.time(Limit::PingMs), PingDue{});
}

bool SessionClient::call(const std::string& callId, std::optional<Millis> timeout, Time now) {
  const Millis patience = timeout.value_or(limits_.time(Limit::CallTimeoutMs)) + kCallMargin;
  const auto [at, isNew] = calls_.try_emplace(callId, Waiting{TimerId::None, patience});
  if (!isNew) return false;
  at->second.deadline = timers_.schedule(now + patience, CallDue{&at->first});
  return true;
}

void SessionClient::settle(const std::string& callId, ErrorCode code, std::string text,
                           Actions& actions) {
  const auto at = calls_.find(callId);
  if (at == calls_.end()) return;
  timers_.cancel(at->second.deadline);
  calls_.erase(at);
  actions.emplace_back(SettleCall{CallResult{callId, true, {}, code, std::move(text)}});
}

bool SessionClient::cancel(const std::string& callId, const std::string& reason, Actions& actions) {
  if (!calls_.contains(callId)) return false;
  settle(callId, ErrorCode::Cancelled, "The call was cancelled (CANCELLED): " + reason, actions);
  return true;
}

void SessionClient::received(protocol::SessionEvent&& event, Time now, Actions& actions) {
  lastReceived_ = now;
  if (auto* result = std::get_if<CallResult>(&event)) {
    const auto at = calls_.find(result->callId);
    if (at == calls_.end()) return;  // settled before: the first outcome wins
    timers_.cancel(at->second.deadline);
    calls_.erase(at);
    actions.emplace_back(SettleCall{std::move(*result)});
  } else if (const auto* progress = std::get_if<protocol::CallProgress>(&event)) {
    const auto at = calls_.find(progress->callId);
    if (at == calls_.end()) return;
    timers_.cancel(at->second.deadline);
    at->second.deadline = timers_.schedule(now + at->second.patience, CallDue{&at->first});
  } else if (!std::holds_alternative<protocol::Pong>(event)) {
    actions.emplace_back(Deliver{std::move(event)});
  }
}

void SessionClient::lost(const std::string& why, Actions& actions) {
  timers_.cancel(std::exchange(pingTimer_, TimerId::None));
  while (!calls_.empty()) {
    settle(std::string(calls_.begin()->first), ErrorCode::Disconnected,
           "The call failed with DISCONNECTED: " + why + " " +
               std::string(protocol::row(ErrorCode::Disconnected).advice),
           actions);
  }
}

bool SessionClient::pingDue(Time now, Actions& actions) {
  pingTimer_ = TimerId::None;
  const Millis between = limits_.time(Limit::PingMs);
  // This process itself was stopped or asleep, so the silence does not show that the gateway is
  // gone.
  if (now - std::exchange(lastPing_, now) > 2 * between) lastReceived_ = now;
  const Millis silence = now - lastReceived_;
  // The last pong came about an interval ago: half an interval more is not jitter.
  if (silence >= std::min(between + between / 2, limits_.time(Limit::LinkDeadMs))) {
    actions.emplace_back(GatewayQuiet{silence});
    return false;
  }
  ping(now, actions);
  return true;
}

void SessionClient::ping(Time now, Actions& actions) {
  actions.emplace_back(SendMessage{protocol::Ping{}});
  pingTimer_ = timers_.schedule(now + limits_.time(Limit::PingMs), PingDue{});
}

void SessionClient::quiet(Millis silence, bool atWork, Time now, Actions& actions) {
  const Millis dead = limits_.time(Limit::LinkDeadMs);
  if (silence >= (atWork ? std::max(dead, limits_.time(Limit::LinkBusyMs)) : dead)) {
    actions.emplace_back(GatewaySilent{});
  } else {
    ping(now, actions);
  }
}

void SessionClient::timersDue(Time now, Actions& actions) {
  while (std::optional<Timer> due = timers_.popDue(now)) {
    if (std::holds_alternative<PingDue>(*due)) {
      if (!pingDue(now, actions)) return;
      continue;
    }
    const std::string callId = *std::get<CallDue>(*due).callId;
    actions.emplace_back(SendMessage{protocol::CancelCall{callId, "timeout"}});
    settle(callId, ErrorCode::Timeout,
           "The call failed with TIMEOUT: the tap gateway did not answer in time. Try again; if it "
           "happens again, see the gateway's log.",
           actions);
  }
}

}  // namespace tap::link
