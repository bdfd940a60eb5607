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

// How far a call has come.
enum class CallStage : uint8_t {
  Waiting,  // in line for a place: its provider does not know of it
  Called,   // the provider has it
  Reading,  // the provider has answered with a file, which is being read
};

struct CallInFlight {
  std::string id;  // the router's, known to the provider
  std::string sessionId;
  std::string sessionCallId;  // the session's, to answer with
  std::string tool;
  PeerId provider{};
  CallStage stage = CallStage::Called;
  TimerId deadline = TimerId::None;
  Millis timeout{};   // renewed by tool.progress
  Time started{};     // when it was asked for
  std::string place;  // CallQueue's key; empty: nothing is limited
  Slice message;      // what the provider will get, while it waits
  Time readBy{};      // while its file is read: when that may be gone
  Slice args;         // while another instance may be tried; else empty
};

class ToolRouter {
 public:
  // Null if the session has a call of this sessionCallId in flight already.
  [[nodiscard]] CallInFlight* open(CallInFlight call);
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
  // Of those that the provider has to answer.
  [[nodiscard]] std::vector<std::string> calledOf(PeerId provider) const;
  [[nodiscard]] size_t countOfProvider(PeerId provider) const;
  [[nodiscard]] size_t countOfSession(std::string_view sessionId) const;
  [[nodiscard]] bool empty() const { return calls_.empty(); }

 private:
  std::unordered_map<std::string, CallInFlight> calls_;
  std::unordered_map<PeerId, std::unordered_set<std::string>> byProvider_;
  std::unordered_map<std::string, std::unordered_map<std::string, std::string>> bySession_;
};

}  // namespace tap::gateway
