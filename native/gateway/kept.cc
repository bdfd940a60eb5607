#include "gateway/kept.h"

#include <vector>

namespace tap::gateway {

using protocol::ErrorCode;
using protocol::Refusal;

namespace {

size_t weigh(const KnownProvider& known) {
  return kKnownBytes + (known.saved ? gateway::weigh(*known.saved) : 0) +
         (known.declared ? gateway::weigh(*known.declared) : 0);
}

// When it leaves, each of its sessions remembers what it has declared for all of them.
size_t weigh(const Provider& provider) {
  size_t bytes = provider.metadata.size();
  if (provider.all) bytes += gateway::weigh(provider.declared) * (provider.bindings.size() + 1);
  for (const auto& [id, binding] : provider.bindings) bytes += gateway::weigh(binding);
  return bytes;
}

// The streams of the party's in which the oldest event is; null if it has none.
EventStreams* withOldest(State& state, std::string_view party) {
  EventStreams* found = nullptr;
  for (auto& [id, session] : state.sessions.all()) {
    for (auto& [name, streams] : session.streams) {
      if (streams.party() != party || !streams.oldest()) continue;
      if (found == nullptr || *streams.oldest() < *found->oldest()) found = &streams;
    }
  }
  return found;
}

}  // namespace

size_t weigh(const std::vector<protocol::ToolDefinition>& tools) {
  size_t bytes = 0;
  for (const protocol::ToolDefinition& tool : tools) {
    bytes += sizeof tool + tool.name.size() + tool.json.size();
  }
  return bytes;
}

size_t weigh(const protocol::HooksChange& change) {
  Binding binding;
  if (change.rules) binding.rules = *change.rules;
  for (const auto& [section, transform] : change.transforms) {
    if (transform) binding.transforms[section] = *transform;
  }
  return weigh(binding);
}

size_t weigh(const Binding& binding) {
  size_t bytes = sizeof binding + weigh(binding.tools) + binding.context.size() +
                 binding.startupContext.size();
  for (const protocol::HookRule& rule : binding.rules) {
    bytes += sizeof rule + rule.text.size() + rule.json.size();
  }
  for (const auto& [section, transform] : binding.transforms) {
    bytes += sizeof transform + section.size() + transform.content.size();
  }
  return bytes;
}

Kept kept(State& state, std::string_view party) {
  Kept sum;
  const auto add = [&](std::string_view whose, size_t bytes) {
    if (whose.empty()) return;  // the gateway's own, or who has not said hello
    sum.inAll += bytes;
    if (whose == party) sum.ofParty += bytes;
  };
  for (auto& [id, session] : state.sessions.all()) {
    for (const auto& [name, streams] : session.streams) {
      add(streams.party(), streams.bytes());
    }
    for (const auto& [account, bytes] : session.budgets.waiting()) add(account, bytes);
    for (const auto& [identity, known] : session.known) add(known.party, weigh(known));
  }
  for (const Provider* provider : state.providers.all()) add(provider->party, weigh(*provider));
  return sum;
}

std::optional<Refusal> makeRoom(const Turn& turn, std::string_view party, size_t bytes,
                                std::string_view type, const std::string& requestId) {
  if (party.empty()) return std::nullopt;
  const Kept now = kept(turn.state, party);
  const size_t most = turn.limits().bytes(Limit::KeptBytesPerParty);
  const size_t mostOfAll = turn.limits().bytes(Limit::KeptBytes);
  size_t freed = 0;
  while (now.ofParty + bytes - freed > most || now.inAll + bytes - freed > mostOfAll) {
    EventStreams* streams = withOldest(turn.state, party);
    if (streams == nullptr) break;
    freed += streams->dropOldest();
  }
  if (now.ofParty + bytes - freed > most) {
    return Refusal{ErrorCode::PayloadTooLarge,
                   "the gateway keeps at most " + std::to_string(most) +
                       " bytes of your events, waiting injects and declarations: send less",
                   std::string(type), requestId};
  }
  if (now.inAll + bytes - freed > mostOfAll) {
    return Refusal{
        ErrorCode::RateLimited,
        "the gateway keeps as many bytes of all providers as it may (limit kept-bytes, " +
            std::to_string(mostOfAll) + "): try again when others have left",
        std::string(type), requestId};
  }
  return std::nullopt;
}

}  // namespace tap::gateway
