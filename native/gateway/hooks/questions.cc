#include "gateway/hooks/questions.h"

#include <utility>

namespace tap::gateway {

void Questions::open(Question question) {
  std::string callId = question.callId;
  open_.emplace(std::move(callId), std::move(question));
}

const Question* Questions::find(std::string_view callId) const {
  const auto at = open_.find(std::string(callId));
  return at == open_.end() ? nullptr : &at->second;
}

std::optional<Question> Questions::take(std::string_view callId, PeerId provider) {
  const auto at = open_.find(std::string(callId));
  if (at == open_.end() || at->second.provider != provider) return std::nullopt;
  Question question = std::move(at->second);
  open_.erase(at);
  return question;
}

template <class Which>
std::vector<Question> Questions::takeIf(Which which) {
  std::vector<Question> taken;
  for (auto at = open_.begin(); at != open_.end();) {
    if (which(at->second)) {
      taken.push_back(std::move(at->second));
      at = open_.erase(at);
    } else {
      ++at;
    }
  }
  return taken;
}

std::vector<Question> Questions::takeOfBinding(PeerId provider, std::string_view sessionId) {
  return takeIf([&](const Question& question) {
    return question.provider == provider && question.sessionId == sessionId;
  });
}

std::vector<Question> Questions::takeOfAsker(AskerId asker) {
  return takeIf([&](const Question& question) { return question.asker == asker; });
}

std::vector<Question> Questions::takeOfSession(std::string_view sessionId) {
  return takeIf([&](const Question& question) { return question.sessionId == sessionId; });
}

}  // namespace tap::gateway
