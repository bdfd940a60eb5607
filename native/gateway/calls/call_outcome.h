// How a call's one outcome gets to its caller.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/core/turn.h"

namespace tap::gateway {

// Names the provider in a text for the model.
[[nodiscard]] std::string providerLabel(const Provider& provider);
// The text of a failure for the model: who failed, the code, the reason, the next step.
[[nodiscard]] std::string failureText(std::string_view who, protocol::ErrorCode code,
                                      std::string_view detail);
[[nodiscard]] protocol::CallResult failure(std::string callId, protocol::ErrorCode code,
                                           std::string text);

// Sends the event to the call's caller: the session's process, or the control client.
void sendToCaller(const Turn& turn, const CallInFlight& call, Session* session,
                  protocol::SessionEvent&& event);
// The caller of a call that the gateway answers itself.
struct Caller {
  Session* session;                 // in which it would be; null: in none
  std::optional<PeerId> link = {};  // gets the answer; nothing: the session's process does

  void send(const Turn& turn, protocol::CallResult result) const;
};
// Sends the caller the result or the refusal, and records it as any other call's.
void answerHere(const Turn& turn, const Caller& caller, const protocol::Call& call,
                protocol::CallResult result);
// Records a call whose caller no longer waits. It has no outcome.
void recordCancelled(const Turn& turn, const CallInFlight& call, std::string_view reason);

// Settles a call that has been taken out of the router, with a result whose callId is set here.
void settle(const Turn& turn, const CallInFlight& call, protocol::CallResult result);
void settleFailed(const Turn& turn, const CallInFlight& call, std::string_view who,
                  protocol::ErrorCode code, std::string_view detail);
// What a call of a tool fails with whose feature the user has disabled; nothing: it is not one.
[[nodiscard]] std::optional<std::string> disabledText(const Turn& turn, std::string_view tool);

// Ends a drain once no call is in flight.
void drainIfDone(const Turn& turn);
// A call of the session has ended: a reload or a drain may have waited for that.
void onCallSettled(const Turn& turn, Session& session);

}  // namespace tap::gateway
