// What a session can do to the gateway: one overload per message.
#include <optional>
#include <utility>

#include "base/encoding.h"
#include "base/utf8.h"
#include "gateway/calls/calls.h"
#include "gateway/calls/settle.h"
#include "gateway/core/gateway.h"
#include "gateway/registry/announcement.h"
#include "gateway/registry/pairing.h"
#include "gateway/registry/refusal.h"
#include "gateway/registry/session_end.h"
#include "gateway/registry/session_list.h"
#include "gateway/registry/session_output.h"
#include "gateway/registry/session_start.h"
#include "gateway/streams/events.h"
#include "gateway/streams/pushes.h"
#include "gateway/sync/refused_tools.h"
#include "gateway/sync/sync_schedule.h"
#include "protocol/provider/refused_requests.h"

namespace tap::gateway {

using protocol::Activity;
using protocol::LogLevel;

namespace {

void refuseLink(const Turn& turn, PeerId peer, std::string code, std::string message) {
  turn.log(LogLevel::Warning, "refused a session's link: " + message);
  turn.effect(SendEvent{peer, protocol::Refused{std::move(code), message}});
  closeLink(turn, peer, std::move(message));
  if (Session* session = turn.state.sessions.byPeer(peer)) sessionProcessGone(turn, *session);
}

bool secretIsRight(const Turn& turn, const std::string& secret) {
  const std::string& expected = turn.state.config.linkSecret;
  return expected.empty() || equalConstantTime(secret, expected);
}

protocol::PairedEntry describe(const Turn& turn, const PairedProvider& provider) {
  const Session* session = turn.state.sessions.find(provider.sessionId);
  return {provider.name, provider.origin.value_or(""), provider.sessionId,
          session == nullptr ? std::string() : session->label};
}

// Messages of a peer that may have no session yet.
struct Stranger {
  const Turn& turn;
  PeerId peer;

  void operator()(const protocol::Register& message) const {
    if (!knows(message.secret)) return;
    if (message.linkVersion != protocol::kLinkVersion) {
      return refuseLink(turn, peer, "LINK_VERSION",
                        "gateway " + turn.state.config.version + " speaks link version " +
                            std::to_string(protocol::kLinkVersion) + ", not " +
                            std::to_string(message.linkVersion));
    }
    if (turn.state.operators.sessionOf(peer) != nullptr) operatorGone(turn, peer);
    registerSession(turn, peer, message);
  }
  void operator()(const protocol::Drain& message) const {
    if (!knows(message.secret)) return;
    State& state = turn.state;
    if (std::exchange(state.draining, true)) return;
    turn.log(LogLevel::Info, "making room for version " + visible(message.version, false, 64));
    state.drainTimer = turn.schedule(Limit::DrainMs, DrainDue{});
    drainIfDone(turn);
  }
  void operator()(const protocol::ListPaired& message) const {
    if (!knows(message.secret)) return;
    protocol::Paired answer;
    for (const PairedProvider& provider : turn.state.authenticator.paired()) {
      answer.providers.push_back(describe(turn, provider));
    }
    turn.effect(SendEvent{peer, std::move(answer)});
  }
  void operator()(const protocol::RevokePaired& message) const {
    if (!knows(message.secret)) return;
    protocol::Paired answer;
    for (const RevokedToken& revoked : turn.state.authenticator.revoke(message.name)) {
      answer.providers.push_back(describe(turn, revoked.provider));
      endToken(turn, revoked.token, "the user has revoked this provider's token; pair again",
               Departure::Goodbye);
      turn.log(LogLevel::Info, "the user revoked the paired provider \"" +
                                   visible(message.name, false, 128) + "\"");
    }
    turn.effect(SendEvent{peer, std::move(answer)});
  }
  void operator()(const protocol::Operate& message) const {
    if (!knows(message.secret)) return;
    const Config& config = turn.state.config;
    turn.state.operators.admit(peer, message.sessionId);
    turn.effect(SendEvent{
        peer, protocol::Welcome{protocol::kLinkVersion, config.version, config.pid, config.port}});
  }
  // The process of a session that has ended may still be about: it is answered.
  void operator()(const protocol::Ping&) const {
    if (!ended()) return refuseUnregistered();
    turn.effect(SendEvent{peer, protocol::Pong{}});
  }
  void operator()(const protocol::Call& call) const {
    if (!ended()) return refuseUnregistered();
    refuseCall(turn, {nullptr, peer}, call, protocol::ErrorCode::Disconnected, kSessionOver);
  }
  // None of its rules hold any more.
  void operator()(const protocol::HookCheck& check) const {
    if (!ended()) return refuseUnregistered();
    turn.effect(SendEvent{peer, protocol::HookVerdict{check.checkId, std::nullopt, ""}});
  }
  void operator()(const protocol::PromptSubmitted& prompt) const {
    if (!ended()) return refuseUnregistered();
    turn.effect(SendEvent{peer, protocol::PromptContext{prompt.promptId, ""}});
  }
  void operator()(const protocol::SectionBuild& build) const {
    if (!ended()) return refuseUnregistered();
    turn.effect(SendEvent{peer, protocol::SectionText{build.buildId, std::nullopt}});
  }
  template <class Other>
  void operator()(const Other&) const {
    if (!ended()) refuseUnregistered();
  }

 private:
  // Whoever does not is refused.
  [[nodiscard]] bool knows(const std::string& secret) const {
    const bool right = secretIsRight(turn, secret);
    if (!right) refuseLink(turn, peer, "SECRET", "the link's secret is wrong");
    return right;
  }
  [[nodiscard]] bool ended() const { return turn.state.endedLinks.contains(peer); }
  void refuseUnregistered() const {
    refuseLink(turn, peer, "NOT_REGISTERED", "a session's first message is register");
  }
};

// What asks for the secret again is for anybody who knows it.
bool isOperators(const protocol::SessionMessage& message) {
  return !(std::holds_alternative<protocol::Register>(message) ||
           std::holds_alternative<protocol::Drain>(message) ||
           std::holds_alternative<protocol::ListPaired>(message) ||
           std::holds_alternative<protocol::RevokePaired>(message) ||
           std::holds_alternative<protocol::Operate>(message));
}

struct SessionReceiver {
  const Turn& turn;
  PeerId peer;
  Session& session;

  void operator()(const protocol::Register& message) const { Stranger{turn, peer}(message); }
  void operator()(const protocol::Drain& message) const { Stranger{turn, peer}(message); }
  void operator()(const protocol::ListPaired& message) const { Stranger{turn, peer}(message); }
  void operator()(const protocol::RevokePaired& message) const { Stranger{turn, peer}(message); }
  void operator()(const protocol::ShowPairings&) const { showPairings(turn, session); }
  // A session is no operator: each has a link of its own.
  void operator()(const protocol::Operate&) const {}
  void operator()(const protocol::Inspect&) const {}
  void operator()(const protocol::Trace&) const {}
  void operator()(const protocol::ListCalls&) const {}

  void operator()(const protocol::UseProvider& use) const {
    const protocol::Used used = useProvider(turn, session, use.provider);
    const LogLevel level =
        used.outcome == "asked" || used.outcome == "here" ? LogLevel::Info : LogLevel::Warning;
    tellTimeline(turn, session, level, "tap: " + used.message);
  }

  void operator()(const protocol::Update& update) const {
    if (update.mode) session.sync.setMode(*update.mode, turn.now.steady);
    if (update.builtins) learnBuiltins(*update.builtins);
    bool listed = false;
    if (update.label) {
      std::string label = visible(*update.label, false, 256);
      listed = std::exchange(session.label, label) != label;
    }
    if (update.cwd) listed = std::exchange(session.cwd, *update.cwd) != *update.cwd || listed;
    if (listed) announceSessions(turn);
    rescheduleSync(turn, session);
  }
  void operator()(const protocol::ActivityChanged& change) const {
    const Activity before = std::exchange(session.activity, change.activity);
    if (change.activity == Activity::UserPrompt) {
      turn.state.sessions.touch(session);
      turn.state.sessions.bringToForeground(session);
      announceSessions(turn);
      userHasSpoken(turn, session);
    }
    if (change.activity == Activity::Idle) releaseHeld(turn, session);
    if (change.activity == Activity::Idle && before != Activity::Idle && !session.ending) {
      const Slice text = protocol::encodeLifecycle(session.id, "idle");
      for (const Provider* provider : turn.state.providers.inSession(session.id)) {
        turn.send(provider->peer, text);
      }
    }
    rescheduleSync(turn, session);
  }
  void operator()(const protocol::Call& call) const { startCall(turn, session, call); }
  void operator()(const protocol::CancelCall& cancel) const { cancelCall(turn, session, cancel); }
  void operator()(const protocol::Synced& synced) const {
    if (session.sync.confirmed(synced.revision, turn.now.steady)) session.syncFailure.clear();
    rescheduleSync(turn, session);
  }
  void operator()(const protocol::SyncFailed& failed) const {
    if (!session.sync.failed(failed.revision, turn.now.steady)) return;
    session.syncFailure = visible(failed.message, false, 512);
    turn.log(LogLevel::Warning, "session " + session.id + " could not take its tools: " +
                                    visible(failed.message, false, 512));
    if (failed.refused.empty()) {
      tellTimeline(turn, session, LogLevel::Warning,
                   "tap: the tools could not be changed: " + failed.message);
    } else {
      refuseTools(turn, session, failed.refused, failed.message);
    }
    rescheduleSync(turn, session);
  }
  void operator()(const protocol::EventOccurred& event) const {
    forwardEvent(turn, session, event);
  }
  void operator()(const protocol::HookCheck& check) const { startCheck(turn, session, check); }
  void operator()(const protocol::PromptSubmitted& prompt) const {
    answerPrompt(turn, session, prompt);
  }
  void operator()(const protocol::SectionBuild& build) const { startBuild(turn, session, build); }
  void operator()(const protocol::HooksState& hooks) const { hooksSettled(turn, session, hooks); }
  void operator()(const protocol::EndSession& end) const { endSession(turn, session, end.reason); }
  void operator()(const protocol::Ping&) const { turn.effect(SendEvent{peer, protocol::Pong{}}); }

 private:
  // Known only after the join: a provider may have been faster.
  void learnBuiltins(const std::vector<std::string>& names) const {
    session.builtins = {names.begin(), names.end()};
    std::vector<std::string> clashes;
    for (const std::string& name : names) {
      for (const std::string_view tool : turn.state.providers.spellings(session.id, name)) {
        clashes.emplace_back(tool);
      }
    }
    if (!clashes.empty()) refuseTools(turn, session, clashes, "it has a tool of that name itself");
  }
};

void receive(const Turn& turn, PeerId peer, const protocol::SessionMessage& message) {
  State& state = turn.state;
  if (Session* session = state.sessions.byPeer(peer)) {
    std::visit(SessionReceiver{turn, peer, *session}, message);
  } else if (state.operators.sessionOf(peer) != nullptr && isOperators(message)) {
    operatorMessage(turn, peer, message);
  } else {
    std::visit(Stranger{turn, peer}, message);
  }
}

// Whether it is entitled to answers.
bool isKnown(State& state, PeerId peer) {
  return state.sessions.byPeer(peer) != nullptr || state.operators.sessionOf(peer) != nullptr ||
         state.endedLinks.contains(peer);
}

// Of those to whom that applies.
Caller callerAt(State& state, PeerId peer) {
  const std::string* chosen = state.operators.sessionOf(peer);
  return {chosen == nullptr ? state.sessions.byPeer(peer) : state.sessions.find(*chosen), peer};
}

}  // namespace

void Gateway::sessionText(PeerId peer, const Slice& text, Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  if (state_.closedLinks.contains(peer)) return;
  const Result<protocol::SessionMessage, std::string> message = sessionDecoder_.message(text);
  if (message) return receive(turn, peer, message.value());
  turn.log(LogLevel::Error, message.error());
  if (!isKnown(state_, peer)) return;
  std::optional<protocol::SessionEvent> answer =
      protocol::answerUnreadable(text.view(), message.error());
  if (!answer) return;
  if (auto* result = std::get_if<protocol::CallResult>(&*answer)) {
    return answerHere(turn, callerAt(state_, peer), protocol::toolOfUnreadable(text.view()),
                      protocol::argumentsOfUnreadable(text.view()), std::move(*result));
  }
  turn.effect(SendEvent{peer, std::move(*answer)});
}

void Gateway::sessionMessage(PeerId peer, const protocol::SessionMessage& message, Now now,
                             Effects& effects) {
  const Turn turn{state_, now, effects};
  if (state_.closedLinks.contains(peer)) return;
  const auto* call = std::get_if<protocol::Call>(&message);
  if (call == nullptr || call->args.empty()) return receive(turn, peer, message);
  const Result<Slice, std::string> args = sessionDecoder_.arguments(call->args);
  if (!args) {
    if (!isKnown(state_, peer)) return receive(turn, peer, message);
    const std::string_view given = call->args.view();
    return answerHere(turn, callerAt(state_, peer), call->tool, utf8::isValid(given) ? given : "",
                      protocol::refuseArguments(call->callId, call->tool, args.error()));
  }
  if (args.value().size() == call->args.size()) return receive(turn, peer, message);
  receive(turn, peer, protocol::Call{call->callId, call->tool, args.value()});  // without blanks
}

void Gateway::sessionGone(PeerId peer, Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  state_.closedLinks.erase(peer);
  state_.endedLinks.erase(peer);
  if (state_.operators.sessionOf(peer) != nullptr) operatorGone(turn, peer);
  if (Session* session = state_.sessions.byPeer(peer)) sessionProcessGone(turn, *session);
}

}  // namespace tap::gateway
