#include "gateway/control/status.h"

#include <chrono>
#include <vector>

#include "base/encoding.h"
#include "gateway/hooks/fence.h"
#include "gateway/registry/party.h"
#include "gateway/registry/provider_watch.h"

namespace tap::gateway {

namespace {

std::string describeDelay(const Turn& turn, const Provider& provider) {
  const Delay delay = delayOf(turn, provider);
  const Millis waited = delay.waited(turn.now.steady);
  if (waited < turn.limits().time(Limit::ProviderPingMs)) return {};
  return "; no answer for " + inSeconds(waited) +
         (delay.unanswered ? ", not even to a ping: it is stopped, or hangs" : "");
}

std::string describeProvider(const Turn& turn, Provider& provider, const Session& session) {
  const bool paired = !partyOf(provider).isTrusted();
  std::string text = "- " + (paired ? quotedName(provider.name) : provider.name);
  if (!provider.instance.empty()) {
    text += " [" + (paired ? quotedName(provider.instance) : provider.instance) + "]";
  }
  text += paired ? " (paired, " : " (";
  text += provider.providerId + "): ";
  const Binding* binding = provider.in(session.id);
  if (binding == nullptr || binding->tools.empty()) return text + "no tools\n";
  bool first = true;
  for (const protocol::ToolDefinition& tool : binding->tools) {
    if (!first) text += ", ";
    first = false;
    text += tool.name;
    if (turn.state.providers.isRefused(session.id, provider.name, tool.name)) {
      text += " (not accepted by the CLI)";
    }
  }
  const size_t calls = turn.state.calls.countOfProvider(provider.peer);
  if (calls > 0) text += "; " + std::to_string(calls) + " calls in flight";
  return text + describeDelay(turn, provider) + "\n";
}

}  // namespace

std::string describeStatus(const Turn& turn, const Session& session) {
  State& state = turn.state;
  std::vector<Provider*> providers = state.providers.inSession(session.id);
  std::erase_if(providers, [](const Provider* provider) { return provider->isInProcess(); });
  std::string text = "tap " + state.config.version + ": gateway on port " +
                     std::to_string(state.config.port) + ", " +
                     std::to_string(state.sessions.active().size()) + " session(s)" +
                     (state.config.node.empty() ? "" : ", Node.js " + state.config.node) + ".\n";
  if (providers.empty()) {
    return text +
           "No provider is connected to this session. A provider connects to the gateway over "
           "WebSocket and declares its tools in hello.\n";
  }
  text += "Providers of this session:\n";
  for (Provider* provider : providers) {
    text += describeProvider(turn, *provider, session);
  }
  if (!session.sync.settled()) text += "A change of tools is on its way to this session.\n";
  return text;
}

}  // namespace tap::gateway
