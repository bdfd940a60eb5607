#include "gateway/registry/party.h"

#include <algorithm>
#include <map>
#include <utility>

#include "gateway/core/turn.h"

namespace tap::gateway {

namespace {

constexpr std::string_view kProgram = "program ";

// The model has the tools of a name once, however many connections declare them.
struct DeclaredText {
  std::map<std::string_view, size_t> tools;  // the longest definition of each name
  size_t rest = 0;

  void add(const Binding& binding, std::string_view metadata) {
    for (const protocol::ToolDefinition& tool : binding.tools) {
      size_t& longest = tools[tool.name];
      longest = std::max(longest, tool.json.size());
    }
    for (const auto& [section, transform] : binding.transforms) rest += transform.content.size();
    rest += metadata.size();
  }
  [[nodiscard]] size_t total() const {
    size_t total = rest;
    for (const auto& [name, size] : tools) total += size;
    return total;
  }
};

}  // namespace

std::string programAccount(std::string_view name) {
  return std::string(kProgram) + std::string(name);
}

bool isProgram(std::string_view account) {
  return account.starts_with(kProgram);
}

std::string accountName(const Credentials& credentials, const std::optional<std::string>& origin,
                        std::string_view name) {
  if (credentials.trust == protocol::Trust::InProcess) return {};
  if (credentials.trust >= protocol::Trust::Project) return programAccount(name);
  if (origin) return "page " + *origin;
  return "token " + credentials.token;
}

std::string accountName(const Provider& provider) {
  if (provider.isInProcess()) return programAccount(provider.name);
  return accountName(provider.credentials, provider.origin, provider.name);
}

std::optional<protocol::Refusal> tooMuchText(const Turn& turn, const Session& session,
                                             const Provider& provider, const Binding& proposed,
                                             std::string_view type) {
  const Party party = toParty(provider);
  if (party.isTrusted()) return std::nullopt;
  DeclaredText text;
  text.add(proposed, provider.metadata);
  for (const BoundProvider& other : turn.state.providers.inOrder(session.id)) {
    if (other.provider == &provider || !party.isSame(toParty(*other.provider))) continue;
    text.add(*other.binding, other.provider->metadata);
  }
  const size_t most = turn.limits().bytes(Limit::ExternalTextBytes);
  if (text.total() <= most) return std::nullopt;
  return protocol::Refusal{
      protocol::ErrorCode::PayloadTooLarge,
      "the tools, section texts and metadata of one paired program would have " +
          std::to_string(text.total()) + " bytes in this session, at most " + std::to_string(most) +
          " are taken; declare less",
      std::string(type)};
}

}  // namespace tap::gateway
