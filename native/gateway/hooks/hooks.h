// The hooks of a session, built from the declarations of its providers. The gateway sends them to
// the session whenever they change, and acknowledges them to the providers once they are in force.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "protocol/hook_rules.h"
#include "protocol/link/session_messages.h"

namespace tap::gateway {

struct Turn;
struct Session;
struct Provider;
struct Binding;

// Of one session.
struct SessionHooks {
  protocol::Hooks lastSent;     // to the process that serves it, or was served last
  int64_t inForce = 0;          // revision of what it has answered for
  protocol::HooksState state;   // its last answer
  int64_t wantedFrom = 0;       // since this revision hooks have been wanted
  bool denialReported = false;  // the timeline has said that the user's consent is missing
};

// Whether the binding, or any of its session, has declared something: else its end changes nothing.
[[nodiscard]] bool anyHooks(const Session& session, const Binding& binding);
// Whether rules of the session's providers are: it has hooks, and has said so.
[[nodiscard]] bool rulesInForce(const Session& session);
// A provider's declaration has changed, or there is one more or less.
void hooksChanged(const Turn& turn, Session& session);
// A process of the session has registered. `joined`: it may have hooks from before.
void introduceHooks(const Turn& turn, Session& session, bool isNew, bool joined);
// Tells the session what its hooks are, whether that has changed or not.
void resendHooks(const Turn& turn, Session& session);
// The session says how far it has come.
void hooksSettled(const Turn& turn, Session& session, const protocol::HooksState& state);

// Answers all pending requests with the reason why they will not be fulfilled.
void refusePendingHooks(const Turn& turn, const Provider& provider, Binding& binding,
                        std::string_view why);

// Hooks that the provider's trust level, or any provider, may not declare; in words, for an
// UNAUTHORIZED.
[[nodiscard]] std::optional<std::string> forbiddenHooks(const Provider& provider,
                                                        const protocol::HooksChange& change);
// The binding as the change makes it.
void applyHooks(Binding& binding, const protocol::HooksChange& change);
// Whether the timeline has yet to show a text of this binding's. It shows those of paired programs.
[[nodiscard]] bool hasNewTexts(const Session& session, const Provider& provider,
                               const Binding& binding);
// Declaring texts counts as a push; and nothing reaches the model for which the timeline has no
// line. Why they are refused, in a message of this type.
[[nodiscard]] std::optional<protocol::Refusal> payForTexts(const Turn& turn, Session& session,
                                                           const Provider& provider,
                                                           const Binding& binding,
                                                           std::string_view type);
// The session is told, and the message answered when it has the hooks in force.
void answerWhenInForce(const Turn& turn, Session& session, Provider& provider, Binding& binding,
                       std::string_view type, const std::string& requestId);

}  // namespace tap::gateway
