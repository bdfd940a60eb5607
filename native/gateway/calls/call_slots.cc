#include "gateway/calls/call_slots.h"

#include <utility>

#include "gateway/registry/lines.h"

namespace tap::gateway {

namespace {

// The next call starts once the present input has been handled, not while calls are being ended.
void wakeQueue(const Turn& turn, const std::string& key) {
  turn.state.timers.schedule(turn.now.steady, QueueDue{key});
}

void releaseSlot(const Turn& turn, const std::string& key) {
  if (turn.state.queue.release(key)) wakeQueue(turn, key);
}

void leaveQueue(const Turn& turn, const CallInFlight& call) {
  turn.state.queue.remove(call.slot, call.id);
  if (turn.state.queue.waiting(call.slot) > 0) wakeQueue(turn, call.slot);
}

}  // namespace

// Names have no control characters, so no two keys are equal by chance.
std::string slotKey(const Provider& provider, const std::string& tool) {
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

void releaseCallSlot(const Turn& turn, CallInFlight& call) {
  if (call.slot.empty()) return;
  if (call.stage == CallStage::Waiting) {
    leaveQueue(turn, call);
  } else {
    releaseSlot(turn, call.slot);
  }
  call.slot.clear();
}

void releaseCall(const Turn& turn, CallInFlight& call) {
  turn.cancel(call.deadline);
  endProgress(turn, call);
  releaseCallSlot(turn, call);
}

void cancelAtProvider(const Turn& turn, CallInFlight& call, std::string_view reason) {
  if (call.stage != CallStage::Called) return releaseCall(turn, call);
  turn.cancel(call.deadline);
  dropProgress(turn, call);
  if (Provider* provider = turn.state.providers.find(call.provider)) ++provider->cancelsToAnswer;
  const CallId::Text id = call.id.chars();
  turn.send(call.provider,
            protocol::encodeToolCancel({id.data(), id.size()}, call.sessionId, reason));
  if (call.slot.empty()) return;
  const TimerId timer = turn.schedule(Limit::CancelledSlotMs, SlotDue{call.id});
  turn.state.queue.hold(call.id, {std::exchange(call.slot, {}), call.provider, timer});
}

void releaseHeldSlot(const Turn& turn, const Provider& provider, const CallId& callId) {
  const HeldSlot* held = turn.state.queue.held(callId);
  if (held == nullptr || held->provider != provider.peer) return;
  HeldSlot slot = *turn.state.queue.releaseHeld(callId);
  turn.cancel(slot.timer);
  releaseSlot(turn, slot.key);
}

void heldSlotDue(const Turn& turn, const CallId& callId) {
  if (const auto slot = turn.state.queue.releaseHeld(callId)) releaseSlot(turn, slot->key);
}

void releaseHeldSlots(const Turn& turn, const Provider& provider) {
  for (HeldSlot& slot : turn.state.queue.releaseAllHeld(provider.peer)) {
    turn.cancel(slot.timer);
    releaseSlot(turn, slot.key);
  }
}

}  // namespace tap::gateway
