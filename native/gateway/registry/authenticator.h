// Tokens and pairing codes: how a connection proves its identity (docs/decisions.md D-1, D-2).
// Everything here is compared in constant time and shown in no log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/time.h"
#include "gateway/registry/providers.h"

namespace tap::gateway {

// A provider that the user has let in by a code.
struct PairedProvider {
  std::string name;  // as it asked to be shown
  std::string sessionId;
  std::optional<std::string> origin;  // a web page may use its token from there only
};

// A pairing whose code has been shown, but not typed yet.
struct WaitingPairing {
  std::string code;
  PairedProvider provider;
};

struct RevokedToken {
  std::string token;
  PairedProvider provider;
};

class Authenticator {
 public:
  using FillSecret = std::function<void(uint8_t*, size_t)>;

  // Without `fillSecret` no token is ever issued.
  Authenticator(std::string instanceToken, FillSecret fillSecret)
      : instanceToken_(std::move(instanceToken)), fillSecret_(std::move(fillSecret)) {}

  // The credentials that the token proves for a connection with that origin; nothing if the token
  // is not valid.
  [[nodiscard]] std::optional<Credentials> check(std::string_view token,
                                                 const std::optional<std::string>& origin) const;

  // A token of its own for a provider that the host starts for this session.
  [[nodiscard]] std::string issueSpawnToken(const std::string& sessionId);
  // That provider has ended; false if there was no such token.
  [[nodiscard]] bool forgetSpawnToken(const std::string& token) {
    return spawned_.erase(token) > 0;
  }
  // A token for tap's own features, which come over the local link. Several connections may use it.
  [[nodiscard]] std::string issueFeatureToken();
  [[nodiscard]] bool forgetFeatureToken(const std::string& token) {
    return features_.erase(token) > 0;
  }
  [[nodiscard]] std::optional<Credentials> checkFeature(std::string_view token) const;
  // After the user has confirmed the code.
  [[nodiscard]] std::string issuePairedToken(PairedProvider provider);

  // A six-digit code for that connection; nothing if there were too many in the last minute.
  [[nodiscard]] std::optional<std::string> startPairing(PeerId peer, PairedProvider provider,
                                                        const Limits& limits, Time now);
  // The provider, if this is its code. Right or wrong, the code is used up.
  [[nodiscard]] std::optional<PairedProvider> confirmPairing(PeerId peer, std::string_view code);
  [[nodiscard]] std::vector<WaitingPairing> waiting(std::string_view sessionId) const;
  void cancelPairing(PeerId peer) { pairings_.erase(peer); }

  // The session is over: its spawn and paired tokens are, too.
  void forgetSession(std::string_view sessionId);
  // Takes the tokens of paired providers back, by the name they are listed with; those now void.
  [[nodiscard]] std::vector<RevokedToken> revoke(std::string_view name);
  [[nodiscard]] std::vector<PairedProvider> paired() const { return pairedBesides({}); }
  [[nodiscard]] std::vector<PairedProvider> pairedBesides(std::string_view token) const;

  // For one return within the reconnect window.
  [[nodiscard]] std::string issueReconnectToken() const;

 private:
  // That prefix and random bytes in hexadecimal digits; empty without randomness.
  [[nodiscard]] std::string token(std::string_view prefix, size_t bytes) const;
  [[nodiscard]] std::string code() const;

  std::string instanceToken_;
  FillSecret fillSecret_;
  std::map<std::string, std::string, std::less<>> spawned_;    // token to session
  std::set<std::string> features_;                             // tokens
  std::map<std::string, PairedProvider, std::less<>> paired_;  // by token
  std::map<PeerId, WaitingPairing> pairings_;
  std::deque<Time> pairingTimes_;  // of the last minute
};

}  // namespace tap::gateway
