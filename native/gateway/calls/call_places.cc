#include "gateway/calls/call_places.h"

#include <utility>

#include "gateway/registry/lines.h"

namespace tap::gateway {

namespace {

// Who is next starts once the present input is done with: not while calls are being taken apart.
void wakeLine(const Turn& turn, const std::string& key) {
  turn.state.timers.schedule(turn.now.steady, LineDue{key});
}

void freePlace(const Turn& turn, const std::string& key) {
  if (turn.state.queue.leave(key)) wakeLine(turn, key);
}

void leaveLine(const Turn& turn, const CallInFlight& call) {
  turn.state.queue.leaveLine(call.place, call.id);
  if (turn.state.queue.waiting(call.place) > 0) wakeLine(turn, call.place);
}

}  // namespace

// The parts cannot be mistaken for each other: names have no control characters.
std::string placeKey(const Provider& provider, const std::string& tool) {
  const protocol::Concurrency& limit = provider.concurrency;
  if (limit.max == 0) return {};
  const std::string connection = std::to_string(static_cast<uint64_t>(provider.peer));
  switch (limit.scope) {
    case protocol::Concurrency::Scope::Instance:
      return "instance\n" + connection;
    case protocol::Concurrency::Scope::Tool:
      return "tool\n" + connection + "\n" + tool;
    case protocol::Concurrency::Scope::Provider:
      break;
  }
  // A paired provider shares nothing with one of the same name in other sessions.
  return "provider\n" + provider.name + "\n" + provider.credentials.onlySession;
}

void freePlaceOf(const Turn& turn, CallInFlight& call) {
  if (call.place.empty()) return;
  if (call.stage == CallStage::Waiting) {
    leaveLine(turn, call);
  } else {
    freePlace(turn, call.place);
  }
  call.place.clear();
}

void release(const Turn& turn, CallInFlight& call) {
  turn.cancel(call.deadline);
  endProgress(turn, call);
  freePlaceOf(turn, call);
}

void callOff(const Turn& turn, CallInFlight& call, std::string_view reason) {
  if (call.stage != CallStage::Called) return release(turn, call);
  turn.cancel(call.deadline);
  dropProgress(turn, call);
  if (Provider* provider = turn.state.providers.find(call.provider)) ++provider->cancelsToAnswer;
  const CallId::Text id = call.id.chars();
  turn.send(call.provider,
            protocol::encodeToolCancel({id.data(), id.size()}, call.sessionId, reason));
  if (call.place.empty()) return;
  const TimerId timer = turn.schedule(Limit::CancelledSlotMs, PlaceDue{call.id});
  turn.state.queue.hold(call.id, {std::exchange(call.place, {}), call.provider, timer});
}

void freeHeldPlace(const Turn& turn, const Provider& provider, const CallId& callId) {
  const HeldPlace* held = turn.state.queue.held(callId);
  if (held == nullptr || held->provider != provider.peer) return;
  HeldPlace place = *turn.state.queue.letGo(callId);
  turn.cancel(place.timer);
  freePlace(turn, place.key);
}

void heldPlaceDue(const Turn& turn, const CallId& callId) {
  if (const auto place = turn.state.queue.letGo(callId)) freePlace(turn, place->key);
}

void freeHeldPlaces(const Turn& turn, const Provider& provider) {
  for (HeldPlace& place : turn.state.queue.letGoOf(provider.peer)) {
    turn.cancel(place.timer);
    freePlace(turn, place.key);
  }
}

}  // namespace tap::gateway
