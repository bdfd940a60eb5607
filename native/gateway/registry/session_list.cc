#include "gateway/registry/session_list.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tap::gateway {

void announceSessions(const Turn& turn) {
  Sessions& sessions = turn.state.sessions;
  std::vector<protocol::SessionSummary> byId = sessions.summaries({});
  std::sort(byId.begin(), byId.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  if (byId == turn.state.announced) return;
  turn.state.announced = std::move(byId);
  for (const Provider* provider : turn.state.providers.all()) {
    if (provider->credentials.trust == protocol::Trust::None) continue;
    turn.send(provider->peer, protocol::encodeSessions("sessions.updated",
                                                       sessions.summaries(provider->credentials)));
  }
}

void watchGrace(const Turn& turn) {
  State& state = turn.state;
  if (!state.sessions.allEnded()) {
    turn.cancel(state.graceTimer);
  } else if (state.graceTimer == TimerId::None) {
    state.graceTimer = turn.schedule(Limit::GraceMs, GraceDue{});
  }
}

}  // namespace tap::gateway
