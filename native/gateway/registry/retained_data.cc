#include "gateway/registry/retained_data.h"

#include <algorithm>

#include "gateway/registry/party.h"

namespace tap::gateway {

using protocol::ErrorCode;
using protocol::HookRule;
using protocol::Refusal;

namespace {

size_t estimateBytes(const HookRule& rule) {
  return sizeof rule + rule.text.size() + rule.json.size();
}

size_t beyond(size_t most, size_t bytes) {
  return bytes > most ? bytes - most : 0;
}

std::string limitInAll(size_t most) {
  return " (limit kept-bytes, " + std::to_string(most) + "): try again when others have left";
}

}  // namespace

size_t estimateBytes(const std::vector<protocol::ToolDefinition>& tools) {
  size_t bytes = 0;
  for (const protocol::ToolDefinition& tool : tools) {
    bytes += sizeof tool + tool.name.size() + tool.json.size();
  }
  return bytes;
}

size_t estimateHookBytes(const Binding& binding) {
  size_t bytes = binding.context.size() + binding.startupContext.size();
  for (const HookRule& rule : binding.rules) bytes += estimateBytes(rule);
  for (const auto& [section, transform] : binding.transforms) {
    bytes += sizeof transform + section.size() + transform.content.size();
  }
  return bytes;
}

size_t estimateBytes(const Binding& binding) {
  return sizeof binding + estimateBytes(binding.tools) + estimateHookBytes(binding);
}

size_t estimateDetachedBytes(const Binding& binding) {
  size_t bytes = 0;
  for (const HookRule& rule : binding.rules) {
    if (protocol::isGuard(rule)) bytes += estimateBytes(rule);
  }
  return bytes;
}

// When it leaves, each of its sessions remembers what it has declared for all of them.
size_t estimateBytes(const Provider& provider) {
  size_t bytes = provider.metadata.size();
  if (provider.all) bytes += estimateBytes(provider.declared) * (provider.bindings.size() + 1);
  for (const auto& [id, binding] : provider.bindings)
    bytes += estimateBytes(binding) + estimateDetachedBytes(binding);
  return bytes;
}

size_t estimateBytes(const Session& session, const Identity& identity) {
  const auto at = session.known.find(identity);
  if (at == session.known.end()) return 0;
  const KnownProvider& known = at->second;
  size_t bytes = kKnownBytes;
  if (known.saved) bytes += estimateBytes(*known.saved);
  if (known.declared) bytes += estimateBytes(*known.declared);
  if (const auto held = session.detachedRules.find(identity); held != session.detachedRules.end()) {
    for (const HookRule& rule : held->second.rules) bytes += estimateBytes(rule);
  }
  return bytes;
}

void updateRetained(State& state, Provider& provider) {
  provider.retainedShare.set(state.retainedData, provider.party, estimateBytes(provider));
}

void updateRetained(State& state, Session& session, const Identity& identity) {
  const auto at = session.known.find(identity);
  if (at == session.known.end()) return;
  at->second.retainedShare.set(state.retainedData, at->second.party,
                               estimateBytes(session, identity));
}

std::optional<Refusal> evict(const Turn& turn, std::string_view party, SizeChange room,
                             std::string_view type, const std::string& requestId) {
  if (party.empty() || room.taken <= room.freed) return std::nullopt;
  const RetainedDataSums& sums = turn.state.retainedData;
  const RetainedDataSums::Sum own = sums.of(party);
  const size_t more = room.taken - room.freed;
  const size_t most = turn.limits().bytes(Limit::KeptBytesPerParty);
  const size_t mostOfAll = turn.limits().bytes(Limit::KeptBytes);
  const size_t mostOfPaired = isProgram(party) ? mostOfAll : mostOfAll / kPairedShare;
  const size_t others = isProgram(party) ? sums.inAll() : sums.ofPaired();
  const size_t tooMuch = beyond(most, own.bytes + more);
  const size_t tooMuchOfPaired = beyond(mostOfPaired, others + more);
  const size_t tooMuchOfAll = beyond(mostOfAll, sums.inAll() + more);
  if (tooMuch > own.events) {
    return Refusal{ErrorCode::PayloadTooLarge,
                   "the gateway keeps at most " + std::to_string(most) +
                       " bytes of your events, waiting injects and declarations: send less",
                   std::string(type), requestId};
  }
  if (tooMuchOfAll > own.events) {
    return Refusal{
        ErrorCode::RateLimited,
        "the gateway keeps as many bytes of all providers as it may" + limitInAll(mostOfAll),
        std::string(type), requestId};
  }
  if (tooMuchOfPaired > own.events) {
    return Refusal{ErrorCode::RateLimited,
                   "the gateway keeps as many bytes of all paired programs as it may, " +
                       std::to_string(mostOfPaired) + limitInAll(mostOfAll),
                   std::string(type), requestId};
  }
  const size_t needed = std::max({tooMuch, tooMuchOfPaired, tooMuchOfAll});
  for (size_t freed = 0; freed < needed;) freed += sums.withOldest(party)->dropOldest();
  return std::nullopt;
}

}  // namespace tap::gateway
