#include "gateway/registry/binding_updates.h"

#include <utility>

namespace tap::gateway {

using protocol::ErrorCode;
using protocol::Refusal;

Result<std::vector<Binding*>, Refusal> bindingsFor(Provider& provider,
                                                   const std::optional<std::string>& sessionId,
                                                   std::string_view type) {
  std::vector<Binding*> bindings;
  if (!sessionId) {
    for (auto& [id, binding] : provider.bindings) bindings.push_back(&binding);
    return bindings;
  }
  if (Binding* binding = provider.in(*sessionId)) {
    bindings.push_back(binding);
    return bindings;
  }
  return Refusal{ErrorCode::InvalidSession,
                 std::string(type) + ".sessionId must be a session that hello has bound you to",
                 std::string(type)};
}

void acknowledge(const Turn& turn, const Provider& provider, Binding& binding,
                 std::string_view requestId) {
  ++binding.revision;
  if (requestId.empty()) return;
  turn.send(provider.peer,
            protocol::encodeAck({requestId, binding.sessionId, binding.revision, {}}));
}

}  // namespace tap::gateway
