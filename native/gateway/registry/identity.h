// A provider's identity across connections: the id it keeps, the token that restores its binding,
// and the line in the timeline that says that it came or left.
#pragma once

#include <optional>
#include <string>

#include "gateway/core/turn.h"

namespace tap::gateway {

// The provider has been bound to this session. It gets the id that it had there, unless it has one,
// and is announced if its name is new (announcement.h). The session remembers its reconnect token.
void onBound(const Turn& turn, Session& session, Provider& provider);

// Why a binding has ended. After a goodbye nothing is left, and the timeline says so at once; else
// the reconnect window begins, in which the provider can have `saved` back.
enum class Departure : uint8_t {
  Goodbye,    // it said so, or the user has taken its token back
  Lost,       // its connection is over: its deny rules and gates hold for the reconnect window
  TakenOver,  // the same, and the connection that comes in its place is there
  Moved,      // it has said hello again: its rules end
};
void onUnbound(const Turn& turn, Session& session, const Provider& provider, Departure departure,
               std::optional<Binding> saved);

// The reconnect window has passed.
void forgetDeparted(const Turn& turn, Session& session, const Identity& identity);
// The user has taken this token back: nothing is left of those that had it and are not connected,
// nor of what they have pushed and still waits.
void forgetToken(const Turn& turn, std::string_view token);

// The session had this name before the gateway met it: the timeline does not announce it again.
void expectReturn(const Turn& turn, Session& session, const std::string& name);

// Whether the session knows the name as that of a program with which this connection can have
// nothing in common: its streams and calls are not for everybody who takes the name.
[[nodiscard]] bool isNameOfAnother(const Turn& turn, const Session& session,
                                   const Provider& provider, const std::string& name);
// Another name of that session that this one could be taken for: of a provider that is connected,
// may come back, or is paired. Empty: there is none. What a provider has left there itself does not
// count, nor what a paired one has left, for a program of the user's.
[[nodiscard]] std::string findLookAlike(const Turn& turn, const Session& session,
                                        const Provider& provider, const std::string& name);
// What is left of such a program, where the connection has the better right to the name.
void forgetOthers(const Turn& turn, Session& session, const Provider& provider);

// A departed identity that this token belongs to, in whatever session, if the connection may have
// it.
struct DepartedProvider {
  Session* session;
  KnownProvider* known;
};
[[nodiscard]] std::optional<DepartedProvider> findDeparted(const Turn& turn,
                                                           const Provider& provider,
                                                           const Identity& identity,
                                                           const std::string& reconnectToken);
// A token is good for one hello: from now on it restores nothing, in any session.
void consumeReconnectToken(const Turn& turn, const Identity& identity,
                           const std::string& reconnectToken);

}  // namespace tap::gateway
