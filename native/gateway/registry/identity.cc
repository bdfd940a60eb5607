#include "gateway/registry/identity.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "base/names.h"
#include "gateway/hooks/hooks.h"
#include "gateway/registry/announcement.h"
#include "gateway/registry/lines.h"
#include "gateway/registry/party.h"
#include "gateway/registry/retained_data.h"
#include "gateway/streams/injects.h"

namespace tap::gateway {

using protocol::LogLevel;

namespace {

Identity toIdentity(const Provider& provider) {
  return {provider.name, provider.instance};
}

bool isKnown(const Session& session, const std::string& name) {
  return std::any_of(session.known.begin(), session.known.end(),
                     [&](const auto& entry) { return entry.first.first == name; });
}

// One that has moved on to another session has taken its id along.
bool isTaken(const Turn& turn, const std::string& providerId) {
  const std::vector<Provider*> all = turn.state.providers.all();
  return std::any_of(all.begin(), all.end(),
                     [&](const Provider* provider) { return provider->providerId == providerId; });
}

// An agent that kills a provider must not remove its rules that way.
void detachRules(const Turn& turn, Session& session, const Provider& provider, Departure departure,
                 const Binding& lost) {
  if (departure == Departure::Moved) return;
  DetachedRules held{lost.order, {}, provider.trusted};
  std::copy_if(lost.rules.begin(), lost.rules.end(), std::back_inserter(held.rules),
               protocol::isGuard);
  if (held.rules.empty()) return;
  session.detachedRules[toIdentity(provider)] = std::move(held);
  if (departure != Departure::Lost || !rulesInForce(session)) return;
  writeArrival(turn, session, provider.party, provider.name, LogLevel::Warning,
               "tap: the connection of " + inLine(provider.name) +
                   " was lost; its rules stay in force for " +
                   inSeconds(turn.limits().time(Limit::ReconnectMs)));
}

// The name is gone from the session when its last instance is, and is not expected back.
void forget(const Turn& turn, Session& session, const Identity& identity) {
  const auto at = session.known.find(identity);
  if (at == session.known.end()) return;
  turn.cancel(at->second.departure);
  const std::string party = at->second.party;
  session.known.erase(at);
  session.detachedRules.erase(identity);
  const std::string& name = identity.first;
  if (isKnown(session, name)) return;
  session.streams.erase(name);
  std::erase_if(session.announcedTexts,
                [&](const auto& entry) { return entry.first.first == name; });
  // If the timeline has said that the provider serves another session now, it need not say that it
  // left.
  if (session.announced.erase(name) > 0 && !session.boundToOtherSession.contains(name)) {
    writeArrival(turn, session, party, name, LogLevel::Info, "tap: " + inLine(name) + " left");
  }
}

// A party that returns again and again under new names must not fill the memory with them.
void forgetTheOldest(const Turn& turn, Session& session, const std::string& party) {
  size_t departed = 0;
  const std::pair<const Identity, KnownProvider>* oldest = nullptr;
  for (const auto& one : session.known) {
    if (one.second.departure == TimerId::None || one.second.party != party) continue;
    ++departed;
    if (oldest == nullptr || one.second.departedAt < oldest->second.departedAt) oldest = &one;
  }
  if (departed <= turn.limits().count(Limit::DepartedPerParty)) return;
  forget(turn, session, Identity(oldest->first));
}

}  // namespace

bool isNameOfAnother(const Turn& turn, const Session& session, const Provider& provider,
                     const std::string& name) {
  const Party party = toParty(provider);
  for (const Provider* other : turn.state.providers.instances(session.id, name)) {
    if (!party.isSame(toParty(*other))) return true;
  }
  if (party.isTrusted()) return false;
  return std::any_of(session.known.begin(), session.known.end(), [&](const auto& entry) {
    const Party departed{entry.second.credentials, entry.second.origin};
    return entry.first.first == name && departed.isKnown() && !party.isSame(departed);
  });
}

std::string findLookAlike(const Turn& turn, const Session& session, const Provider& provider,
                          const std::string& name) {
  Providers& providers = turn.state.providers;
  if (!providers.instances(session.id, name).empty()) return {};  // it has been compared
  const auto resembles = [&](const std::string& other) {
    return other != name && looksLike(other, name);
  };
  for (const Provider* other : providers.inSession(session.id)) {
    if (other->peer != provider.peer && resembles(other->name)) return other->name;
  }
  const Party party{provider.credentials, provider.origin};
  for (const auto& [identity, known] : session.known) {
    const Party departed{known.credentials, known.origin};
    const bool paired = departed.isKnown() && !departed.isTrusted();
    if (paired && (party.isTrusted() || party.isSame(departed))) continue;
    const bool own =
        !known.reconnectToken.empty() && known.reconnectToken == provider.reconnectToken;
    if (!own && resembles(identity.first)) return identity.first;
  }
  if (party.isTrusted()) return {};
  for (const PairedProvider& other :
       turn.state.authenticator.pairedBesides(provider.credentials.token)) {
    const bool pages = provider.origin && other.origin;
    if (other.sessionId != session.id || (pages && provider.origin == other.origin)) continue;
    // A program may have been paired by this name before, and has lost that token.
    if (pages ? looksLike(other.name, name) : resembles(other.name)) return other.name;
  }
  return {};
}

void forgetOthers(const Turn& turn, Session& session, const Provider& provider) {
  const Party party = toParty(provider);
  std::vector<Identity> others;
  for (const auto& [identity, known] : session.known) {
    const Party departed{known.credentials, known.origin};
    if (identity.first == provider.name && departed.isKnown() && !party.isSame(departed)) {
      others.push_back(identity);
    }
  }
  for (const Identity& identity : others) forget(turn, session, identity);
}

void onBound(const Turn& turn, Session& session, Provider& provider) {
  KnownProvider& known = session.known[toIdentity(provider)];
  turn.cancel(known.departure);
  if (provider.providerId.empty() && !isTaken(turn, known.providerId)) {
    provider.providerId = known.providerId;
  }
  if (provider.providerId.empty()) provider.providerId = "p-" + turn.state.ids.shortId();
  known.providerId = provider.providerId;
  known.reconnectToken = provider.reconnectToken;
  known.credentials = provider.credentials;
  known.party = provider.party;
  known.origin = provider.origin;
  known.saved.reset();
  known.declared.reset();
  session.detachedRules.erase(toIdentity(provider));
  updateRetained(turn.state, session, toIdentity(provider));
  if (Binding* binding = provider.in(session.id)) {
    binding->revision = std::max(binding->revision, known.revision);
    if (known.startupGiven) binding->startupContext.clear();
  }
  session.boundToOtherSession.erase(provider.name);
  if (provider.isOwn()) session.announced.erase(provider.name);
  announce(turn, session, provider);
}

void onUnbound(const Turn& turn, Session& session, const Provider& provider, Departure departure,
               std::optional<Binding> saved) {
  const Identity identity = toIdentity(provider);
  if (departure == Departure::Goodbye) return forget(turn, session, identity);
  if (saved) detachRules(turn, session, provider, departure, *saved);
  KnownProvider& known = session.known[identity];
  turn.cancel(known.departure);
  known.departure = turn.schedule(Limit::ReconnectMs, DepartureDue{session.id, identity});
  if (saved) known.revision = saved->revision;
  known.saved = saved ? std::make_unique<Binding>(std::move(*saved)) : nullptr;
  if (provider.all) known.declared = std::make_unique<Binding>(provider.declared);
  known.departedAt = turn.now.steady;
  updateRetained(turn.state, session, identity);
  forgetTheOldest(turn, session, known.party);
}

void forgetDeparted(const Turn& turn, Session& session, const Identity& identity) {
  const auto at = session.known.find(identity);
  if (at == session.known.end()) return;
  at->second.departure = TimerId::None;
  const std::string name = identity.first;  // the argument may go with what is forgotten
  const std::string party = at->second.party;
  const bool held = session.detachedRules.contains(identity);
  forget(turn, session, identity);
  if (!held) return;
  if (rulesInForce(session)) {
    writeArrival(turn, session, party, name, LogLevel::Warning,
                 "tap: " + inLine(name) + " has not come back; its rules are no longer in force");
  }
  hooksChanged(turn, session);
}

void forgetToken(const Turn& turn, std::string_view token) {
  for (auto& [id, session] : turn.state.sessions.all()) {
    session.budgets.dropWaiting(token);
    dropHeldInjects(turn, session, token);
    std::vector<Identity> gone;
    for (const auto& [identity, known] : session.known) {
      if (known.departure != TimerId::None && known.credentials.token == token) {
        gone.push_back(identity);
      }
    }
    for (const Identity& identity : gone) forget(turn, session, identity);
    if (!gone.empty()) hooksChanged(turn, session);
  }
}

void expectReturn(const Turn& turn, Session& session, const std::string& name) {
  session.announced[name] = true;  // its hooks as well
  KnownProvider& known = session.known[{name, ""}];
  known.departure = turn.schedule(Limit::ReconnectMs, DepartureDue{session.id, {name, ""}});
}

std::optional<DepartedProvider> findDeparted(const Turn& turn, const Provider& provider,
                                             const Identity& identity,
                                             const std::string& reconnectToken) {
  if (reconnectToken.empty()) return std::nullopt;
  for (auto& [id, session] : turn.state.sessions.all()) {
    const auto at = session.known.find(identity);
    if (at == session.known.end() || at->second.departure == TimerId::None) continue;
    KnownProvider& known = at->second;
    if (known.reconnectToken.empty() || !equalConstantTime(known.reconnectToken, reconnectToken)) {
      continue;
    }
    if (known.credentials != provider.credentials || known.origin != provider.origin) continue;
    return DepartedProvider{&session, &known};
  }
  return std::nullopt;
}

void consumeReconnectToken(const Turn& turn, const Identity& identity,
                           const std::string& reconnectToken) {
  if (reconnectToken.empty()) return;
  for (auto& [id, session] : turn.state.sessions.all()) {
    const auto at = session.known.find(identity);
    if (at == session.known.end() || at->second.reconnectToken != reconnectToken) continue;
    at->second.reconnectToken.clear();
    at->second.saved.reset();
    at->second.declared.reset();
    updateRetained(turn.state, session, identity);
  }
}

}  // namespace tap::gateway
