// Rows of the record store: what happens in the gateway, one function for each kind. Callers ask
// isRecording first; where records are off a call costs that one branch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/core/turn.h"

namespace tap::gateway {

[[nodiscard]] inline bool isRecording(const Turn& turn) {
  return turn.state.recorder.all();
}

// --- Calls

// The trace of a call: the CLI's span if it has said one, else the turn's or, where the session is
// in none or a command calls, the session's; with a span of ours.
struct CallTrace {
  protocol::TraceContext own;
  uint64_t parent = 0;  // span
};
// `session`: null where the call is in none.
[[nodiscard]] CallTrace startTrace(const Turn& turn, const Session* session,
                                   const protocol::TraceField& given, bool byCommand);
// A call that is to be given to a provider: what its record will need. Returns: the span that the
// provider is told of.
[[nodiscard]] uint64_t noteDispatch(const Turn& turn, CallInFlight& call, uint64_t parent,
                                    std::string_view toolCallId);
// The message to the provider, whose last member are the arguments: the record shares its memory.
// REQUIRES: noteDispatch.
void noteMessage(const Turn& turn, CallInFlight& call, const Slice& message, size_t args,
                 bool isSent);
// A call that has its outcome: exactly one row for each. `result`: null where it was cancelled.
void recordCall(const Turn& turn, const CallInFlight& call, const FinishedCall& done,
                const protocol::CallResult* result);
// The same of one that no provider has had.
void recordCallHere(const Turn& turn, const Session* session, const protocol::Call& call,
                    const FinishedCall& done, const protocol::CallResult& result);

// --- Gates

struct GateDecided {
  std::string_view session;
  std::string_view provider;
  std::string_view gate;  // empty: a rule has decided
  std::string_view tool;
  std::string_view outcome;  // "allow", "deny" or "context"
  std::string_view reason;
};
void recordGate(const Turn& turn, const GateDecided& decided);

// --- Pushes

struct PushDecided {
  std::string_view outcome;    // as its ack says it; empty: it was refused
  std::string_view code = {};  // of a refusal
  int64_t rule = -1;           // of the filter; -1: none decided
};
// Its span is below the one that it names, else below the session's.
[[nodiscard]] CallTrace startTrace(const Turn& turn, const Session& session,
                                   const protocol::Push& push);
void recordPush(const Turn& turn, const Session& session, const Provider& provider,
                std::string_view stream, const protocol::Push& push, const CallTrace& trace,
                const PushDecided& decided);
// An inject that had to wait has left, or will not.
void recordInject(const Turn& turn, const Session& session, const PendingInject& inject,
                  std::string_view outcome);
// The row that must be durable before this inject may be sent.
[[nodiscard]] RowPtr notifyRow(const Turn& turn, const Session& session,
                               const PendingInject& inject);
// The span of an inject below that of its push: it has left now, or is left out.
void recordDispatch(const Turn& turn, const Session& session, const PendingInject& inject,
                    protocol::SpanStatus status);

// --- Turns of the model

// The session works: on a prompt that is new, or on the one of before.
void noteTurn(const Turn& turn, Session& session);
// It is idle, its process is gone, or it ends.
void recordTurn(const Turn& turn, Session& session);

// --- Synchronisation, providers, sessions, diagnostics

// `failure`: empty where the tools are in force.
void recordSync(const Turn& turn, const Session& session, std::string_view failure);
struct ProviderEvent {
  std::string_view event;  // "connected", "gone", "refused", "updated"
  std::string_view code = {};
  std::string_view detail = {};
};
// `session`: empty where it is not about one.
void recordProvider(const Turn& turn, const Provider& provider, std::string_view session,
                    const ProviderEvent& event);
// Several that were refused, the last of which was this.
void recordRefusals(const Turn& turn, std::string_view provider, const RefusedCount& refused);
// `event`: "opened", "linked", "lost" or "ended".
void recordSession(const Turn& turn, const Session& session, std::string_view event,
                   std::string_view reason);

}  // namespace tap::gateway
