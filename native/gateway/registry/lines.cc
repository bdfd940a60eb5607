#include "gateway/registry/lines.h"

#include <algorithm>
#include <utility>

#include "base/names.h"
#include "gateway/core/turn.h"
#include "gateway/registry/party.h"
#include "gateway/registry/session_output.h"

namespace tap::gateway {

namespace {

constexpr Millis kWindow{1000};
constexpr Millis kNoticeAfter{10'000};
// Programs of the user's that come and go together.
constexpr std::string_view kPrograms = "programs";
constexpr size_t kProgramsAtOnce = 5;
constexpr std::string_view kWhosePrograms = "programs that came and went";

// Budgets that say nothing any more are forgotten when another is opened.
LineBudget& obtainLineBudget(const Turn& turn, Session& session, std::string_view party) {
  const auto at = session.lines.find(party);
  if (at != session.lines.end()) return at->second;
  std::erase_if(session.lines, [&](const auto& one) { return one.second.isIdle(turn.now.steady); });
  return session.lines[std::string(party)];
}

void leaveOut(const Turn& turn, const Session& session, std::string_view party,
              std::string_view whose, size_t most, LineBudget& budget) {
  ++budget.leftOut;
  budget.most = most;
  budget.whose = whose;
  if (budget.notice != TimerId::None) return;
  budget.notice = turn.state.timers.schedule(turn.now.steady + kNoticeAfter,
                                             LinesDue{session.id, std::string(party)});
}

}  // namespace

bool LineBudget::has(size_t most, Time now) const {
  return recent_.size() < most || (most > 0 && now - recent_.front() >= kWindow);
}

bool LineBudget::take(size_t most, Time now) {
  while (!recent_.empty() && now - recent_.front() >= kWindow) recent_.pop_front();
  if (!has(most, now)) return false;
  recent_.push_back(now);
  return true;
}

bool LineBudget::isIdle(Time now) const {
  return leftOut == 0 && (recent_.empty() || now - recent_.back() >= kWindow);
}

bool canWriteProviderLine(const Turn& turn, Session& session, const Provider& provider) {
  return obtainLineBudget(turn, session, provider.party)
      .has(turn.limits().count(Limit::LinesPerSecond), turn.now.steady);
}

bool writeProviderLine(const Turn& turn, Session& session, const Provider& provider,
                       protocol::LogLevel level, std::string_view text, NoRoom otherwise) {
  LineBudget& budget = obtainLineBudget(turn, session, provider.party);
  const size_t most = turn.limits().count(Limit::LinesPerSecond);
  if (budget.take(most, turn.now.steady)) {
    writeTimeline(turn, session, level, text);
    return true;
  }
  if (otherwise == NoRoom::LeaveOut) {
    leaveOut(turn, session, provider.party, inLine(provider.name), most, budget);
  }
  return false;
}

std::string takeProviderLine(const Turn& turn, Session& session, const Provider& provider,
                             std::string_view text) {
  LineBudget& budget = obtainLineBudget(turn, session, provider.party);
  if (!budget.take(turn.limits().count(Limit::LinesPerSecond), turn.now.steady)) return {};
  return formatTimeline(turn, session, protocol::LogLevel::Info, text);
}

std::string noLineLeft(const Turn& turn) {
  return "at most " + std::to_string(turn.limits().get(Limit::LinesPerSecond)) +
         " lines a second in the timeline, those of tool.progress included; slow down";
}

void writeArrival(const Turn& turn, Session& session, std::string_view party, std::string_view name,
                  protocol::LogLevel level, std::string_view text) {
  const bool program = isProgram(party) || party.empty();
  const std::string_view key = program ? kPrograms : party;
  const size_t most = turn.limits().count(Limit::LinesPerSecond) * (program ? kProgramsAtOnce : 1);
  LineBudget& budget = obtainLineBudget(turn, session, key);
  if (budget.take(most, turn.now.steady)) {
    return writeTimeline(turn, session, level, text);
  }
  leaveOut(turn, session, key, program ? std::string(kWhosePrograms) : inLine(name), most, budget);
}

void reportLeftOut(const Turn& turn, Session& session, const std::string& party) {
  const auto at = session.lines.find(party);
  if (at == session.lines.end()) return;
  LineBudget& budget = at->second;
  budget.notice = TimerId::None;
  if (budget.leftOut == 0) return;
  const size_t lines = std::exchange(budget.leftOut, 0);
  writeTimeline(turn, session, protocol::LogLevel::Warning,
                "tap: " + std::to_string(lines) + (lines == 1 ? " line" : " lines") + " of " +
                    budget.whose + " left out: more than " + std::to_string(budget.most) +
                    " a second");
}

void showProgress(const Turn& turn, Session& session, CallInFlight& call) {
  const Provider* provider = turn.state.providers.find(call.provider);
  if (provider == nullptr) return;
  const Millis pause = std::max(turn.limits().time(Limit::ProgressMs), Millis(1));
  if (turn.now.steady >= call.nextProgress) {
    const bool shown = writeProviderLine(
        turn, session, *provider, protocol::LogLevel::Info,
        "tap: " + inLine(provider->name) + " " + call.tool + ": " + call.progress, NoRoom::Wait);
    if (shown) call.progress.clear();
    call.nextProgress = turn.now.steady + (shown ? pause : std::max(pause, kWindow));
  }
  if (call.progress.empty() || call.progressTimer != TimerId::None) return;
  call.progressTimer = turn.state.timers.schedule(call.nextProgress, ProgressDue{call.id});
}

void dropProgress(const Turn& turn, CallInFlight& call) {
  turn.cancel(call.progressTimer);
  call.progress.clear();
}

void endProgress(const Turn& turn, CallInFlight& call) {
  turn.cancel(call.progressTimer);
  if (call.progress.empty()) return;
  Session* session = turn.state.sessions.find(call.sessionId);
  const Provider* provider = turn.state.providers.find(call.provider);
  const std::string text = std::exchange(call.progress, {});
  if (session == nullptr || provider == nullptr) return;
  (void)writeProviderLine(turn, *session, *provider, protocol::LogLevel::Info,
                          "tap: " + inLine(provider->name) + " " + call.tool + ": " + text,
                          NoRoom::LeaveOut);
}

}  // namespace tap::gateway
