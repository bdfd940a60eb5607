// Answers to a session with texts of tap's own features for the model: a context that goes with a
// prompt, the reason of a denial, what a gate adds. Like an inject (streams/injects.h) such a text
// is in the record store before the session has it, or it is left out.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "base/timer_queue.h"
#include "gateway/core/effects.h"
#include "protocol/link/session_messages.h"

namespace tap::gateway {

struct Turn;
struct Session;

// A feature, and a text of it as the model reads it.
struct FeatureText {
  std::string feature;
  std::string text;
};

// An answer in both forms: with the texts of features, and without them.
struct Answers {
  PeerId peer;  // the process that has asked: no other one gets the answer
  protocol::SessionEvent whole;
  protocol::SessionEvent without;
};

// An answer that waits for its records.
struct RecordedAnswer {
  std::string sessionId;
  std::set<std::string> features;  // whose texts these are
  std::string stream;
  std::vector<uint64_t> open;  // numbers of rows that are not durable yet
  TimerId deadline = TimerId::None;
  Answers answers;
};

// By the number of the answer.
struct RecordedAnswers {
  std::unordered_map<uint64_t, RecordedAnswer> waiting;
  uint64_t last = 0;
};

// How long an answer waits for its records: the session waits a little longer for the answer.
inline constexpr Millis kContextCommitTime{2'000};
inline constexpr Millis kVerdictCommitTime{400};

// Sends the whole answer once the texts are recorded as `stream`. Sends the other one if they
// cannot be recorded in that time, and says so in the timeline and in a record.
// REQUIRES: the process that has asked serves the session; there are texts.
void answerRecorded(const Turn& turn, Session& session, Answers answers,
                    const std::vector<FeatureText>& texts, std::string_view stream, Millis most);
// A row of that number is durable, or cannot be written.
void answerSettled(const Turn& turn, uint64_t number, bool durable);
void answerDue(const Turn& turn, uint64_t answer);
// The session is over: its process gets the answers that wait without the texts.
void giveAnswers(const Turn& turn, Session& session);
// The process is gone, or serves the session no more: nobody waits for these answers.
void dropAnswers(const Turn& turn, std::string_view sessionId);

}  // namespace tap::gateway
