// Who a provider is across connections: the id it keeps, the token that brings its binding back,
// and the line in the timeline that says it came or left.
#pragma once

#include <optional>
#include <string>

#include "gateway/core/turn.h"

namespace tap::gateway {

// The provider is bound to this session: it gets the id it had there, unless it has one, and is
// announced if its name is new (announcement.h). Its reconnect token is remembered.
void arrive(const Turn& turn, Session& session, Provider& provider);

// How a binding ends. After a goodbye nothing is left, and the timeline says so at once; else it
// has the reconnect window, and `saved` is what it can have back.
enum class Departure : uint8_t {
  Goodbye,    // it said so, or the user has taken its token back
  Lost,       // its connection is over: its deny rules and gates hold for the reconnect window
  TakenOver,  // the same, and the connection that comes in its place is there
  Moved,      // it has said hello again: its rules end
};
void depart(const Turn& turn, Session& session, const Provider& provider, Departure departure,
            std::optional<Binding> saved);

// The reconnect window has passed.
void forgetDeparted(const Turn& turn, Session& session, const Identity& identity);
// The user has taken this token back: nothing is left of those that had it and are not connected,
// nor of what they have pushed and still waits.
void forgetToken(const Turn& turn, std::string_view token);

// Names that the session had before this gateway met it are no news to it.
void expectReturn(const Turn& turn, Session& session, const std::string& name);

// Whether the session knows the name as that of a program with which this connection can have
// nothing in common: its streams and calls are not for everybody who takes the name.
[[nodiscard]] bool isNameOfAnother(const Turn& turn, const Session& session,
                                   const Provider& provider, const std::string& name);
// Another name of that session that this one could be taken for: of a provider that is connected,
// may come back, or is paired. Empty: there is none. What a provider has left there itself does not
// count, nor what a paired one has left, for a program of the user's.
[[nodiscard]] std::string lookAlike(const Turn& turn, const Session& session,
                                    const Provider& provider, const std::string& name);
// What is left of such a program, where the connection has the better right to the name.
void forgetOthers(const Turn& turn, Session& session, const Provider& provider);

// A departed identity that this token belongs to, in whatever session, if the connection may have
// it.
struct Departed {
  Session* session;
  KnownProvider* known;
};
[[nodiscard]] std::optional<Departed> findDeparted(const Turn& turn, const Provider& provider,
                                                   const Identity& identity,
                                                   const std::string& reconnectToken);
// A token is good for one hello: it brings nothing back any more, in whatever session.
void useUp(const Turn& turn, const Identity& identity, const std::string& reconnectToken);

}  // namespace tap::gateway
