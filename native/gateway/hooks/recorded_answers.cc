#include "gateway/hooks/recorded_answers.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/names.h"
#include "gateway/core/turn.h"
#include "gateway/records/rows.h"
#include "gateway/registry/session_output.h"

namespace tap::gateway {

namespace {

using AnswersByNumber = std::unordered_map<uint64_t, RecordedAnswer>;

// Each waits for a moment only: more are not to be expected.
constexpr size_t kMaxWaiting = 256;

std::set<std::string> featureNames(const std::vector<FeatureText>& texts) {
  std::set<std::string> names;
  for (const FeatureText& one : texts) names.insert(one.feature);
  return names;
}

// The records of the texts may still be written: these say that nobody has read them.
void leaveOut(const Turn& turn, Session& session, const RecordedAnswer& answer,
              std::string_view why) {
  std::string names;
  for (const std::string& name : answer.features) {
    names += (names.empty() ? "" : ", ") + inLine(name);
    PendingInject said{name, ""};
    said.stream = answer.stream;
    if (isRecording(turn)) recordInject(turn, session, said, "not recorded");
  }
  writeTimeline(turn, session, protocol::LogLevel::Warning,
                "tap: a text of " + names + " for the model is left out: " + std::string(why));
}

// `failure`: empty where the texts are recorded.
void send(const Turn& turn, Session& session, RecordedAnswer answer, std::string_view failure) {
  if (!failure.empty()) leaveOut(turn, session, answer, failure);
  Answers& answers = answer.answers;
  turn.effect(
      SendEvent{answers.peer, std::move(failure.empty() ? answers.whole : answers.without)});
}

void finish(const Turn& turn, AnswersByNumber::iterator at, std::string_view failure) {
  RecordedAnswer answer = std::move(at->second);
  turn.state.answers.waiting.erase(at);
  turn.cancel(answer.deadline);
  Session* session = turn.state.sessions.find(answer.sessionId);
  if (session == nullptr) return;
  send(turn, *session, std::move(answer), failure);
}

}  // namespace

void answerRecorded(const Turn& turn, Session& session, Answers answers,
                    const std::vector<FeatureText>& texts, std::string_view stream, Millis most) {
  State& state = turn.state;
  RecordedAnswer answer{session.id, featureNames(texts), std::string(stream),
                        {},         TimerId::None,       std::move(answers)};
  if (state.answers.waiting.size() >= kMaxWaiting) {
    return send(turn, session, std::move(answer), "too many wait for the record store");
  }
  const uint64_t id = ++state.answers.last;
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
  AnswersByNumber& waiting = turn.state.answers.waiting;
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

void giveAnswers(const Turn& turn, Session& session) {
  std::vector<uint64_t> ids;
  for (const auto& [id, answer] : turn.state.answers.waiting) {
    if (answer.sessionId == session.id) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  for (const uint64_t id : ids) {
    finish(turn, turn.state.answers.waiting.find(id), "the session has ended");
  }
}

void dropAnswers(const Turn& turn, std::string_view sessionId) {
  AnswersByNumber& waiting = turn.state.answers.waiting;
  for (auto at = waiting.begin(); at != waiting.end();) {
    if (at->second.sessionId == sessionId) {
      turn.cancel(at->second.deadline);
      at = waiting.erase(at);
    } else {
      ++at;
    }
  }
}

}  // namespace tap::gateway
