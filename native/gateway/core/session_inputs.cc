// Handles the messages of a session: one overload for each.
#include <optional>
#include <utility>

#include "base/encoding.h"
#include "base/utf8.h"
#include "gateway/calls/call_outcome.h"
#include "gateway/calls/calls.h"
#include "gateway/core/gateway.h"
#include "gateway/core/link_inputs.h"
#include "gateway/records/rows.h"
#include "gateway/registry/announcement.h"
#include "gateway/registry/pairing.h"
#include "gateway/registry/refusal.h"
#include "gateway/registry/session_end.h"
#include "gateway/registry/session_list.h"
#include "gateway/registry/session_output.h"
#include "gateway/registry/session_start.h"
#include "gateway/streams/events.h"
#include "gateway/streams/injects.h"
#include "gateway/streams/pushes.h"
#include "gateway/sync/refused_tools.h"
#include "gateway/sync/sync_schedule.h"
#include "gateway/sync/tools_in_force.h"
#include "protocol/provider/refused_requests.h"

namespace tap::gateway {

using protocol::Activity;
using protocol::LogLevel;

namespace {

// The messages that a link may send before its session has registered, or after it has ended.
struct UnregisteredLink {
  const Turn& turn;
  PeerId peer;

  void operator()(const protocol::Register& message) const {
    if (!checkSecret(turn, peer, message.secret)) return;
    if (message.linkVersion != protocol::kLinkVersion) {
      return refuseLink(turn, peer, "LINK_VERSION",
                        "gateway " + turn.state.config.version + " speaks link version " +
                            std::to_string(protocol::kLinkVersion) + ", not " +
                            std::to_string(message.linkVersion));
    }
    if (turn.state.controlClients.contains(peer)) controlClientGone(turn, peer);
    registerSession(turn, peer, message);
  }
  // The process of a session that has ended may still run: its requests are answered.
  void operator()(const protocol::Ping&) const {
    if (checkEnded()) turn.effect(SendEvent{peer, protocol::Pong{}});
  }
  void operator()(const protocol::Call& call) const {
    if (!checkEnded()) return;
    refuseCall(turn, {nullptr, peer}, call, protocol::ErrorCode::Disconnected, kSessionOver);
  }
  // The rules of a session end with it.
  void operator()(const protocol::HookCheck& check) const {
    if (!checkEnded()) return;
    turn.effect(SendEvent{peer, protocol::HookVerdict{check.checkId, std::nullopt, ""}});
  }
  void operator()(const protocol::PromptSubmitted& prompt) const {
    if (checkEnded()) turn.effect(SendEvent{peer, protocol::PromptContext{prompt.promptId, ""}});
  }
  void operator()(const protocol::RunCommand& command) const {
    if (!checkEnded()) return;
    turn.effect(
        SendEvent{peer, protocol::CommandResult{command.commandId, "tap: this session has ended"}});
  }
  void operator()(const protocol::SectionBuild& build) const {
    if (checkEnded())
      turn.effect(SendEvent{peer, protocol::SectionText{build.buildId, std::nullopt}});
  }
  // The process expects no answer to the others.
  void operator()(const protocol::Update&) const { (void)checkEnded(); }
  void operator()(const protocol::ActivityChanged&) const { (void)checkEnded(); }
  void operator()(const protocol::CancelCall&) const { (void)checkEnded(); }
  void operator()(const protocol::Synced&) const { (void)checkEnded(); }
  void operator()(const protocol::SyncFailed&) const { (void)checkEnded(); }
  void operator()(const protocol::EndSession&) const { (void)checkEnded(); }
  void operator()(const protocol::ShowPairings&) const { (void)checkEnded(); }
  void operator()(const protocol::UseProvider&) const { (void)checkEnded(); }
  void operator()(const protocol::EventOccurred&) const { (void)checkEnded(); }
  void operator()(const protocol::HooksState&) const { (void)checkEnded(); }
  void operator()(const protocol::SessionResult&) const { (void)checkEnded(); }

 private:
  // Whether the link had a session, which has ended; a link that never had one is refused.
  [[nodiscard]] bool checkEnded() const {
    const bool ended = turn.state.endedLinks.contains(peer);
    if (!ended) {
      refuseLink(turn, peer, "NOT_REGISTERED", "a session's first message is register");
    }
    return ended;
  }
};

// A control client's link is not a session's either, but may call tools.
struct ControlLink : UnregisteredLink {
  using UnregisteredLink::operator();
  void operator()(const protocol::Call& call) const { callFromControl(turn, peer, call); }
  void operator()(const protocol::CancelCall& cancel) const {
    cancelFromControl(turn, peer, cancel);
  }
  void operator()(const protocol::Ping&) const { turn.effect(SendEvent{peer, protocol::Pong{}}); }
  void operator()(const protocol::UseProvider& use) const {
    if (!refuseFeature(turn, peer)) useFromControl(turn, peer, use);
  }
};

struct SessionReceiver {
  const Turn& turn;
  PeerId peer;
  Session& session;

  // A process that registers again.
  void operator()(const protocol::Register& message) const {
    UnregisteredLink{turn, peer}(message);
  }
  void operator()(const protocol::ShowPairings&) const { showPairings(turn, session); }
  void operator()(const protocol::UseProvider& use) const {
    const protocol::Used used = useProvider(turn, session, use.provider);
    const LogLevel level =
        used.outcome == "asked" || used.outcome == "here" ? LogLevel::Info : LogLevel::Warning;
    writeTimeline(turn, session, level, "tap: " + used.message);
  }

  void operator()(const protocol::RunCommand& command) const {
    startCommand(turn, peer, session, command);
  }
  void operator()(const protocol::Update& update) const {
    if (update.mode) session.sync.setMode(*update.mode, turn.now.steady);
    if (update.builtins) updateBuiltins(*update.builtins);
    if (update.agentMode) updateAgentMode(*update.agentMode, update.agentModeBy);
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
    const bool isIdle = change.activity == Activity::Idle;
    if (isIdle) {
      recordTurn(turn, session);
    } else {
      noteTurn(turn, session);
    }
    if (isIdle != (before == Activity::Idle) && !session.ending) {
      sendActivity(isIdle ? "idle" : "busy", isIdle);
    }
    if (change.activity == Activity::UserPrompt) sendActivity("prompted", false);
    rescheduleSync(turn, session);
  }
  void operator()(const protocol::Call& call) const { startCall(turn, session, call); }
  void operator()(const protocol::CancelCall& cancel) const { cancelCall(turn, session, cancel); }
  void operator()(const protocol::Synced& synced) const {
    if (session.sync.confirmed(synced.revision, turn.now.steady)) {
      session.syncFailure.clear();
      syncSettled(turn, session, synced.revision, "");
      toolsInForce(turn, session, synced.revision);
    }
    rescheduleSync(turn, session);
  }
  void operator()(const protocol::SyncFailed& failed) const {
    if (!session.sync.failed(failed.revision, turn.now.steady)) return;
    session.syncFailure = visible(failed.message, false, 512);
    syncSettled(turn, session, failed.revision, session.syncFailure);
    toolsNotInForce(turn, session, failed.revision, session.syncFailure);
    turn.log(LogLevel::Warning, "session " + session.id + " could not take its tools: " +
                                    visible(failed.message, false, 512));
    if (failed.refused.empty()) {
      writeTimeline(turn, session, LogLevel::Warning,
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
  void operator()(const protocol::SessionResult& result) const {
    sessionAnswered(turn, peer, result);
  }
  void operator()(const protocol::EndSession& end) const { endSession(turn, session, end.reason); }
  void operator()(const protocol::Ping&) const { turn.effect(SendEvent{peer, protocol::Pong{}}); }

 private:
  // That it is busy, and that its user has spoken, is for tap's own features alone.
  void sendActivity(std::string_view activity, bool isForAll) const {
    const Slice text = protocol::encodeLifecycle(session.id, activity);
    for (const Provider* provider : turn.state.providers.inSession(session.id)) {
      if (isForAll || provider->isOwn()) turn.send(provider->peer, text);
    }
  }
  void updateAgentMode(const std::string& mode, const std::string& by) const {
    const std::string former = std::exchange(session.agentMode, visible(mode, false, 32));
    session.agentModeBy = visible(by, false, 32);
    if (session.agentMode == former || former.empty() || !isRecording(turn)) return;
    recordSession(turn, session, "mode",
                  session.agentMode + ", after " + former + ", by " + session.agentModeBy);
  }
  // Known only after the join: a provider may have been faster.
  void updateBuiltins(const std::vector<std::string>& names) const {
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

// Which receiver a message is for.
struct LinkReceiver {
  const Turn& turn;
  PeerId peer;

  void operator()(const protocol::SessionMessage& message) const {
    State& state = turn.state;
    if (Session* session = state.sessions.byPeer(peer)) {
      std::visit(SessionReceiver{turn, peer, *session}, message);
    } else if (state.controlClients.contains(peer)) {
      std::visit(ControlLink{{turn, peer}}, message);
    } else {
      std::visit(UnregisteredLink{turn, peer}, message);
    }
  }
  void operator()(const protocol::ControlMessage& message) const {
    receiveControl(turn, peer, message);
  }
};

void receive(const Turn& turn, PeerId peer, const protocol::LinkMessage& message) {
  std::visit(LinkReceiver{turn, peer}, message);
}

// Whether it is entitled to answers.
bool isKnown(State& state, PeerId peer) {
  return state.sessions.byPeer(peer) != nullptr || state.controlClients.contains(peer) ||
         state.endedLinks.contains(peer);
}

// The receiver of the outcome of a call on that link. REQUIRES: isKnown.
Caller callerAt(State& state, PeerId peer) {
  const std::string* chosen = state.controlClients.findSessionId(peer);
  return {chosen == nullptr ? state.sessions.byPeer(peer) : state.sessions.find(*chosen), peer};
}

}  // namespace

bool Gateway::linkOpened(PeerId peer, const Slice& text, Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  const Result<protocol::LinkMessage, std::string> message = sessionDecoder_.message(text);
  if (!message) {
    turn.log(LogLevel::Error, message.error());
    return false;
  }
  const auto* control = std::get_if<protocol::ControlMessage>(&message.value());
  const auto* open = std::get_if<protocol::OpenProvider>(control);
  if (open != nullptr) return openFeature(turn, peer, open->token);
  receive(turn, peer, message.value());
  return false;
}

void Gateway::sessionText(PeerId peer, const Slice& text, Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  if (state_.closedLinks.contains(peer)) return;
  const Result<protocol::LinkMessage, std::string> message = sessionDecoder_.message(text);
  if (message) return receive(turn, peer, message.value());
  turn.log(LogLevel::Error, message.error());
  if (!isKnown(state_, peer)) return;
  std::optional<protocol::SessionEvent> answer =
      protocol::answerUnreadable(text.view(), message.error());
  if (!answer) return;
  if (auto* result = std::get_if<protocol::CallResult>(&*answer)) {
    const protocol::Call call{result->callId, protocol::toolOfUnreadable(text.view()),
                              Slice::borrow(protocol::argumentsOfUnreadable(text.view()))};
    return answerHere(turn, callerAt(state_, peer), call, std::move(*result));
  }
  turn.effect(SendEvent{peer, std::move(*answer)});
}

void Gateway::sessionMessage(PeerId peer, const protocol::LinkMessage& message, Now now,
                             Effects& effects) {
  const Turn turn{state_, now, effects};
  if (state_.closedLinks.contains(peer)) return;
  const auto* session = std::get_if<protocol::SessionMessage>(&message);
  const auto* call = std::get_if<protocol::Call>(session);
  if (call == nullptr || call->args.empty()) return receive(turn, peer, message);
  const Result<Slice, std::string> args = sessionDecoder_.arguments(call->args);
  if (!args) {
    if (!isKnown(state_, peer)) return receive(turn, peer, message);
    protocol::Call refused = *call;
    if (!utf8::isValid(call->args.view())) refused.args = {};
    return answerHere(turn, callerAt(state_, peer), refused,
                      protocol::refuseArguments(call->callId, call->tool, args.error()));
  }
  if (args.value().size() == call->args.size()) return receive(turn, peer, message);
  protocol::Call trimmed = *call;
  trimmed.args = args.value();
  receive(turn, peer, trimmed);
}

void Gateway::sessionGone(PeerId peer, Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  state_.closedLinks.erase(peer);
  state_.endedLinks.erase(peer);
  dropCommands(turn, peer);
  dropRequests(turn, peer);
  dropSessionRequests(turn, peer, "the session's process has gone; it may come back");
  if (state_.controlClients.contains(peer)) controlClientGone(turn, peer);
  if (Session* session = state_.sessions.byPeer(peer)) sessionProcessGone(turn, *session);
}

}  // namespace tap::gateway
