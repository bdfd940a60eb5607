// The party behind a connection, on whose account the gateway counts memory, work, pushes and lines
// in the timeline.
//
// Programs of the user's trust each other (Party::isSame), and each name has its own account. A
// paired program has one account, whatever it calls itself; a web page is the same in all its tabs
// and with all its tokens. Of memory docs/limits.md says "party", and means an account.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/registry/providers.h"
#include "protocol/errors.h"

namespace tap::gateway {

struct Turn;
struct Session;

struct Party {
  const Credentials& credentials;
  const std::optional<std::string>& origin;

  [[nodiscard]] bool isTrusted() const { return credentials.trust >= protocol::Trust::Project; }
  [[nodiscard]] bool isKnown() const { return credentials.trust != protocol::Trust::None; }
  [[nodiscard]] bool isSame(const Party& other) const {
    if (isTrusted() || other.isTrusted()) return isTrusted() && other.isTrusted();
    return credentials.token == other.credentials.token || (origin && origin == other.origin);
  }
};

[[nodiscard]] inline Party toParty(const Provider& provider) {
  return {provider.credentials, provider.origin};
}

// Of a program of the user's with that name.
[[nodiscard]] std::string programAccount(std::string_view name);
// `name`: as in hello. Providers in the gateway's own process are part of it, and have the empty
// one.
[[nodiscard]] std::string accountName(const Credentials& credentials,
                                      const std::optional<std::string>& origin,
                                      std::string_view name);
// Whether it is an account of a program of the user's, and not of a paired one.
[[nodiscard]] bool isProgram(std::string_view account);
// What its pushes are counted on, in the gateway's own process, too.
[[nodiscard]] std::string accountName(const Provider& provider);

// Why a paired provider may not declare this binding: with what its party has declared in the
// session it would put too much text before the model. Nothing for programs of the user's.
[[nodiscard]] std::optional<protocol::Refusal> tooMuchText(const Turn& turn, const Session& session,
                                                           const Provider& provider,
                                                           const Binding& proposed,
                                                           std::string_view type);

}  // namespace tap::gateway
