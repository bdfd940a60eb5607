// Calls in flight. Each is opened once and taken out once; whoever takes it out settles it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/timer_queue.h"
#include "gateway/effects.h"

namespace tap::gateway {

struct CallInFlight {
  std::string id;  // the router's, known to the provider
  std::string sessionId;
  std::string sessionCallId;  // the session's, to answer with
  std::string tool;
  PeerId provider{};
  TimerId deadline = TimerId::None;
  Millis timeout{};  // renewed by tool.progress
  Time started{};
};

class ToolRouter {
 public:
  // False if the session has a call of this sessionCallId in flight already.
  [[nodiscard]] bool open(CallInFlight call);
  // Takes the call out, if it is in flight.
  [[nodiscard]] std::optional<CallInFlight> take(std::string_view id);
  [[nodiscard]] std::optional<CallInFlight> take(std::string_view sessionId,
                                                 std::string_view sessionCallId);
  // Takes all of a provider's, or of a session's, calls out.
  [[nodiscard]] std::vector<CallInFlight> takeOfProvider(PeerId provider);
  [[nodiscard]] std::vector<CallInFlight> takeOfBinding(PeerId provider,
                                                        std::string_view sessionId);
  [[nodiscard]] std::vector<CallInFlight> takeOfSession(std::string_view sessionId);

  [[nodiscard]] CallInFlight* find(std::string_view id);
  [[nodiscard]] size_t countOfProvider(PeerId provider) const;
  [[nodiscard]] size_t countOfSession(std::string_view sessionId) const;
  [[nodiscard]] bool empty() const { return calls_.empty(); }

 private:
  std::unordered_map<std::string, CallInFlight> calls_;
  std::unordered_map<PeerId, std::unordered_set<std::string>> byProvider_;
  std::unordered_map<std::string, std::unordered_map<std::string, std::string>> bySession_;
};

}  // namespace tap::gateway
