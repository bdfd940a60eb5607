#include "gateway/registry/pairing.h"

#include <utility>

#include "base/encoding.h"
#include "base/names.h"
#include "gateway/registry/refusal.h"
#include "gateway/registry/session_output.h"

namespace tap::gateway {

using protocol::ErrorCode;
using protocol::LogLevel;
using protocol::ProviderState;
using protocol::Refusal;

namespace {

std::string describe(const PairedProvider& provider) {
  return provider.name + (provider.origin ? " (" + *provider.origin + ")" : std::string());
}

constexpr size_t kShownBytes = 128;

// Where it comes from is said first, in quotes that it cannot leave. Of a long origin the end is
// shown: a page chooses how its host begins, and owns how it ends.
std::string asker(const PairedProvider& provider) {
  constexpr std::string_view kEllipsis = "…";
  std::string who = "a program on this machine";
  if (provider.origin) {
    std::string origin = visible(*provider.origin, false);
    if (origin.size() > kShownBytes) {
      size_t from = origin.size() - (kShownBytes - kEllipsis.size());
      while ((static_cast<uint8_t>(origin[from]) & 0xC0) == 0x80) ++from;
      origin = std::string(kEllipsis) + origin.substr(from);
    }
    who = "a web page of " + inQuotes(origin);
  }
  return who + ", by the name " + inQuotes(visible(provider.name, false, kShownBytes)) + ",";
}

// The code goes to the user's timeline only: neither a model nor a log reads it.
void showCode(const Turn& turn, Session& session, const WaitingPairing& waiting) {
  sendToSession(turn, session,
                protocol::Timeline{LogLevel::Warning,
                                   "tap: " + asker(waiting.provider) +
                                       " asks to connect to this session. If that was you, type "
                                       "the code there.\nPairing code: " +
                                       waiting.code});
  turn.log(LogLevel::Info, "a pairing code was shown in session " + session.id);
}

}  // namespace

Refusal notAuthenticated(std::string message, std::string replyTo) {
  return {ErrorCode::AuthFailed, std::move(message), std::move(replyTo)};
}

void admit(const Turn& turn, Provider& provider, const Credentials& credentials,
           std::string_view token) {
  provider.credentials = credentials;
  provider.trusted = credentials.trust == protocol::Trust::Feature;
  provider.state = ProviderState::AwaitHello;
  turn.cancel(provider.deadline);
  turn.send(provider.peer, protocol::encodeSessions(
                               "sessions", turn.state.sessions.summaries(credentials), token));
}

std::optional<Refusal> startPairing(const Turn& turn, Provider& provider,
                                    const protocol::Auth& auth) {
  if (const std::string problem = asciiNameProblem(auth.name); !problem.empty()) {
    return Refusal{ErrorCode::InvalidJson, "auth.name: expected " + problem, "auth"};
  }
  Sessions& sessions = turn.state.sessions;
  const std::vector<const Session*> active = sessions.active();
  std::string id = auth.session.value_or("");
  if (id.empty() && !active.empty()) id = active.front()->id;
  Session* session = sessions.find(id);
  if (session == nullptr || session->ending) {
    return notAuthenticated("there is no such session to pair with", "auth");
  }
  const std::string name =
      auth.name.empty() ? std::string(provider.origin ? "a web page" : "a program") : auth.name;
  const PairedProvider paired{name, id, provider.origin};
  const auto code =
      turn.state.authenticator.startPairing(provider.peer, paired, turn.limits(), turn.now.steady);
  if (!code) {
    return Refusal{ErrorCode::RateLimited, "too many pairings; wait a minute", "auth"};
  }
  provider.state = ProviderState::AwaitPairing;
  turn.cancel(provider.deadline);
  provider.deadline = turn.schedule(Limit::PairingMs, UnauthenticatedDue{provider.peer});
  showCode(turn, *session, {*code, paired});
  turn.send(provider.peer,
            protocol::encodeAuthPairing("Type the six digits that the Copilot session shows"));
  return std::nullopt;
}

std::optional<Refusal> confirmPairing(const Turn& turn, Provider& provider,
                                      const protocol::AuthConfirm& confirm) {
  auto paired = turn.state.authenticator.confirmPairing(provider.peer, confirm.code);
  if (!paired)
    return notAuthenticated("wrong pairing code; connect again for a new one", "auth.confirm");
  const std::string sessionId = paired->sessionId;
  const std::string token = turn.state.authenticator.issuePairedToken(std::move(*paired));
  admit(turn, provider, {protocol::Trust::External, sessionId, token}, token);
  return std::nullopt;
}

void showPairings(const Turn& turn, Session& session) {
  const Authenticator& authenticator = turn.state.authenticator;
  const std::vector<WaitingPairing> waiting = authenticator.waiting(session.id);
  for (const WaitingPairing& one : waiting) showCode(turn, session, one);
  if (waiting.empty()) {
    writeTimeline(turn, session, LogLevel::Info,
                  "tap: nobody asks to be paired. A provider without a token, such as a web page, "
                  "asks for it when it connects; its code is then shown here.");
  }
  for (const PairedProvider& one : authenticator.paired()) {
    if (one.sessionId != session.id) continue;
    writeTimeline(turn, session, LogLevel::Info, "tap: paired with this session: " + describe(one));
  }
}

}  // namespace tap::gateway
