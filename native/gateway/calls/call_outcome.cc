#include "gateway/calls/call_outcome.h"

#include <utility>

#include "base/encoding.h"
#include "gateway/records/rows.h"
#include "gateway/registry/session_output.h"
#include "gateway/sync/sync_schedule.h"

namespace tap::gateway {

using protocol::CallResult;
using protocol::ErrorCode;

namespace {

FinishedCall finished(const Turn& turn, const CallInFlight& call) {
  const Provider* provider = turn.state.providers.find(call.provider);
  return {turn.now.unixMillis, std::chrono::duration_cast<Millis>(turn.now.steady - call.started),
          call.sessionId,      provider == nullptr ? std::string_view() : provider->name,
          call.tool,           call.argsHead.text(),
          call.argsHead.cut(), call.controlLink.has_value()};
}

// Into the log, and where it has failed among the failures.
void log(const Turn& turn, FinishedCall& call, const CallResult& result) {
  if (result.failed) {
    call.code = protocol::wireName(result.code);
    call.text = result.text;
    turn.state.stats.failed({call.unixMillis, std::string(call.provider),
                             visible(call.tool, false, 128), call.code, result.text});
  }
  turn.state.log.add(call);
}

void logOutcome(const Turn& turn, const CallInFlight& call, const CallResult& result) {
  FinishedCall done = finished(turn, call);
  turn.state.stats.settled({done.provider, call.tool, done.took, result.failed}, turn.now);
  log(turn, done, result);
  if (isRecording(turn)) [[unlikely]]
    recordCall(turn, call, done, &result);
}

constexpr size_t kEnvelopeBytes = 1024;  // of a link frame, around the content

// A larger frame would end the link, and with it all calls of its session.
bool fitsTheLink(const Turn& turn, const CallResult& result) {
  const size_t size = result.data.size() + result.binary.base64.size() + kEnvelopeBytes;
  return size <= turn.limits().bytes(Limit::LinkFrameBytes);
}

// result-bytes and link-frame-bytes must be raised together.
CallResult tooLarge(const Turn& turn, const CallInFlight& call) {
  const Provider* provider = turn.state.providers.find(call.provider);
  const std::string who = provider == nullptr ? "The provider" : providerLabel(*provider);
  return failure({}, ErrorCode::PayloadTooLarge,
                 failureText(who, ErrorCode::PayloadTooLarge,
                             "its result is larger than the limit link-frame-bytes"));
}

}  // namespace

void Caller::send(const Turn& turn, CallResult result) const {
  if (link) return turn.effect(SendEvent{*link, std::move(result)});
  if (session != nullptr) sendToSession(turn, *session, std::move(result));
}

void answerHere(const Turn& turn, const Caller& caller, const protocol::Call& call,
                CallResult result) {
  const ArgsHead head(call.args.view());
  FinishedCall done{turn.now.unixMillis, Millis(0), {}, {}, call.tool, head.text(), head.cut()};
  if (caller.session != nullptr) {
    done.sessionId = caller.session->id;
    done.provider = turn.state.providers.toolOwner(caller.session->id, call.tool);
  }
  done.byCommand = caller.link && turn.state.controlClients.findSessionId(*caller.link) != nullptr;
  log(turn, done, result);
  if (isRecording(turn)) [[unlikely]] {
    recordCallHere(turn, caller.session, call, done, result);
  }
  caller.send(turn, std::move(result));
}

void recordCancelled(const Turn& turn, const CallInFlight& call, std::string_view reason) {
  FinishedCall done = finished(turn, call);
  turn.state.stats.cancelled(done.provider, call.tool, turn.now);
  done.code = protocol::wireName(ErrorCode::Cancelled);
  done.text = reason;
  turn.state.log.add(done);
  if (isRecording(turn)) [[unlikely]]
    recordCall(turn, call, done, nullptr);
}

void sendToCaller(const Turn& turn, const CallInFlight& call, Session* session,
                  protocol::SessionEvent&& event) {
  if (call.controlLink) {
    turn.effect(SendEvent{*call.controlLink, std::move(event)});
  } else if (session != nullptr) {
    sendToSession(turn, *session, std::move(event));
  }
}

std::string providerLabel(const Provider& provider) {
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
  if (!fitsTheLink(turn, result)) result = tooLarge(turn, call);
  logOutcome(turn, call, result);
  result.callId = call.sessionCallId;
  Session* session = turn.state.sessions.find(call.sessionId);
  sendToCaller(turn, call, session, std::move(result));
  if (session != nullptr) {
    onCallSettled(turn, *session);
  } else {
    drainIfDone(turn);
  }
}

std::optional<std::string> disabledText(const Turn& turn, std::string_view tool) {
  const auto disabled = turn.state.disabledTools.find(tool);
  if (disabled == turn.state.disabledTools.end()) return std::nullopt;
  const std::string& feature = disabled->second;
  return "Tool " + inQuotes(visible(tool, false, 80)) + " failed with " +
         std::string(protocol::wireName(ErrorCode::Disconnected)) + ": the user has disabled " +
         feature + ", the feature that it belongs to. The call was not repeated. " +
         "The user can enable it with: copilot-tap features enable " + feature;
}

void settleFailed(const Turn& turn, const CallInFlight& call, std::string_view who, ErrorCode code,
                  std::string_view detail) {
  if (code == ErrorCode::Disconnected) {
    const Provider* provider = turn.state.providers.find(call.provider);
    const auto text = disabledText(turn, call.tool);
    if (text && (provider == nullptr || provider->isOwn())) {
      return settle(turn, call, failure({}, code, *text));
    }
  }
  settle(turn, call, failure({}, code, failureText(who, code, detail)));
}

void drainIfDone(const Turn& turn) {
  State& state = turn.state;
  if (state.drainTimer == TimerId::None || !state.calls.empty()) return;
  turn.cancel(state.drainTimer);
  state.drainTimer = state.timers.schedule(turn.now.steady, DrainDue{});
}

void onCallSettled(const Turn& turn, Session& session) {
  rescheduleSync(turn, session);
  drainIfDone(turn);
}

}  // namespace tap::gateway
