// How a call takes a slot where its provider limits how many calls run at once, and how it releases
// it. Calls of providers without a limit need no slot.
#pragma once

#include <string>
#include <string_view>

#include "gateway/core/turn.h"

namespace tap::gateway {

// CallQueue's key for the call; empty where its provider has no limit.
[[nodiscard]] std::string slotKey(const Provider& provider, const std::string& tool);

// The provider has answered, or is gone: ends the call's deadline and progress, releases its slot.
void releaseCall(const Turn& turn, CallInFlight& call);
// The provider has answered, but the call goes on: releases its slot only.
void releaseCallSlot(const Turn& turn, CallInFlight& call);
// The caller no longer waits for the call. A provider that has it gets tool.cancel, and the call's
// slot is held until the provider has replied, or for cancelled-slot-ms (docs/decisions.md D-15).
void cancelAtProvider(const Turn& turn, CallInFlight& call, std::string_view reason);

// The provider has replied to a cancel, or has not done so in time.
void releaseHeldSlot(const Turn& turn, const Provider& provider, const CallId& callId);
void heldSlotDue(const Turn& turn, const CallId& callId);
// The provider's connection is gone, or the provider has said hello again.
void releaseHeldSlots(const Turn& turn, const Provider& provider);

}  // namespace tap::gateway
