// Requests that the gateway has sent to providers for a session: gate.check and transform.request.
// Each is opened once and taken out once; the code that takes it out continues the work that waits
// for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/timer_queue.h"
#include "gateway/core/effects.h"

namespace tap::gateway {

enum class AskerId : uint64_t {};  // the check or prompt that waits

struct Question {
  std::string callId;
  AskerId asker{};
  PeerId provider{};
  std::string sessionId;
  std::string subject;    // the gateId or the section
  size_t place = 0;       // among the asker's
  bool failOpen = false;  // of a gate
  std::string tool;       // likewise, where gates are recorded
  TimerId deadline = TimerId::None;
};

class Questions {
 public:
  void open(Question question);
  [[nodiscard]] const Question* find(std::string_view callId) const;
  // Takes it out, if it is open and this provider was asked.
  [[nodiscard]] std::optional<Question> take(std::string_view callId, PeerId provider);
  [[nodiscard]] std::vector<Question> takeOfBinding(PeerId provider, std::string_view sessionId);
  [[nodiscard]] std::vector<Question> takeOfAsker(AskerId asker);
  [[nodiscard]] std::vector<Question> takeOfSession(std::string_view sessionId);
  [[nodiscard]] const std::unordered_map<std::string, Question>& all() const { return open_; }
  [[nodiscard]] bool empty() const { return open_.empty(); }

 private:
  template <class Which>
  [[nodiscard]] std::vector<Question> takeIf(Which which);

  std::unordered_map<std::string, Question> open_;
};

}  // namespace tap::gateway
