#include "gateway/registry/binding.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "gateway/calls/call_slots.h"
#include "gateway/calls/calls.h"
#include "gateway/calls/file_results.h"
#include "gateway/hooks/hooks.h"
#include "gateway/records/rows.h"
#include "gateway/registry/announcement.h"
#include "gateway/registry/hello_checks.h"
#include "gateway/registry/lines.h"
#include "gateway/registry/party.h"
#include "gateway/registry/retained_data.h"
#include "gateway/registry/tool_names.h"
#include "gateway/registry/unbinding.h"
#include "gateway/streams/events.h"
#include "gateway/streams/pushes.h"
#include "gateway/sync/sync_schedule.h"

namespace tap::gateway {

using protocol::ErrorCode;
using protocol::LogLevel;
using protocol::ProviderState;
using protocol::Refusal;

namespace {

constexpr Millis kHelloWindow{60'000};

// The reconnect token moves an identity to this connection from an older one, which may be dead
// without having been closed.
void takeOver(const Turn& turn, const Provider& provider, const protocol::Hello& hello) {
  Provider* holder = takenOver(turn, provider, hello);
  if (holder == nullptr) return;
  const PeerId old = holder->peer;
  unbindAll(turn, *holder, Departure::TakenOver, "it has connected again");
  turn.state.providers.erase(old);
  turn.closeProvider(old, kPolicyViolation, "taken over by a new connection");
}

bool tooManyHellos(const Turn& turn, Provider& provider) {
  std::vector<Time>& hellos = provider.hellos;
  std::erase_if(hellos, [&](Time at) { return turn.now.steady - at >= kHelloWindow; });
  if (hellos.size() >= turn.limits().count(Limit::HellosPerMinute)) return true;
  hellos.push_back(turn.now.steady);
  return false;
}

// The declarations of a hello, for every session that it binds to.
Binding declaredBy(const protocol::Hello& hello) {
  Binding binding;
  binding.tools = hello.tools;
  applyHooks(binding, hello.hooks);
  binding.context = hello.context.value_or("");
  binding.startupContext = hello.startupContext;
  return binding;
}

void restore(Binding& binding, const Binding& saved, const protocol::Hello& hello) {
  if (!hello.declaresTools) binding.tools = saved.tools;
  if (!hello.declaresHooks) {
    binding.rules = saved.rules;
    binding.transforms = saved.transforms;
  }
  if (!hello.context) binding.context = saved.context;
}

// The bindings that a hello asks for. A provider that reconnects keeps what it does not declare.
struct Declaration {
  const protocol::Hello& hello;
  bool comesBack;

  [[nodiscard]] Binding in(const Session& session) const {
    Binding binding = declaredBy(hello);
    binding.sessionId = session.id;
    const auto known = session.known.find({hello.name, hello.instance});
    if (!comesBack || known == session.known.end()) return binding;
    if (known->second.reconnectToken != hello.reconnectToken) return binding;
    if (known->second.saved) restore(binding, *known->second.saved, hello);
    return binding;
  }
};

// A program of the user's keeps its budgets under another name, also where hello is refused; but
// not where another program has that name, since their pushes would count together.
void followName(const Turn& turn, const Provider& provider, const std::string& name) {
  if (provider.name.empty() || !toParty(provider).isTrusted()) return;
  for (auto& [id, session] : turn.state.sessions.all()) {
    const std::vector<Provider*> namesakes = turn.state.providers.instances(id, name);
    if (std::any_of(namesakes.begin(), namesakes.end(),
                    [&](const Provider* one) { return one->peer != provider.peer; })) {
      continue;
    }
    session.budgets.follow(programAccount(provider.name), programAccount(name), turn.now.steady);
  }
}

void announceBinding(const Turn& turn, Provider& provider, Session& session) {
  onBound(turn, session, provider);
  turn.log(LogLevel::Info, "provider " + inQuotes(provider.name) + " " + provider.providerId +
                               " bound to session " + session.id);
  if (isRecording(turn)) recordProvider(turn, provider, session.id, {"connected"});
}

void finishBinding(const Turn& turn, Provider& provider, Session& session) {
  turn.send(provider.peer, protocol::encodeLifecycle(session.id, "started"));
  toolsChanged(turn, session, {provider.name});
  if (provider.subscribe != 0) subscriptionsChanged(turn, session);
  answerWhenInForce(turn, session, provider, *provider.in(session.id), "hello", "");
}

void applyHello(Provider& provider, const protocol::Hello& hello) {
  if (provider.name != hello.name || provider.instance != hello.instance) {
    provider.providerId.clear();
  }
  provider.name = hello.name;
  provider.instance = hello.instance;
  provider.party = accountName(provider.credentials, provider.origin, hello.name);
  provider.metadata = hello.metadata;
  provider.all = hello.session == kAll;
  provider.subscribe = hello.subscribe;
  provider.declared = provider.all ? declaredBy(hello) : Binding();
  provider.filters.clear();
  provider.concurrency = hello.concurrency;
}

// The size of the data that the session remembers of the provider, and forgets once it is bound
// there.
size_t rememberedBytes(const Provider& provider, const Session& session) {
  const auto at = session.known.find({provider.name, provider.instance});
  if (at == session.known.end() || at->second.party != provider.party) return 0;
  return at->second.retainedShare.bytes();
}

// consumeReconnectToken also drops what its tokens could have restored in other sessions.
size_t freedByHello(const Turn& turn, const Provider& provider,
                    const std::vector<Session*>& sessions, const std::string& token) {
  const Identity identity{provider.name, provider.instance};
  const auto isUsedUp = [&](const std::string& its) {
    return !its.empty() && (its == token || its == provider.reconnectToken);
  };
  size_t freed = 0;
  for (const Session* session : sessions) freed += rememberedBytes(provider, *session);
  for (auto& [id, session] : turn.state.sessions.all()) {
    if (std::find(sessions.begin(), sessions.end(), &session) != sessions.end()) continue;
    const auto at = session.known.find(identity);
    if (at == session.known.end() || at->second.party != provider.party) continue;
    const KnownProvider& known = at->second;
    if (!isUsedUp(known.reconnectToken)) continue;
    if (known.saved) freed += estimateBytes(*known.saved);
    if (known.declared) freed += estimateBytes(*known.declared);
  }
  return freed;
}

// For what it declares and what will be remembered of it.
std::optional<Refusal> evictFor(const Turn& turn, const Provider& provider,
                                const std::vector<Session*>& sessions,
                                const std::vector<Binding>& bindings, const std::string& token) {
  SizeChange room{provider.metadata.size(), freedByHello(turn, provider, sessions, token)};
  if (provider.all) room.taken += estimateBytes(provider.declared) * (bindings.size() + 1);
  for (const Binding& binding : bindings) {
    room.taken += estimateBytes(binding) + estimateDetachedBytes(binding) + kKnownBytes;
  }
  return evict(turn, provider.party, room, "hello", "");
}

// Why it cannot have these bindings in these sessions.
std::optional<Refusal> cannotBindAll(const Turn& turn, const Provider& provider,
                                     const std::vector<Session*>& sessions,
                                     const std::vector<Binding>& bindings,
                                     const std::string& token) {
  for (size_t i = 0; i < bindings.size(); ++i) {
    if (auto refusal = cannotBind(turn, *sessions[i], provider, bindings[i])) return refusal;
  }
  return evictFor(turn, provider, sessions, bindings, token);
}

}  // namespace

Provider* takenOver(const Turn& turn, const Provider& provider, const protocol::Hello& hello) {
  if (hello.reconnectToken.empty()) return nullptr;
  Provider* holder = turn.state.providers.byReconnectToken(hello.reconnectToken);
  if (holder == nullptr || holder->peer == provider.peer || holder->name != hello.name ||
      holder->instance != hello.instance || holder->credentials != provider.credentials ||
      holder->origin != provider.origin) {
    return nullptr;
  }
  return holder;
}

std::optional<Refusal> bindProvider(const Turn& turn, Provider& provider, protocol::Hello hello) {
  if (hello.protocolVersion != protocol::kProtocolVersion) {
    return Refusal{ErrorCode::UnsupportedVersion, "this gateway speaks protocolVersion 2", "hello"};
  }
  if (tooManyHellos(turn, provider)) {
    return Refusal{ErrorCode::RateLimited, "too many hellos; wait a minute", "hello"};
  }
  // The rebind barrier: the old state is gone before the new one is looked at.
  cancelCallsOfProvider(turn, provider, "the provider has bound itself again");
  unbindAll(turn, provider, Departure::Moved, "it has bound itself again");
  takeOver(turn, provider, hello);
  const Identity identity{hello.name, hello.instance};
  const auto departed = findDeparted(turn, provider, identity, hello.reconnectToken);
  const bool comesBack = departed.has_value();
  if (departed && !hello.session) {
    hello.session = departed->known->declared ? std::string(kAll) : departed->session->id;
  }
  std::optional<Binding> formerly;  // what it had declared for all sessions
  if (departed && departed->known->declared) formerly = *departed->known->declared;
  Result<std::vector<Session*>, Refusal> chosen = chooseSessions(turn, provider, hello);
  if (!chosen) return chosen.error();
  if (auto refusal = unauthorized(provider, hello)) return refusal;
  const std::string formerId = departed ? departed->known->providerId : std::string();
  const Declaration declaration{hello, comesBack};
  std::vector<Binding> bindings;
  followName(turn, provider, hello.name);
  applyHello(provider, hello);
  if (formerly) restore(provider.declared, *formerly, hello);
  for (const Session* session : chosen.value()) bindings.push_back(declaration.in(*session));
  if (auto refusal =
          cannotBindAll(turn, provider, chosen.value(), bindings, hello.reconnectToken)) {
    declareNothing(provider);
    return refusal;
  }
  if (comesBack) provider.providerId = formerId;
  consumeReconnectToken(turn, identity, hello.reconnectToken);
  consumeReconnectToken(turn, identity, provider.reconnectToken);
  provider.reconnectToken = turn.state.authenticator.issueReconnectToken();
  provider.state = ProviderState::Bound;
  turn.cancel(provider.deadline);
  for (Session* session : chosen.value()) forgetOthers(turn, *session, provider);
  for (size_t i = 0; i < bindings.size(); ++i) {
    turn.state.providers.bind(provider, std::move(bindings[i]));
    announceBinding(turn, provider, *chosen.value()[i]);
  }
  updateRetained(turn.state, provider);
  if (provider.providerId.empty()) provider.providerId = "p-" + turn.state.ids.shortId();
  const std::string folder = preparePersistDir(turn, provider);
  turn.send(provider.peer, protocol::encodeHelloAck(
                               {provider.providerId,
                                provider.all ? kAll : std::string_view(chosen.value().front()->id),
                                provider.reconnectToken, folder}));
  for (Session* session : chosen.value()) finishBinding(turn, provider, *session);
  noticeMove(turn, provider);
  return std::nullopt;
}

std::optional<Refusal> sessionReady(const Turn& turn, Provider& provider,
                                    const std::string& sessionId) {
  const std::string type = "session.ready";
  if (!provider.all) {
    return Refusal{ErrorCode::Unauthorized, "session.ready is for providers bound to \"all\"",
                   type};
  }
  Session* session = turn.state.sessions.find(sessionId);
  if (session == nullptr || session->ending) {
    return Refusal{ErrorCode::InvalidSession,
                   "there is no session " + inQuotes(visible(sessionId, false, 128)), type};
  }
  if (provider.in(sessionId) != nullptr) return std::nullopt;
  if (auto refusal = identityTaken(turn, *session, provider, provider.name, provider.instance)) {
    refusal->replyTo = type;
    return refusal;
  }
  Binding binding = provider.declared;
  if (auto reason = toolConflict(turn, *session, provider, binding.tools)) {
    return Refusal{ErrorCode::ToolConflict, *reason, type};
  }
  // The session will remember what it has declared for all of them, too.
  const SizeChange room{2 * estimateBytes(binding) + estimateDetachedBytes(binding) + kKnownBytes,
                        rememberedBytes(provider, *session)};
  if (auto refusal = evict(turn, provider.party, room, type, "")) return refusal;
  binding.sessionId = sessionId;
  turn.state.providers.bind(provider, std::move(binding));
  announceBinding(turn, provider, *session);
  updateRetained(turn.state, provider);
  copyFiltersToSession(turn, provider, *session);
  finishBinding(turn, provider, *session);
  return std::nullopt;
}

void bindOwnProviders(const Turn& turn, const Session& session) {
  std::vector<Provider*> own = turn.state.providers.all();
  std::erase_if(own, [](const Provider* one) { return !one->isOwn() || !one->all; });
  std::sort(own.begin(), own.end(),
            [](const Provider* a, const Provider* b) { return a->peer < b->peer; });
  for (Provider* provider : own) {
    if (const auto refusal = sessionReady(turn, *provider, session.id)) {
      turn.send(provider->peer, protocol::encodeError(*refusal, provider->providerId, session.id));
    }
  }
}

}  // namespace tap::gateway
