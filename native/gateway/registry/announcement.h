// The lines in a session's timeline that say who serves it, with what, and who serves another one.
#pragma once

#include <string>

#include "gateway/core/turn.h"

namespace tap::gateway {

// The rules, contexts and edits of a binding in a few words: "1 gate, 2 deny rules". Empty: none.
[[nodiscard]] std::string hooksInWords(const Binding& binding);
[[nodiscard]] std::string rulesInWords(const std::vector<protocol::HookRule>& rules);

// Says once for each name that it is here, as soon as it declares something: tools, hooks or
// subscriptions. A program that only pushes is not announced: each of its events names it. Hooks
// that come later are told once, too.
void announce(const Turn& turn, Session& session, Provider& provider);

// A provider has bound itself to one session: in a moment the users of the others are told.
void noticeMove(const Turn& turn, const Provider& provider);
// A session is new: its user is told who serves another one. `returning`: another gateway has
// served it before, so facts from that time are not announced.
void noticeSession(const Turn& turn, Session& session, bool returning);
// The moment has passed.
void announceBoundToOtherSession(const Turn& turn, Session& session);

// The user wants a provider in this session: those of that name that could come get a
// session.offer. Whether they come is up to them; the timeline says so where they do not.
[[nodiscard]] protocol::Used useProvider(const Turn& turn, Session& session,
                                         const std::string& name);
// They have had the time to come.
void offerDue(const Turn& turn, Session& session, const std::string& name);

}  // namespace tap::gateway
