#include "gateway/settle.h"

#include <utility>

#include "base/encoding.h"
#include "gateway/session_lifecycle.h"

namespace tap::gateway {

using protocol::CallResult;
using protocol::ErrorCode;

std::string labelOf(const Provider& provider) {
  return "Provider " + inQuotes(provider.name);
}

std::string failureText(std::string_view who, ErrorCode code, std::string_view detail) {
  std::string text(who);
  text += " failed with ";
  text += protocol::wireName(code);
  text += ": ";
  text += visible(detail, true);
  if (!detail.empty() && detail.back() != '.' && detail.back() != '!' && detail.back() != '?') {
    text += '.';
  }
  text += ' ';
  text += protocol::row(code).advice;
  return text;
}

CallResult failure(std::string callId, ErrorCode code, std::string text) {
  return {std::move(callId), true, {}, code, std::move(text)};
}

void settle(const Turn& turn, const CallInFlight& call, CallResult result) {
  Session* session = turn.state.sessions.find(call.sessionId);
  if (session == nullptr) return;
  result.callId = call.sessionCallId;
  sendToSession(turn, *session, std::move(result));
  oneCallLess(turn, *session);
}

void settleFailed(const Turn& turn, const CallInFlight& call, std::string_view who, ErrorCode code,
                  std::string_view detail) {
  settle(turn, call, failure({}, code, failureText(who, code, detail)));
}

void drainIfDone(const Turn& turn) {
  State& state = turn.state;
  if (state.drainTimer == TimerId::None || !state.calls.empty()) return;
  turn.cancel(state.drainTimer);
  state.drainTimer = state.timers.schedule(turn.now.steady, DrainDue{});
}

void oneCallLess(const Turn& turn, Session& session) {
  rescheduleSync(turn, session);
  drainIfDone(turn);
}

}  // namespace tap::gateway
