#include "gateway/party.h"

namespace tap::gateway {

std::string partyOf(const Credentials& credentials, const std::optional<std::string>& origin,
                    std::string_view name) {
  if (credentials.trust == protocol::Trust::Internal) return {};
  if (credentials.trust == protocol::Trust::Project) return "program " + std::string(name);
  if (origin) return "page " + *origin;
  return "token " + credentials.token;
}

}  // namespace tap::gateway
