#include "gateway/registry/refusal.h"

#include <utility>

#include "base/encoding.h"
#include "gateway/records/rows.h"
#include "gateway/registry/unbinding.h"

namespace tap::gateway {

using protocol::ErrorCode;
using protocol::Refusal;

namespace {

// The session to name in an error: that of the message, or of a provider bound to just one.
std::string_view errorSession(Provider& provider, const Refusal& refusal) {
  if (!refusal.sessionId.empty()) return refusal.sessionId;
  const Binding* binding = provider.onlyBinding();
  return binding == nullptr ? std::string_view() : std::string_view(binding->sessionId);
}

}  // namespace

void refuse(const Turn& turn, Provider& provider, const Refusal& refusal, Departure departure) {
  turn.send(provider.peer,
            protocol::encodeError(refusal, provider.providerId, errorSession(provider, refusal)));
  // Not turn.log: the record below is enough.
  turn.effect(
      LogLine{protocol::LogLevel::Warning,
              "refused " + (refusal.replyTo.empty() ? std::string("a message") : refusal.replyTo) +
                  " of " + (provider.name.empty() ? "a provider" : "\"" + provider.name + "\"") +
                  ": " + std::string(protocol::wireName(refusal.code)) + " " +
                  visible(refusal.message, false, 512)});
  if (isRecording(turn)) recordRefused(turn, provider, errorSession(provider, refusal), refusal);
  if (protocol::row(refusal.code).fatal) {
    dropProvider(turn, provider, kPolicyViolation, std::string(protocol::wireName(refusal.code)),
                 departure);
  }
}

void dropProvider(const Turn& turn, Provider& provider, uint16_t code, std::string reason,
                  Departure departure) {
  const PeerId peer = provider.peer;
  unbindAll(turn, provider, departure, "its connection was closed: " + reason);
  turn.cancel(provider.deadline);
  turn.state.authenticator.cancelPairing(peer);
  turn.state.providers.erase(peer);
  turn.closeProvider(peer, code, std::move(reason));
}

void endToken(const Turn& turn, std::string_view token, std::string_view why, Departure departure) {
  for (Provider* provider : turn.state.providers.all()) {
    if (provider->credentials.token != token) continue;
    const Refusal refusal{ErrorCode::AuthFailed, std::string(why), ""};
    turn.send(provider->peer, protocol::encodeError(refusal, provider->providerId,
                                                    errorSession(*provider, refusal)));
    // It has done nothing wrong: its process has ended, or the user has changed his mind.
    turn.log(protocol::LogLevel::Info,
             "ends the connection of " +
                 (provider->name.empty() ? std::string("a provider") : inQuotes(provider->name)) +
                 ": " + refusal.message);
    dropProvider(turn, *provider, kPolicyViolation, std::string(protocol::wireName(refusal.code)),
                 departure);
  }
  if (departure == Departure::Goodbye) forgetToken(turn, token);
}

}  // namespace tap::gateway
