// The way of a prompt to a session: the only place that makes an Inject. What a trusted provider
// puts before the model is in the record store first: it waits for that for at most 2 s and is
// then left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/core/turn.h"

namespace tap::gateway {

// Sends the prompt, or holds it: until it is recorded, if it is a trusted provider's, and behind
// those that are held already.
enum class Delivery : uint8_t { Sent, Held };
Delivery deliver(const Turn& turn, Session& session, PendingInject inject);
// The session is idle: the next prompts of the budgets leave.
void releaseHeld(const Turn& turn, Session& session);

// The row of that number is durable, or cannot be written.
void commitSettled(const Turn& turn, uint64_t number, bool durable);
void commitDue(const Turn& turn, const std::string& sessionId, uint64_t number);

// The session has ended.
void dropHeldInjects(const Turn& turn, Session& session);
// The holder of this token may no longer push.
void dropHeldInjects(const Turn& turn, Session& session, std::string_view token);

// Shows the lines about pauses of a budget, if it has just been paused.
void warnOfPause(const Turn& turn, Session& session, const std::string& name);
void warnOfPauseOfAll(const Turn& turn, Session& session);

}  // namespace tap::gateway
