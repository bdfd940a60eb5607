// Calls in flight. Each is opened once and taken out once; the code that takes it out settles it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text_map.h"
#include "base/timer_queue.h"
#include "gateway/calls/call_log.h"
#include "gateway/core/effects.h"

namespace tap::gateway {

// How far a call has come.
enum class CallStage : uint8_t {
  Waiting,  // for a slot: its provider does not know of it
  Called,   // the provider has it
  Reading,  // the provider has answered with a file, which is being read
};

// What the record of a call will say; kept only where there will be one.
struct CallDetails {
  Slice args;
  std::string toolCallId;    // the CLI's, as JSON text; may be empty
  uint64_t parent = 0;       // span
  uint64_t work = 0;         // span of the provider's work
  std::optional<Time> sent;  // to its provider
  protocol::TraceContext answeredWith;
};

struct CallInFlight {
  CallId id;  // the router's
  std::string sessionId;
  std::string sessionCallId;               // its caller's, to answer with
  std::optional<PeerId> controlLink = {};  // of the control client that called, if one did
  std::string tool;
  PeerId provider{};
  CallStage stage = CallStage::Called;
  TimerId deadline = TimerId::None;
  Millis timeout{};      // renewed by tool.progress
  std::string progress;  // the newest that the timeline has not shown yet
  Time nextProgress{};   // when it may
  TimerId progressTimer = TimerId::None;
  Time started{};                // when it was asked for
  std::string slot;              // CallQueue's key; empty: its provider has no limit
  Slice message;                 // what the provider will get, while it waits
  Time readBy{};                 // while its file is read: when that may be gone
  Slice args;                    // while another instance may be tried; else empty
  ArgsHead argsHead;             // for the log
  protocol::TraceContext trace;  // with our span of it
  std::unique_ptr<CallDetails> details;
  // The router's: idsOfCaller, so that nobody looks for it again.
  TextMap<CallId>* siblings = nullptr;
};
// The owner of this pointer settles the call.
using CallPtr = std::unique_ptr<CallInFlight>;

class ToolRouter {
 public:
  // Null if its caller has a call of this sessionCallId in flight already.
  [[nodiscard]] CallInFlight* open(CallPtr call);
  // Takes the call out; null if it is not in flight.
  [[nodiscard]] CallPtr take(const CallId& id);
  [[nodiscard]] CallPtr take(std::string_view sessionId, std::string_view sessionCallId);
  [[nodiscard]] CallPtr take(PeerId controlLink, std::string_view callId);
  // Takes all of a provider's, or of a session's, calls out. A session is remembered until then.
  [[nodiscard]] std::vector<CallPtr> takeOfProvider(PeerId provider);
  [[nodiscard]] std::vector<CallPtr> takeOfBinding(PeerId provider, std::string_view sessionId);
  [[nodiscard]] std::vector<CallPtr> takeOfSession(std::string_view sessionId);
  // Those of one control client, and those of all control clients in a session.
  [[nodiscard]] std::vector<CallPtr> takeOfControl(PeerId controlLink);
  [[nodiscard]] std::vector<CallPtr> takeOfControlClients(std::string_view sessionId);

  [[nodiscard]] CallInFlight* find(const CallId& id);
  // The id in the text. The router remembers it, because an answer's id is read twice: before the
  // rest of the answer, and after.
  [[nodiscard]] std::optional<CallId> parseId(std::string_view text);
  // Of those that the provider has to answer.
  [[nodiscard]] std::vector<CallId> unansweredCalls(PeerId provider) const;
  [[nodiscard]] size_t countOfProvider(PeerId provider) const;
  // Of those that its process has asked for.
  [[nodiscard]] size_t countOfSession(std::string_view sessionId) const;
  [[nodiscard]] size_t countOfControl(PeerId controlLink) const;
  using Calls = std::unordered_map<CallId, CallPtr, UuidHash>;
  [[nodiscard]] const Calls& all() const { return calls_; }
  [[nodiscard]] size_t count() const { return calls_.size(); }
  [[nodiscard]] bool empty() const { return calls_.empty(); }

 private:
  template <class Which>
  [[nodiscard]] std::vector<CallId> idsIf(Which which) const;
  // What its caller has in flight, by the caller's own ids.
  [[nodiscard]] TextMap<CallId>& idsOfCaller(const CallInFlight& call);
  [[nodiscard]] CallPtr take(const TextMap<CallId>& ids, std::string_view callersId);
  [[nodiscard]] std::vector<CallPtr> takeAll(const std::vector<CallId>& ids);

  Calls calls_;
  CallId::Text lastText_{};
  CallId lastId_;                       // of that text, if it is one
  TextMap<TextMap<CallId>> bySession_;  // by the session's id, then by its own id of the call
  std::unordered_map<PeerId, TextMap<CallId>> byControl_;  // likewise, by the control client's link
};

}  // namespace tap::gateway
