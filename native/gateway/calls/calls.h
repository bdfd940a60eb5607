// A tool call's way through the gateway: from the session to the provider and back, with exactly
// one outcome (docs/decisions.md D-14).
#pragma once

#include <string>
#include <string_view>

#include "gateway/calls/call_outcome.h"
#include "gateway/core/turn.h"

namespace tap::gateway {

// The session's model calls a tool, or a control client does so in its name (`controlLink`).
void startCall(const Turn& turn, Session& session, const protocol::Call& call,
               std::optional<PeerId> controlLink = {});
// The gateway's own answer: why it cannot be done.
void refuseCall(const Turn& turn, const Caller& caller, const protocol::Call& call,
                protocol::ErrorCode code, std::string_view why);
// Where the tool is one of a feature that the user has disabled: says so, and returns true.
[[nodiscard]] bool refuseDisabled(const Turn& turn, const Caller& caller,
                                  const protocol::Call& call);
inline constexpr std::string_view kSessionOver = "the session has ended";
// The session no longer waits.
void cancelCall(const Turn& turn, Session& session, const protocol::CancelCall& cancel);
// The provider has answered. An answer to a call that is not in flight is dropped.
void completeCall(const Turn& turn, Provider& provider, const protocol::ToolResult& result);
// The provider is still at it: the user is told, and the timeout starts again.
void progressCall(const Turn& turn, Provider& provider, const protocol::ToolProgress& progress);
// Whether this is a call that the provider has still to answer.
[[nodiscard]] bool isAwaited(const Turn& turn, const Provider& provider, std::string_view id);
// A slot may be free for the calls that wait for one.
void callNext(const Turn& turn, const std::string& key);
// The call has taken too long, or waits in the queue for long.
void timeOutCall(const Turn& turn, const CallId& id);

// Fails one call of a provider, for what it sent instead of an answer. `id` is what it called it.
void failCall(const Turn& turn, const Provider& provider, std::string_view id,
              protocol::ErrorCode code, std::string_view detail);
// A binding has ended: its calls fail with DISCONNECTED.
void failCallsOfProvider(const Turn& turn, const Provider& provider, std::string_view sessionId,
                         std::string_view detail);
// The provider has bound itself again: it gets a cancel for its calls, which fail with
// DISCONNECTED.
void cancelCallsOfProvider(const Turn& turn, const Provider& provider, std::string_view reason);
// The session no longer waits for its calls: their providers get a cancel.
void cancelCallsOfSession(const Turn& turn, Session& session, std::string_view reason);
// The provider sent a message that may have been an answer. If one call is pending, that call
// fails; if several are, the provider's connection must be closed (terminal semantics, 4). Returns:
// true if it must be closed.
[[nodiscard]] bool failFast(const Turn& turn, const Provider& provider,
                            const protocol::Refusal& refusal);

}  // namespace tap::gateway
