// Handles the messages of a control client: one overload for each.
#include <string>
#include <utility>

#include "base/encoding.h"
#include "gateway/calls/call_outcome.h"
#include "gateway/control/inspection.h"
#include "gateway/core/link_inputs.h"
#include "gateway/registry/pairing.h"
#include "gateway/registry/refusal.h"
#include "gateway/registry/session_end.h"
#include "gateway/registry/session_output.h"

namespace tap::gateway {

using protocol::LogLevel;

namespace {

protocol::PairedEntry describe(const Turn& turn, const PairedProvider& provider) {
  const Session* session = turn.state.sessions.find(provider.sessionId);
  return {provider.name, provider.origin.value_or(""), provider.sessionId,
          session == nullptr ? std::string() : session->label};
}

struct ControlReceiver {
  const Turn& turn;
  PeerId peer;

  void operator()(const protocol::OpenProvider&) const {
    refuseLink(turn, peer, "NOT_REGISTERED",
               "provider.open comes first on a link, and on a socket only");
  }
  void operator()(const protocol::OpenControl& open) const {
    const auto feature = turn.state.authenticator.checkFeature(open.secret);
    if (!feature && !checkSecret(turn, peer, open.secret)) return;
    if (turn.state.sessions.byPeer(peer) != nullptr) {
      return refuseLink(turn, peer, "NOT_REGISTERED", "a session is not a control client");
    }
    const Config& config = turn.state.config;
    turn.state.controlClients.open(peer, open.sessionId, feature ? feature->token : "");
    turn.effect(SendEvent{
        peer, protocol::Welcome{protocol::kLinkVersion, config.version, config.pid, config.port}});
  }
  void operator()(const protocol::Drain& drain) const {
    if (!checkSecret(turn, peer, drain.secret)) return;
    State& state = turn.state;
    if (std::exchange(state.draining, true)) return;
    turn.log(LogLevel::Info, "making room for version " + visible(drain.version, false, 64));
    state.drainTimer = turn.schedule(Limit::DrainMs, DrainDue{});
    drainIfDone(turn);
  }
  void operator()(const protocol::ListPaired& list) const {
    if (!checkSecret(turn, peer, list.secret)) return;
    protocol::Paired answer;
    for (const PairedProvider& provider : turn.state.authenticator.paired()) {
      answer.providers.push_back(describe(turn, provider));
    }
    turn.effect(SendEvent{peer, std::move(answer)});
  }
  void operator()(const protocol::RevokePaired& revoke) const {
    if (!checkSecret(turn, peer, revoke.secret)) return;
    protocol::Paired answer;
    for (const RevokedToken& revoked : turn.state.authenticator.revoke(revoke.name)) {
      answer.providers.push_back(describe(turn, revoked.provider));
      endToken(turn, revoked.token, "the user has revoked this provider's token; pair again",
               Departure::Goodbye);
      turn.log(LogLevel::Info,
               "the user revoked the paired provider \"" + visible(revoke.name, false, 128) + "\"");
    }
    turn.effect(SendEvent{peer, std::move(answer)});
  }
  void operator()(const protocol::Inspect&) const {
    if (isOpenToAll()) {
      turn.effect(SendEvent{peer, protocol::Inspection{describeEverything(turn)}});
    }
  }
  void operator()(const protocol::Trace&) const {
    if (!isOpenToAll()) return;
    turn.state.controlClients.trace(peer);
    turn.log(LogLevel::Info, "trace started");
  }
  void operator()(const protocol::ListCalls& list) const {
    if (isOpenToAll()) {
      turn.effect(SendEvent{peer, protocol::CallsLogged{turn.state.log.json(list.after)}});
    }
  }
  void operator()(const protocol::HostRequest& request) const {
    if (isOpen()) startRequest(turn, peer, request);
  }
  // Nobody else has a use for it.
  void operator()(const protocol::PermissionCheck& check) const {
    if (!isOpen()) return;
    if (!turn.state.controlClients.isFeature(peer)) {
      return refuseLink(turn, peer, "UNAUTHORIZED",
                        "only a link that a feature token has opened may send permission.check");
    }
    startCheckOfFeature(turn, peer, check);
  }

 private:
  // Whether the link is a control client's; it is refused if not.
  [[nodiscard]] bool isOpen() const {
    const bool open = turn.state.controlClients.contains(peer);
    if (!open) {
      refuseLink(turn, peer, "NOT_REGISTERED", "a control client's first message is control.open");
    }
    return open;
  }
  // The same, with the gateway's secret.
  [[nodiscard]] bool isOpenToAll() const {
    if (!isOpen()) return false;
    return !refuseFeature(turn, peer);
  }
};

}  // namespace

void refuseLink(const Turn& turn, PeerId peer, std::string code, std::string message) {
  turn.log(LogLevel::Warning, "refused a link: " + message);
  endLink(turn, peer, std::move(code), std::move(message));
}

void endLink(const Turn& turn, PeerId peer, std::string code, std::string message) {
  turn.effect(SendEvent{peer, protocol::Refused{std::move(code), message}});
  closeLink(turn, peer, std::move(message));
  if (turn.state.controlClients.contains(peer)) controlClientGone(turn, peer);
  if (Session* session = turn.state.sessions.byPeer(peer)) sessionProcessGone(turn, *session);
}

bool refuseFeature(const Turn& turn, PeerId peer) {
  if (!turn.state.controlClients.isFeature(peer)) return false;
  refuseLink(
      turn, peer, "UNAUTHORIZED",
      "a link that a feature token has opened may send host.request, permission.check, call, "
      "cancel and ping only");
  return true;
}

bool openFeature(const Turn& turn, PeerId peer, const std::string& token) {
  const auto credentials = turn.state.authenticator.checkFeature(token);
  if (!credentials) {
    refuseLink(turn, peer, "TOKEN", "the feature token is wrong, or was revoked");
    return false;
  }
  if (turn.state.draining) {
    refuseLink(turn, peer, "DRAINING", "this gateway is about to exit; connect to the next one");
    return false;
  }
  Provider& provider = turn.state.providers.add(peer, turn.limits());
  provider.upgraded = true;
  provider.since = turn.now.steady;
  turn.trace(peer, protocol::TraceKind::Opened, Slice());
  admit(turn, provider, *credentials, "");
  return true;
}

bool checkSecret(const Turn& turn, PeerId peer, const std::string& secret) {
  const std::string& expected = turn.state.config.linkSecret;
  if (expected.empty() || equalConstantTime(secret, expected)) return true;
  refuseLink(turn, peer, "SECRET", "the link's secret is wrong");
  return false;
}

void receiveControl(const Turn& turn, PeerId peer, const protocol::ControlMessage& message) {
  std::visit(ControlReceiver{turn, peer}, message);
}

}  // namespace tap::gateway
