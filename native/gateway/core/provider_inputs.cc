// Handles the messages of a provider's connection: one overload for each.
#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "gateway/calls/calls.h"
#include "gateway/core/gateway.h"
#include "gateway/registry/binding.h"
#include "gateway/registry/message_patterns.h"
#include "gateway/registry/pairing.h"
#include "gateway/registry/refusal.h"
#include "gateway/registry/unbinding.h"
#include "gateway/streams/pushes.h"
#include "gateway/sync/updates.h"
#include "ws/frame.h"

namespace tap::gateway {

using protocol::ErrorCode;
using protocol::LogLevel;
using protocol::ProviderMessageType;
using protocol::ProviderState;
using protocol::Refusal;

namespace {

// A flood is over when this long nothing had to be slowed.
constexpr Millis kCalm{10'000};
constexpr size_t kMaxPath = 4096;
constexpr auto kNormal = static_cast<uint16_t>(ws::CloseCode::Normal);
constexpr auto kTryLater = static_cast<uint16_t>(ws::CloseCode::TryAgainLater);

// Before a valid auth nothing but the next step of it is taken.
bool isBeforeAuth(ProviderState state) {
  return state == ProviderState::AwaitAuth || state == ProviderState::AwaitPairing;
}

std::string wrongToken(const std::string& tokenFile) {
  return "wrong token; read it again from " +
         (tokenFile.empty() ? "the token file of this gateway's COPILOT_HOME"
                            : visible(tokenFile, false, kMaxPath)) +
         ": each start of the gateway writes a new one";
}

struct ProviderReceiver {
  const Turn& turn;
  Provider& provider;
  const protocol::ProviderDecoder& decoder;  // with the message opened

  void answer(std::optional<Refusal> refusal) const {
    if (!refusal) return;
    refusal->sessionId = decoder.sessionId();
    refuse(turn, provider, *refusal);
  }

  void operator()(const protocol::Auth& auth) const {
    if (auth.pair) return answer(startPairing(turn, provider, auth));
    const auto credentials = turn.state.authenticator.check(auth.token, provider.origin);
    if (credentials && isUsedUp(*credentials)) return refuseConnection();
    if (credentials) return admit(turn, provider, *credentials, "");
    refuse(turn, provider,
           notAuthenticated(provider.isWebPage()
                                ? "a web page can only use its own paired token: pair with "
                                  "{\"type\":\"auth\",\"mode\":\"pair\"}"
                                : wrongToken(turn.state.config.tokenFile),
                            "auth"));
  }
  // Only tap's own features have groups of tools.
  void dropGroups(std::vector<protocol::ToolDefinition>& tools) const {
    if (provider.isOwn()) return;
    for (protocol::ToolDefinition& tool : tools) tool.group.clear();
  }
  // The line that the user sees, and how turns are counted, are theirs alone, too.
  void dropOwnFields(protocol::Push& push) const {
    if (provider.isOwn()) return;
    push.display.clear();
    push.immediate = false;
    push.cause = protocol::Cause::None;
  }
  // Whether as many connections as may have it have this paired token.
  [[nodiscard]] bool isUsedUp(const Credentials& credentials) const {
    if (credentials.trust != protocol::Trust::External) return false;
    const std::vector<Provider*> all = turn.state.providers.all();
    const auto open = std::count_if(all.begin(), all.end(), [&](const Provider* other) {
      return other->credentials.token == credentials.token;
    });
    return static_cast<size_t>(open) >= turn.limits().count(Limit::ConnectionsPerToken);
  }
  void refuseConnection() const {
    const std::string why = "this token has " +
                            std::to_string(turn.limits().get(Limit::ConnectionsPerToken)) +
                            " connections; close one first";
    const PeerId peer = provider.peer;
    refuse(turn, provider, {ErrorCode::RateLimited, why, "auth"});
    if (Provider* still = turn.state.providers.find(peer)) {
      dropProvider(turn, *still, kTryLater, why, Departure::Lost);
    }
  }
  void operator()(const protocol::AuthConfirm& confirm) const {
    answer(confirmPairing(turn, provider, confirm));
  }
  void operator()(protocol::Hello& hello) const {
    dropGroups(hello.tools);
    answer(bindProvider(turn, provider, std::move(hello)));
  }
  void operator()(const protocol::ToolResult& result) const {
    completeCall(turn, provider, result);
  }
  void operator()(const protocol::ToolProgress& progress) const {
    progressCall(turn, provider, progress);
  }
  void operator()(protocol::Push& push) const {
    dropOwnFields(push);
    turn.state.providers.touch(provider);
    answer(acceptPush(turn, provider, push));
  }
  void operator()(const protocol::Withdraw& withdraw) const {
    answer(withdrawInject(turn, provider, withdraw));
  }
  void operator()(protocol::ToolsUpdate& update) const {
    dropGroups(update.tools);
    answer(updateTools(turn, provider, update));
  }
  void operator()(const protocol::HooksUpdate& update) const {
    answer(updateHooks(turn, provider, update));
  }
  void operator()(const protocol::ContextUpdate& update) const {
    answer(updateContext(turn, provider, update));
  }
  void operator()(const protocol::GateResult& result) const { answerGate(turn, provider, result); }
  void operator()(const protocol::TransformResult& result) const {
    answerTransform(turn, provider, result);
  }
  void operator()(const protocol::FilterSet& filter) const {
    answer(setFilter(turn, provider, filter));
  }
  void operator()(const protocol::StreamQuery& query) const {
    answer(queryStreams(turn, provider, query));
  }
  void operator()(const protocol::SessionReady& ready) const {
    answer(sessionReady(turn, provider, ready.sessionId));
  }
  void operator()(const protocol::ShutdownReady& ready) const {
    answer(shutdownReady(turn, provider, ready.sessionId));
  }
  void operator()(const protocol::Goodbye& goodbye) const {
    turn.log(LogLevel::Info, "provider \"" + provider.name + "\" disconnected (" +
                                 visible(goodbye.reason, false, 256) + ")");
    dropProvider(turn, provider, kNormal, "goodbye", Departure::Goodbye);
  }
};

// A bad message while calls are pending may have been the answer to one (terminal semantics, 4).
void refuseUncorrelated(const Turn& turn, Provider& provider, const Refusal& refusal) {
  const bool drop = failFast(turn, provider, refusal);
  const PeerId peer = provider.peer;
  refuse(turn, provider, refusal);
  if (!drop) return;
  if (Provider* still = turn.state.providers.find(peer)) {
    dropProvider(turn, *still, kPolicyViolation,
                 "it sent something unreadable while several calls were pending", Departure::Lost);
  }
}

void refuseBadResult(const Turn& turn, Provider& provider, std::string_view callId,
                     const Refusal& refusal) {
  if (callId.empty()) return refuseUncorrelated(turn, provider, refusal);
  failCall(turn, provider, callId, refusal.code, "its answer was not valid: " + refusal.message);
  refuse(turn, provider, refusal);
}

// A message that answers a request and cannot be read: the request fails at once.
void refuseBadAnswer(const Turn& turn, Provider& provider, ProviderMessageType type,
                     std::string_view id, const Refusal& refusal) {
  const std::string why = "its answer was not valid: " + refusal.message;
  if (type == ProviderMessageType::ToolResult) {
    return refuseBadResult(turn, provider, id, refusal);
  }
  if (type == ProviderMessageType::GateResult) failGate(turn, provider.peer, id, why);
  if (type == ProviderMessageType::TransformResult) failTransform(turn, provider.peer, id, why);
  refuse(turn, provider, refusal);
}

// Unasked-for messages are counted; a provider over its allowance is read more slowly, and one that
// never stops is closed.
void slowDown(const Turn& turn, Provider& provider) {
  const Time now = turn.now.steady;
  const Time before = std::exchange(provider.lastThrottled, now);
  if (!provider.throttledSince || now - before > kCalm) {
    provider.throttledSince = now;
    turn.log(LogLevel::Warning, "provider \"" + provider.name + "\" sends too fast: slowed down");
  }
  if (std::exchange(provider.paused, true)) return;
  turn.effect(PauseReading{provider.peer});
  turn.state.timers.schedule(turn.now.steady + provider.allowance.untilHalf(),
                             ThrottleDue{provider.peer});
}

void countMessage(const Turn& turn, Provider& provider) {
  if (provider.isInProcess() || provider.allowance.take(turn.now.steady)) return;
  slowDown(turn, provider);
}

// Compiling patterns is work: it counts as that many more messages.
void countWork(const Turn& turn, Provider& provider, int64_t work) {
  if (work == 0 || provider.isInProcess()) return;
  provider.allowance.charge(work);
  if (!provider.allowance.has(turn.now.steady)) slowDown(turn, provider);
}

// Whether `a` is evicted before `b`: first connections that have sent nothing, then the oldest.
bool isEvictedBefore(const Provider& a, const Provider& b) {
  return a.upgraded != b.upgraded ? !a.upgraded : a.peer < b.peer;
}

// Evicts an unauthenticated connection, so that strangers (a web page, for example) cannot keep
// providers out. Each connection first has some time to authenticate: otherwise a flood of new ones
// would end every handshake, including a provider's.
bool evictConnection(const Turn& turn) {
  Provider* first = nullptr;
  for (Provider* provider : turn.state.providers.all()) {
    if (provider->state != ProviderState::AwaitAuth) continue;
    if (turn.now.steady - provider->since < turn.limits().time(Limit::StrangerMs)) continue;
    if (first == nullptr || isEvictedBefore(*provider, *first)) first = provider;
  }
  if (first == nullptr) return false;
  turn.log(LogLevel::Warning,
           "too many connections: the gateway closes one that has not authenticated");
  dropProvider(turn, *first, kTryLater, "others wait; authenticate at once", Departure::Lost);
  return true;
}

bool isOpenQuestion(const Questions& questions, const Provider& provider, std::string_view callId) {
  const Question* question = questions.find(callId);
  return question != nullptr && question->provider == provider.peer;
}

// An answer that was asked for, by tool.call or by tool.cancel.
bool acceptAnswer(const Turn& turn, Provider& provider, ProviderMessageType type,
                  std::string_view callId) {
  if (type == ProviderMessageType::GateResult) {
    return isOpenQuestion(turn.state.checks.gates, provider, callId);
  }
  if (type == ProviderMessageType::TransformResult) {
    return isOpenQuestion(turn.state.sections.transforms, provider, callId);
  }
  if (type != ProviderMessageType::ToolResult) return false;
  if (isAwaited(turn, provider, callId)) return true;
  if (provider.cancelsToAnswer == 0) return false;
  --provider.cancelsToAnswer;
  return true;
}

// A message that is legal now: it is read in full, and done.
void readBody(const Turn& turn, Provider& provider, protocol::ProviderDecoder& decoder,
              ProviderMessageType type) {
  MessagePatterns patterns(turn, provider, decoder);
  Result<protocol::ProviderMessage, Refusal> message = decoder.body(patterns);
  countWork(turn, provider, patterns.charged());
  if (!message) {
    if (isBeforeAuth(provider.state)) {
      return refuse(turn, provider, notAuthenticated(message.error().message, "auth"));
    }
    return refuseBadAnswer(turn, provider, type, decoder.callId(),
                           patterns.explain(message.error()));
  }
  if (const auto refusal = patterns.overdrawn(message.value(), type)) {
    return refuse(turn, provider, *refusal);
  }
  std::visit(ProviderReceiver{turn, provider, decoder}, message.value());
}

}  // namespace

void Gateway::providerAccepted(PeerId peer, Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  const bool full = state_.providers.connections() >= turn.limits().count(Limit::Connections);
  if (state_.draining || (full && !evictConnection(turn))) {
    turn.log(LogLevel::Warning, "refused a connection: too many are open");
    turn.closeProvider(peer, kTryLater, "too many connections; try again later");
    return;
  }
  Provider& provider = state_.providers.add(peer, turn.limits());
  provider.since = now.steady;
  provider.deadline = turn.schedule(Limit::HandshakeMs, UnauthenticatedDue{peer});
}

void Gateway::providerUpgraded(PeerId peer, std::optional<std::string> origin, Now now,
                               Effects& effects) {
  const Turn turn{state_, now, effects};
  Provider* provider = state_.providers.find(peer);
  if (provider == nullptr) return;
  provider->upgraded = true;
  provider->origin = std::move(origin);
  turn.trace(peer, protocol::TraceKind::Opened, Slice(provider->origin.value_or("")));
  turn.cancel(provider->deadline);
  provider->deadline = turn.schedule(Limit::AuthMs, UnauthenticatedDue{peer});
}

void Gateway::providerAdmitted(PeerId peer, bool feature, Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  Provider& provider = state_.providers.add(peer, turn.limits());
  provider.upgraded = true;
  admit(turn, provider, {protocol::Trust::InProcess, "", ""}, "");
  provider.trusted = feature;
}

void Gateway::providerPong(PeerId peer) {
  if (Provider* provider = state_.providers.find(peer)) provider->noteReceived();
}

void Gateway::providerText(PeerId peer, const Slice& text, Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  Provider* provider = state_.providers.find(peer);
  if (provider == nullptr) return;
  provider->noteReceived();
  turn.trace(peer, protocol::TraceKind::Received, text);
  const ProviderState state = provider->state;
  const Result<ProviderMessageType, Refusal> opened = decoder_.open(text);
  const bool bad = !opened;
  const std::string_view callId = decoder_.callId();
  if (bad || !acceptAnswer(turn, *provider, opened.value(), callId)) {
    countMessage(turn, *provider);
  }
  if (bad && isBeforeAuth(state)) {
    return refuse(turn, *provider,
                  notAuthenticated("expected auth as the first message: " + opened.error().message,
                                   opened.error().replyTo));
  }
  if (bad) {
    const Refusal& refusal = opened.error();
    if (refusal.replyTo == "tool.result") {
      return refuseBadResult(turn, *provider, callId, refusal);
    }
    // An unknown or another known type cannot have been an answer to a call.
    if (refusal.code == ErrorCode::UnknownType || !refusal.replyTo.empty()) {
      return refuse(turn, *provider, refusal);
    }
    return refuseUncorrelated(turn, *provider, refusal);
  }
  const protocol::ProviderMessageRow& row = protocol::row(opened.value());
  if (provider->credentials.trust < row.minTrust && !isBeforeAuth(state)) {
    const std::string type(row.type);
    return refuse(turn, *provider,
                  {ErrorCode::Unauthorized, "an external provider cannot send " + type, type});
  }
  if ((row.legalStates & protocol::in(state)) == 0) {
    const std::string type(row.type);
    if (isBeforeAuth(state)) {
      return refuse(turn, *provider,
                    notAuthenticated("expected auth as the first message, got " + type, type));
    }
    return refuse(turn, *provider,
                  {ErrorCode::Unauthorized, type + " is not allowed in this state", type});
  }
  readBody(turn, *provider, decoder_, opened.value());
}

void Gateway::providerOversize(PeerId peer, uint64_t size, Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  Provider* provider = state_.providers.find(peer);
  if (provider == nullptr) return;
  const bool first = provider->state == ProviderState::AwaitAuth;
  const Limit limit = first ? Limit::AuthBytes : Limit::ResultBytes;
  const std::string message = "the message has at least " + std::to_string(size) +
                              " bytes, at most " + std::to_string(turn.limits().get(limit)) +
                              " are read";
  countMessage(turn, *provider);
  if (isBeforeAuth(provider->state)) {
    return refuse(turn, *provider, notAuthenticated(message, ""));
  }
  refuseUncorrelated(turn, *provider, {ErrorCode::PayloadTooLarge, message, ""});
}

void Gateway::providerGone(PeerId peer, Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  Provider* provider = state_.providers.find(peer);
  if (provider == nullptr) return;
  turn.trace(peer, protocol::TraceKind::Closed, Slice::borrow("its connection was lost"));
  unbindAll(turn, *provider, Departure::Lost, "its connection was lost");
  turn.cancel(provider->deadline);
  state_.authenticator.cancelPairing(peer);
  state_.providers.erase(peer);
}

void Gateway::providerBacklog(PeerId peer, size_t bytes, Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  Provider* provider = state_.providers.find(peer);
  if (provider == nullptr || bytes <= turn.limits().bytes(Limit::OutboundBytes)) return;
  dropProvider(turn, *provider, kPolicyViolation, "it does not read what is sent to it",
               Departure::Lost);
}

}  // namespace tap::gateway
