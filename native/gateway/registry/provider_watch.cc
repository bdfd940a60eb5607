#include "gateway/registry/provider_watch.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>

#include "base/encoding.h"
#include "base/names.h"
#include "gateway/registry/session_output.h"

namespace tap::gateway {

namespace {

// Between two looks, while something waits: a second is exact enough for people. A ping that has
// no answer for as long has none.
constexpr Millis kProviderCheckInterval{1'000};

struct Waiting {
  std::optional<Time> oldest;
  std::set<std::string> sessions;
};

std::unordered_map<PeerId, Waiting> allThatWait(const Turn& turn) {
  std::unordered_map<PeerId, Waiting> waiting;
  for (const auto& [id, call] : turn.state.calls.all()) {
    if (call->stage != CallStage::Called) continue;
    Waiting& on = waiting[call->provider];
    on.oldest = std::min(on.oldest.value_or(call->started), call->started);
    on.sessions.insert(call->sessionId);
  }
  for (const auto& [id, gate] : turn.state.checks.gates.all()) {
    waiting[gate.provider].sessions.insert(gate.sessionId);
  }
  return waiting;
}

// The age of a ping that it has not answered. One that is read more slowly may have answered.
std::optional<Millis> unansweredPing(const Turn& turn, const Provider& provider) {
  if (!provider.pingedAt || provider.paused) return std::nullopt;
  const auto age = std::chrono::duration_cast<Millis>(turn.now.steady - *provider.pingedAt);
  return age < kProviderCheckInterval ? std::nullopt : std::optional(age);
}

void reportHang(const Turn& turn, Provider& provider, const Waiting& waiting, Millis waited) {
  provider.hangReported = true;
  for (const std::string& id : waiting.sessions) {
    Session* session = turn.state.sessions.find(id);
    if (session == nullptr) continue;
    writeTimeline(turn, *session, protocol::LogLevel::Warning,
                  "tap: " + inLine(provider.name) + " has not answered for " + inSeconds(waited) +
                      "; it does not answer pings either: it is stopped, or hangs. Restart it; "
                      "copilot-tap doctor says more");
  }
}

void checkProvider(const Turn& turn, Provider& provider, const Waiting& waiting) {
  const Time now = turn.now.steady;
  const Millis until = turn.limits().time(Limit::ProviderPingMs);
  const Millis waited =
      waiting.oldest ? std::chrono::duration_cast<Millis>(now - *waiting.oldest) : Millis(0);
  // A gate has a short deadline of its own, so it is not waited with.
  if (waiting.oldest && waited < until) return;
  if (!provider.pingedAt) {
    provider.pingedAt = now;
    return turn.effect(PingProvider{provider.peer});
  }
  const bool hangs = unansweredPing(turn, provider).has_value();
  if (hangs && !provider.hangReported && waited >= turn.limits().time(Limit::ProviderSilentMs)) {
    reportHang(turn, provider, waiting, waited);
  }
}

}  // namespace

void checkProviders(const Turn& turn) {
  turn.state.watchTimer = TimerId::None;
  const auto waiting = allThatWait(turn);
  bool anyLong = false;
  for (const auto& [peer, on] : waiting) {
    Provider* provider = turn.state.providers.find(peer);
    if (provider == nullptr || provider->isInProcess() || provider->paused) continue;
    checkProvider(turn, *provider, on);
    anyLong = anyLong || provider->pingedAt.has_value();
  }
  if (waiting.empty()) return;
  const Millis next = anyLong ? kProviderCheckInterval : turn.limits().time(Limit::ProviderPingMs);
  turn.state.watchTimer = turn.state.timers.schedule(turn.now.steady + next, WatchDue{});
}

Delay measureDelay(const Turn& turn, const Provider& provider) {
  Delay delay;
  for (const auto& [id, call] : turn.state.calls.all()) {
    if (call->provider != provider.peer || call->stage != CallStage::Called) continue;
    ++delay.calls;
    delay.oldest = std::min(delay.oldest.value_or(call->started), call->started);
  }
  if (delay.calls > 0) delay.unanswered = unansweredPing(turn, provider);
  return delay;
}

}  // namespace tap::gateway
