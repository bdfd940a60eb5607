// The one outcome of a call, on its way to the session.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/core/turn.h"

namespace tap::gateway {

// Who failed, for the model.
[[nodiscard]] std::string labelOf(const Provider& provider);
// What the model reads: who failed, with which code, why, and what to do next.
[[nodiscard]] std::string failureText(std::string_view who, protocol::ErrorCode code,
                                      std::string_view detail);
[[nodiscard]] protocol::CallResult failure(std::string callId, protocol::ErrorCode code,
                                           std::string text);

// The session's process, or the operator who has asked for the call.
void tellAsker(const Turn& turn, const CallInFlight& call, Session* session,
               protocol::SessionEvent&& event);
// Who wants a call that the gateway answers itself.
struct Asker {
  Session* session;                 // in which it would be; null: in none
  std::optional<PeerId> link = {};  // gets the answer; nothing: the session's process does

  void tell(const Turn& turn, protocol::CallResult result) const;
};
// Tells it the result, be it a refusal or not. People see it like those of other calls.
void answerHere(const Turn& turn, const Asker& asker, std::string_view tool, std::string_view args,
                protocol::CallResult result);
// Whoever asked no longer waits: it has no outcome, but is counted, and in the log of calls.
void recordCancelled(const Turn& turn, const CallInFlight& call, std::string_view reason);

// Settles a call that has been taken out of the router, with a result whose callId is set here.
void settle(const Turn& turn, const CallInFlight& call, protocol::CallResult result);
void settleFailed(const Turn& turn, const CallInFlight& call, std::string_view who,
                  protocol::ErrorCode code, std::string_view detail);

// A drain need not wait any longer once the last call is through.
void drainIfDone(const Turn& turn);
// There is one call less: a reload or a drain may have waited for that.
void oneCallLess(const Turn& turn, Session& session);

}  // namespace tap::gateway
