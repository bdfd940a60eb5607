// What the process around the gateway can do to it: tokens and timeline lines for the providers
// that it starts itself, the texts of slash commands, and an inspection.
#include "gateway/control/commands.h"
#include "gateway/control/inspection.h"
#include "gateway/core/gateway.h"
#include "gateway/registry/refusal.h"
#include "gateway/registry/session_output.h"

namespace tap::gateway {

std::string Gateway::issueSpawnToken(const std::string& sessionId) {
  const Session* session = state_.sessions.find(sessionId);
  if (session == nullptr || session->ending) return {};
  return state_.authenticator.issueSpawnToken(sessionId);
}

void Gateway::forgetSpawnToken(const std::string& token, bool revoked, Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  if (state_.authenticator.forgetSpawnToken(token)) {
    endToken(turn, token,
             revoked ? "the user does not allow this provider any more"
                     : "the process that this token was given to has ended",
             revoked ? Departure::Goodbye : Departure::Lost);
  } else if (revoked && !token.empty()) {
    forgetToken(turn, token);  // its process had ended before: remove its leftovers, too
  }
}

void Gateway::tellTimeline(const std::string& sessionId, protocol::LogLevel level,
                           std::string_view text, Now now, Effects& effects) {
  Session* session = state_.sessions.find(sessionId);
  if (session == nullptr || session->ending) return;
  gateway::tellTimeline(Turn{state_, now, effects}, *session, level, text);
}

void Gateway::commandFinished(CommandNumber number, std::string_view text, Now now,
                              Effects& effects) {
  finishCommand(Turn{state_, now, effects}, number, text);
}

std::string Gateway::inspect(Now now) {
  Effects none;
  return describeEverything(Turn{state_, now, none});
}

}  // namespace tap::gateway
