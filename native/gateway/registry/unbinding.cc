#include "gateway/registry/unbinding.h"

#include <utility>

#include "base/encoding.h"
#include "gateway/calls/call_slots.h"
#include "gateway/calls/calls.h"
#include "gateway/hooks/hooks.h"
#include "gateway/records/rows.h"
#include "gateway/registry/retained_data.h"
#include "gateway/registry/session_end.h"
#include "gateway/streams/events.h"
#include "gateway/sync/sync_schedule.h"

namespace tap::gateway {

using protocol::ErrorCode;
using protocol::ProviderState;
using protocol::Refusal;

void declareNothing(Provider& provider) {
  provider.all = false;
  provider.declared = Binding();
  provider.metadata.clear();
}

std::optional<Refusal> shutdownReady(const Turn& turn, Provider& provider,
                                     const std::string& sessionId) {
  const Session* session = turn.state.sessions.find(sessionId);
  if (session == nullptr) return std::nullopt;  // too late
  const bool bound = provider.in(sessionId) != nullptr;
  if (!session->ending) {
    return Refusal{ErrorCode::InvalidSession,
                   "session " + inQuotes(sessionId) +
                       (bound ? " is not ending" : " is not one that you are bound to"),
                   "shutdown.ready"};
  }
  if (!bound) return std::nullopt;  // said twice
  unbind(turn, provider, sessionId, Departure::Goodbye, "the session has ended");
  return std::nullopt;
}

void unbind(const Turn& turn, Provider& provider, const std::string& sessionId, Departure departure,
            std::string_view detail) {
  Binding* binding = provider.in(sessionId);
  if (binding == nullptr) return;
  failCallsOfProvider(turn, provider, sessionId, detail);
  if (isRecording(turn)) recordProvider(turn, provider, sessionId, {"gone", "", detail});
  failGatesOfBinding(turn, provider, sessionId, detail);
  refusePendingHooks(turn, provider, *binding, detail);
  Binding saved = std::move(*binding);
  saved.sessionId = sessionId;
  turn.state.providers.unbind(provider, sessionId);
  updateRetained(turn.state, provider);
  failTransformsOfBinding(turn, provider, sessionId);
  if (provider.bindings.empty() && !provider.all) provider.state = ProviderState::Unbound;
  Session* session = turn.state.sessions.find(sessionId);
  if (session == nullptr) return;
  if (session->ending) {
    if (!turn.state.providers.anyToWaitFor(sessionId)) finishSession(turn, sessionId);
    return;
  }
  const bool hadHooks = anyHooks(*session, saved);
  onUnbound(turn, *session, provider, departure, std::move(saved));
  // tap starts its own features again: the model keeps their tools, and its prompt cache.
  if (departure == Departure::Lost && provider.isOwn()) session->sync.holdRemovals(turn.now.steady);
  toolsChanged(turn, *session, {provider.name});
  if (provider.subscribe != 0) subscriptionsChanged(turn, *session);
  if (hadHooks) hooksChanged(turn, *session);
}

void unbindAll(const Turn& turn, Provider& provider, Departure departure, std::string_view detail) {
  while (!provider.bindings.empty()) {
    unbind(turn, provider, std::string(provider.bindings.begin()->first), departure, detail);
  }
  releaseHeldSlots(turn, provider);
  declareNothing(provider);
  updateRetained(turn.state, provider);
  if (provider.state == ProviderState::Bound) provider.state = ProviderState::Unbound;
}

}  // namespace tap::gateway
