#include "gateway/registry/authenticator.h"

#include <utility>

#include "base/encoding.h"

namespace tap::gateway {

namespace {

constexpr size_t kTokenBytes = 32;
constexpr size_t kReconnectTokenBytes = 24;
constexpr uint32_t kCodes = 1'000'000;
constexpr Millis kMinute{60'000};

// Looks at every entry whatever it finds, so that the time says nothing about which one matched.
template <class Map>
const typename Map::value_type* findToken(const Map& tokens, std::string_view token) {
  const typename Map::value_type* found = nullptr;
  for (const auto& entry : tokens) {
    if (equalConstantTime(entry.first, token)) found = &entry;
  }
  return found;
}

}  // namespace

std::optional<Credentials> Authenticator::check(std::string_view token,
                                                const std::optional<std::string>& origin) const {
  using protocol::Trust;
  if (const auto* entry = findToken(paired_, token)) {
    if (entry->second.origin != origin) return std::nullopt;
    return Credentials{Trust::External, entry->second.sessionId, entry->first};
  }
  // A web page can only use a token that was paired from where it comes.
  if (origin) return std::nullopt;
  if (equalConstantTime(token, instanceToken_)) return Credentials{Trust::Project, "", ""};
  if (const auto* entry = findToken(spawned_, token)) {
    return Credentials{Trust::Project, entry->second, entry->first};
  }
  return std::nullopt;
}

std::string Authenticator::token(std::string_view prefix, size_t bytes) const {
  if (!fillSecret_) return {};
  std::string raw(bytes, '\0');
  fillSecret_(reinterpret_cast<uint8_t*>(raw.data()), bytes);
  return std::string(prefix) + hex(raw);
}

std::string Authenticator::issueReconnectToken() const {
  return token("tok-", kReconnectTokenBytes);
}

std::string Authenticator::issueSpawnToken(const std::string& sessionId) {
  std::string issued = token("ptk-", kTokenBytes);
  if (!issued.empty()) spawned_[issued] = sessionId;
  return issued;
}

std::string Authenticator::issueFeatureToken() {
  std::string issued = token("ftk-", kTokenBytes);
  if (!issued.empty()) features_.insert(issued);
  return issued;
}

std::optional<Credentials> Authenticator::checkFeature(std::string_view token) const {
  std::optional<Credentials> credentials;
  for (const std::string& one : features_) {
    if (equalConstantTime(one, token)) credentials = Credentials{protocol::Trust::Feature, "", one};
  }
  return credentials;
}

std::string Authenticator::issuePairedToken(PairedProvider provider) {
  std::string issued = token("ext-tok-", kTokenBytes);
  if (!issued.empty()) paired_[issued] = std::move(provider);
  return issued;
}

// Numbers beyond the last full million are drawn again, so that every code is equally likely.
std::string Authenticator::code() const {
  constexpr uint32_t kFair = UINT32_MAX - UINT32_MAX % kCodes;
  uint32_t number = 0;
  do {
    fillSecret_(reinterpret_cast<uint8_t*>(&number), sizeof number);
  } while (number >= kFair);
  const std::string digits = std::to_string(number % kCodes);
  return std::string(6 - digits.size(), '0') + digits;
}

std::optional<std::string> Authenticator::startPairing(PeerId peer, PairedProvider provider,
                                                       const Limits& limits, Time now) {
  if (!fillSecret_) return std::nullopt;
  while (!pairingTimes_.empty() && now - pairingTimes_.front() >= kMinute)
    pairingTimes_.pop_front();
  if (pairingTimes_.size() >= limits.count(Limit::PairingsPerMinute)) return std::nullopt;
  pairingTimes_.push_back(now);
  WaitingPairing& pairing = pairings_[peer];
  pairing = {code(), std::move(provider)};
  return pairing.code;
}

std::optional<PairedProvider> Authenticator::confirmPairing(PeerId peer, std::string_view code) {
  const auto at = pairings_.find(peer);
  if (at == pairings_.end()) return std::nullopt;
  const WaitingPairing pairing = std::move(at->second);
  pairings_.erase(at);
  if (!equalConstantTime(pairing.code, code)) return std::nullopt;
  return pairing.provider;
}

std::vector<WaitingPairing> Authenticator::waiting(std::string_view sessionId) const {
  std::vector<WaitingPairing> all;
  for (const auto& [peer, pairing] : pairings_) {
    if (pairing.provider.sessionId == sessionId) all.push_back(pairing);
  }
  return all;
}

void Authenticator::forgetSession(std::string_view sessionId) {
  std::erase_if(spawned_, [&](const auto& entry) { return entry.second == sessionId; });
  std::erase_if(paired_, [&](const auto& entry) { return entry.second.sessionId == sessionId; });
  std::erase_if(pairings_,
                [&](const auto& entry) { return entry.second.provider.sessionId == sessionId; });
}

std::vector<RevokedToken> Authenticator::revoke(std::string_view name) {
  std::vector<RevokedToken> revoked;
  for (const auto& [token, provider] : paired_) {
    if (provider.name == name) revoked.push_back({token, provider});
  }
  for (const RevokedToken& one : revoked) paired_.erase(one.token);
  return revoked;
}

std::vector<PairedProvider> Authenticator::pairedBesides(std::string_view own) const {
  std::vector<PairedProvider> all;
  for (const auto& [token, provider] : paired_) {
    if (token != own) all.push_back(provider);
  }
  return all;
}

}  // namespace tap::gateway
