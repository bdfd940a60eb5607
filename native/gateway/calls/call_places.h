// How a call takes its place where a provider limits how many run at once, and how it gives it
// back. Calls of providers without a limit have none.
#pragma once

#include <string>

#include "gateway/core/turn.h"

namespace tap::gateway {

// Names what the call has a place of; empty where nothing is limited.
[[nodiscard]] std::string placeKey(const Provider& provider, const std::string& tool);

// The provider has answered, or is gone: the call's deadline ends and its place is free.
void release(const Turn& turn, CallInFlight& call);
// The provider has answered, and more is to be done before the call is over: only the place is
// free.
void freePlaceOf(const Turn& turn, CallInFlight& call);
// Nobody waits for it any more. The provider is told, if it knows of the call, and keeps the place
// until it has replied, or for a while (docs/decisions.md D-15).
void callOff(const Turn& turn, CallInFlight& call, std::string_view reason);

// The reply to a call that was called off, or no reply in time.
void freeHeldPlace(const Turn& turn, const Provider& provider, const CallId& callId);
void heldPlaceDue(const Turn& turn, const CallId& callId);
// Its connection is gone, or it binds itself anew.
void freeHeldPlaces(const Turn& turn, const Provider& provider);

}  // namespace tap::gateway
