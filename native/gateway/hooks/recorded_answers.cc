#include "gateway/hooks/recorded_answers.h"

#include <algorithm>
#include <utility>

#include "base/names.h"
#include "gateway/core/turn.h"
#include "gateway/records/rows.h"
#include "gateway/registry/session_output.h"

namespace tap::gateway {

namespace {

using Waiting = std::unordered_map<uint64_t, RecordedAnswer>;

void finish(const Turn& turn, Waiting::iterator at, std::string_view failure) {
  RecordedAnswer answer = std::move(at->second);
  turn.state.answers.waiting.erase(at);
  turn.cancel(answer.deadline);
  Session* session = turn.state.sessions.find(answer.sessionId);
  if (session == nullptr) return;
  if (failure.empty()) return sendToSession(turn, *session, std::move(answer.answers.whole));
  tellTimeline(turn, *session, protocol::LogLevel::Warning,
               "tap: a text of " + inLine(answer.feature) +
                   " for the model is left out: " + std::string(failure));
  sendToSession(turn, *session, std::move(answer.answers.without));
}

}  // namespace

void answerRecorded(const Turn& turn, Session& session, Answers answers,
                    const std::vector<FeatureText>& texts, std::string_view stream, Millis most) {
  if (texts.empty()) return sendToSession(turn, session, std::move(answers.whole));
  State& state = turn.state;
  const uint64_t id = ++state.answers.last;
  RecordedAnswer answer{session.id, texts.front().feature, {}, TimerId::None, std::move(answers)};
  answer.deadline = state.timers.schedule(turn.now.steady + most, AnswerDue{id});
  for (const FeatureText& one : texts) {
    PendingInject said{one.feature, one.text};
    said.stream = stream;
    answer.open.push_back(++state.lastCommit);
    turn.effect(CommitRecord{state.lastCommit, notifyRow(turn, session, said)});
  }
  state.answers.waiting.emplace(id, std::move(answer));
}

void answerSettled(const Turn& turn, uint64_t number, bool durable) {
  Waiting& waiting = turn.state.answers.waiting;
  for (auto at = waiting.begin(); at != waiting.end(); ++at) {
    std::vector<uint64_t>& open = at->second.open;
    const auto row = std::find(open.begin(), open.end(), number);
    if (row == open.end()) continue;
    open.erase(row);
    if (!durable) return finish(turn, at, "it could not be recorded before");
    if (open.empty()) finish(turn, at, "");
    return;
  }
}

void answerDue(const Turn& turn, uint64_t answer) {
  const auto at = turn.state.answers.waiting.find(answer);
  if (at == turn.state.answers.waiting.end()) return;
  at->second.deadline = TimerId::None;
  finish(turn, at, "it could not be recorded in time");
}

}  // namespace tap::gateway
