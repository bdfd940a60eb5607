#include "gateway/streams/injects.h"

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "base/names.h"
#include "gateway/records/rows.h"
#include "gateway/registry/session_output.h"

namespace tap::gateway {

using protocol::LogLevel;

namespace {

// One for each account and those that wait behind it: more are not to be expected.
constexpr size_t kMaxHeld = 256;

void sendInject(const Turn& turn, Session& session, PendingInject&& inject) {
  recordDispatch(turn, session, inject, protocol::SpanStatus::Ok);
  sendToSession(turn, session,
                protocol::Inject{std::move(inject.provider), std::move(inject.prompt),
                                 std::move(inject.display), inject.immediate});
}

// Sends the first ones, as far as none of them waits for its record.
void flushHeld(const Turn& turn, Session& session) {
  HeldInjects& held = session.heldInjects;
  while (!held.empty() && held.front().number == 0) {
    PendingInject inject = std::move(held.front().inject);
    held.pop_front();
    sendInject(turn, session, std::move(inject));
  }
}

void leaveOutInject(const Turn& turn, Session& session, const PendingInject& inject,
                    std::string_view why) {
  if (isRecording(turn)) recordInject(turn, session, inject, "not recorded");
  recordDispatch(turn, session, inject, protocol::SpanStatus::Error);
  writeTimeline(
      turn, session, LogLevel::Warning,
      "tap: a message of " + inject.provider + " for the model is left out: " + std::string(why));
}

// The turn that it was to start does not happen: the next one may.
void passOnTurn(const Turn& turn, Session& session, const PendingInject& inject) {
  if (inject.immediate) return;
  PushBudget& budget = session.budgets.of(inject.account, turn.now.steady);
  if (!budget.notSent(session.budgets.turns)) return;
  auto next = budget.idle(session.budgets.turns, turn.limits());
  if (const auto paused = budget.takePauseNotice()) warnOfPause(turn, session, *paused);
  warnOfPauseOfAll(turn, session);
  if (next) (void)deliver(turn, session, std::move(*next));
}

HeldInjects::iterator findHeld(Session& session, uint64_t number) {
  return std::find_if(session.heldInjects.begin(), session.heldInjects.end(),
                      [&](const HeldInject& one) { return one.number == number; });
}

void finishCommit(const Turn& turn, Session& session, const HeldInjects::iterator& at, bool durable,
                  std::string_view why) {
  turn.cancel(at->deadline);
  if (durable) {
    if (!at->inject.immediate) session.budgets.of(at->inject.account, turn.now.steady).sent();
    at->number = 0;
    if (isRecording(turn)) recordInject(turn, session, at->inject, "injected");
    return flushHeld(turn, session);
  }
  const PendingInject inject = std::move(at->inject);
  session.heldInjects.erase(at);
  leaveOutInject(turn, session, inject, why);
  flushHeld(turn, session);
  passOnTurn(turn, session, inject);
}

}  // namespace

Delivery deliver(const Turn& turn, Session& session, PendingInject inject) {
  HeldInjects& held = session.heldInjects;
  if (!inject.trusted && held.empty()) {
    sendInject(turn, session, std::move(inject));
    return Delivery::Sent;
  }
  if (held.size() >= kMaxHeld) {
    leaveOutInject(turn, session, inject, "too many wait for the record store");
    if (inject.trusted && !inject.immediate) {
      (void)session.budgets.of(inject.account, turn.now.steady).notSent(session.budgets.turns);
    }
    return Delivery::Held;
  }
  held.push_back(HeldInject{std::move(inject)});
  HeldInject& last = held.back();
  if (!last.inject.trusted) return Delivery::Held;
  last.number = ++turn.state.lastCommit;
  last.deadline = turn.schedule(Limit::CommitMs, CommitDue{session.id, last.number});
  turn.effect(CommitRecord{last.number, notifyRow(turn, session, last.inject)});
  return Delivery::Held;
}

void releaseHeld(const Turn& turn, Session& session) {
  const auto paused = [&](const std::string& name) { warnOfPause(turn, session, name); };
  for (PendingInject& inject : session.budgets.idle(turn.limits(), paused)) {
    if (isRecording(turn) && !inject.trusted) recordInject(turn, session, inject, "injected");
    (void)deliver(turn, session, std::move(inject));
  }
  warnOfPauseOfAll(turn, session);
}

void commitSettled(const Turn& turn, uint64_t number, bool durable) {
  if (number == 0) return;
  for (auto& [id, session] : turn.state.sessions.all()) {
    const auto at = findHeld(session, number);
    if (at == session.heldInjects.end()) continue;
    return finishCommit(turn, session, at, durable, "it could not be recorded before");
  }
}

void commitDue(const Turn& turn, const std::string& sessionId, uint64_t number) {
  Session* session = turn.state.sessions.find(sessionId);
  if (session == nullptr) return;
  const auto at = findHeld(*session, number);
  if (at == session->heldInjects.end()) return;
  at->deadline = TimerId::None;
  const Millis most{turn.limits().get(Limit::CommitMs)};
  finishCommit(turn, *session, at, false, "it could not be recorded within " + inSeconds(most));
}

void dropHeldInjects(const Turn& turn, Session& session) {
  for (HeldInject& one : session.heldInjects) turn.cancel(one.deadline);
  session.heldInjects.clear();
}

void dropHeldInjects(const Turn& turn, Session& session, std::string_view token) {
  for (HeldInject& one : session.heldInjects) {
    if (one.inject.token != token || one.number == 0) continue;
    turn.cancel(one.deadline);
    if (one.inject.immediate) continue;
    (void)session.budgets.of(one.inject.account, turn.now.steady).notSent(session.budgets.turns);
  }
  std::erase_if(session.heldInjects,
                [&](const HeldInject& one) { return one.inject.token == token; });
  flushHeld(turn, session);
}

void warnOfPause(const Turn& turn, Session& session, const std::string& name) {
  writeTimeline(
      turn, session, LogLevel::Warning,
      "tap: " + inLine(name) +
          " has started several turns in a row; its next ones wait until you say something");
}

void warnOfPauseOfAll(const Turn& turn, Session& session) {
  if (!session.budgets.turns.takePauseNotice()) return;
  writeTimeline(turn, session, LogLevel::Warning,
                "tap: providers have started " +
                    std::to_string(turn.limits().get(Limit::SessionInjectCycles)) +
                    " turns since you last said something; the next ones wait until you do");
}

}  // namespace tap::gateway
