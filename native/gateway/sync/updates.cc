#include "gateway/sync/updates.h"

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "gateway/hooks/hooks.h"
#include "gateway/records/rows.h"
#include "gateway/registry/announcement.h"
#include "gateway/registry/binding_updates.h"
#include "gateway/registry/party.h"
#include "gateway/registry/retained_data.h"
#include "gateway/registry/tool_names.h"
#include "gateway/sync/sync_schedule.h"
#include "gateway/sync/tools_in_force.h"

namespace tap::gateway {

using protocol::ErrorCode;
using protocol::Refusal;
using protocol::ToolDefinition;

namespace {

// The list after the update: replaced, or changed by a delta in place.
std::vector<ToolDefinition> toolsAfter(std::vector<ToolDefinition> tools,
                                       const protocol::ToolsUpdate& update) {
  if (!update.delta) return update.tools;
  std::erase_if(tools, [&](const ToolDefinition& tool) {
    return std::find(update.remove.begin(), update.remove.end(), tool.name) != update.remove.end();
  });
  for (const ToolDefinition& tool : update.tools) {
    const auto at = std::find_if(tools.begin(), tools.end(), [&](const ToolDefinition& have) {
      return have.name == tool.name;
    });
    if (at == tools.end()) {
      tools.push_back(tool);
    } else {
      *at = tool;
    }
  }
  return tools;
}

void restamp(Refusal& refusal, std::string_view type, const std::string& requestId) {
  refusal.replyTo = type;
  refusal.requestId = requestId;
}

std::optional<Refusal> tooManyTools(const Turn& turn, const Session& session,
                                    const Provider& provider, const Binding& binding,
                                    const std::vector<ToolDefinition>& tools) {
  if (toParty(provider).isTrusted()) return std::nullopt;
  Binding proposed = binding;
  proposed.tools = tools;
  return tooMuchText(turn, session, provider, proposed, "tools.update");
}

// Of a paired provider: each change counts as a push, since the timeline shows it, and must fit
// into what its party may say.
std::optional<Refusal> refusedTexts(const Turn& turn, Provider& provider,
                                    const protocol::HooksUpdate& update) {
  if (toParty(provider).isTrusted() || update.change.transforms.empty()) return std::nullopt;
  for (auto& [id, binding] : provider.bindings) {
    Session* session = turn.state.sessions.find(id);
    if (session == nullptr) continue;
    Binding proposed = binding;
    applyHooks(proposed, update.change);
    if (auto refusal = payForTexts(turn, *session, provider, proposed, "hooks.update")) {
      return refusal;
    }
    if (auto refusal = tooMuchText(turn, *session, provider, proposed, "hooks.update")) {
      return refusal;
    }
  }
  return std::nullopt;
}

// Whether an ack of this type is still due for one of these sessions: the next update has to wait
// (docs/decisions.md D-13).
bool isPending(const std::vector<Binding*>& bindings, std::string_view type) {
  return std::any_of(bindings.begin(), bindings.end(), [&](const Binding* binding) {
    return std::any_of(binding->pendingHooks.begin(), binding->pendingHooks.end(),
                       [&](const PendingHooks& pending) {
                         return pending.type == type && !pending.requestId.empty();
                       });
  });
}

// The rules, sections and contexts of a binding once they are changed.
template <class Change>
Binding hooksAfter(const Binding& binding, const Change& change) {
  Binding hooks;
  hooks.rules = binding.rules;
  hooks.transforms = binding.transforms;
  hooks.context = binding.context;
  hooks.startupContext = binding.startupContext;
  change(hooks);
  return hooks;
}

// Applies a change of hooks or context to the bindings that it is about.
template <class Change>
std::optional<Refusal> updateBindings(const Turn& turn, Provider& provider, std::string_view type,
                                      const std::optional<std::string>& sessionId,
                                      const std::string& requestId, Change change) {
  auto bindings = bindingsFor(provider, sessionId, type);
  if (!bindings) {
    restamp(bindings.error(), type, requestId);
    return bindings.error();
  }
  if (isPending(bindings.value(), type)) {
    return Refusal{ErrorCode::RateLimited,
                   "the last " + std::string(type) + " is not in force yet: wait for its ack",
                   std::string(type), requestId};
  }
  const bool ofAll = provider.all && !sessionId;
  SizeChange room;
  if (ofAll) {
    const size_t copies = bindings.value().size() + 1;  // one for each session that it may leave
    room = {copies * estimateHookBytes(hooksAfter(provider.declared, change)),
            copies * estimateHookBytes(provider.declared)};
  }
  for (const Binding* binding : bindings.value()) {
    const Binding hooks = hooksAfter(*binding, change);
    room.taken += estimateHookBytes(hooks) + estimateDetachedBytes(hooks);
    room.freed += estimateHookBytes(*binding) + estimateDetachedBytes(*binding);
  }
  if (auto refusal = evict(turn, provider.party, room, type, requestId)) return refusal;
  if (ofAll) change(provider.declared);
  for (Binding* binding : bindings.value()) {
    change(*binding);
    if (Session* session = turn.state.sessions.find(binding->sessionId)) {
      announce(turn, *session, provider);
      if (isRecording(turn)) {
        recordProvider(turn, provider, session->id, {"updated", "", type});
      }
      answerWhenInForce(turn, *session, provider, *binding, type, requestId);
    }
  }
  updateRetained(turn.state, provider);
  return std::nullopt;
}

// The update is done: its ack, at once or when the session has the tools, and its record.
void finishUpdate(const Turn& turn, Provider& provider, Binding& binding, Session* session,
                  const protocol::ToolsUpdate& update) {
  if (update.inForce && !update.requestId.empty() && session != nullptr) {
    answerWithTools(turn, *session, AckDue{provider.peer, binding.order, update.requestId});
  } else {
    acknowledge(turn, provider, binding, update.requestId);
  }
  if (isRecording(turn)) {
    recordProvider(turn, provider, binding.sessionId, {"updated", "", "tools.update"});
  }
}

}  // namespace

std::optional<Refusal> updateTools(const Turn& turn, Provider& provider,
                                   const protocol::ToolsUpdate& update) {
  constexpr std::string_view kType = "tools.update";
  auto bindings = bindingsFor(provider, update.sessionId, kType);
  if (!bindings) {
    restamp(bindings.error(), kType, update.requestId);
    return bindings.error();
  }
  const size_t most = turn.limits().count(Limit::ToolsPerProvider);
  std::vector<std::vector<ToolDefinition>> next;
  for (const Binding* binding : bindings.value()) {
    next.push_back(toolsAfter(binding->tools, update));
    if (next.back().size() > most) {
      return Refusal{ErrorCode::PayloadTooLarge, "at most " + std::to_string(most) + " tools",
                     std::string(kType), update.requestId};
    }
    const Session* session = turn.state.sessions.find(binding->sessionId);
    const auto reason = session == nullptr ? std::optional<std::string>()
                                           : toolConflict(turn, *session, provider, next.back());
    if (session != nullptr) {
      if (auto refusal = tooManyTools(turn, *session, provider, *binding, next.back())) {
        refusal->requestId = update.requestId;
        return refusal;
      }
    }
    if (reason) {
      return Refusal{ErrorCode::ToolConflict, *reason + "; your former tools stay in force",
                     std::string(kType), update.requestId};
    }
  }
  const bool ofAll = provider.all && !update.sessionId;
  std::vector<ToolDefinition> declared;
  if (ofAll) declared = toolsAfter(provider.declared.tools, update);
  const size_t copies = ofAll ? next.size() + 1 : 0;  // one for each session that it may leave
  SizeChange room{copies * estimateBytes(declared),
                  copies * estimateBytes(provider.declared.tools)};
  for (size_t i = 0; i < next.size(); ++i) {
    room.taken += estimateBytes(next[i]);
    room.freed += estimateBytes(bindings.value()[i]->tools);
  }
  if (auto refusal = evict(turn, provider.party, room, kType, update.requestId)) {
    return refusal;
  }
  if (ofAll) provider.declared.tools = std::move(declared);
  for (size_t i = 0; i < next.size(); ++i) {
    Binding& binding = *bindings.value()[i];
    turn.state.providers.setTools(provider, binding, std::move(next[i]));
    Session* session = turn.state.sessions.find(binding.sessionId);
    if (session != nullptr) {
      toolsChanged(turn, *session, {provider.name});
      announce(turn, *session, provider);
    }
    finishUpdate(turn, provider, binding, session, update);
  }
  updateRetained(turn.state, provider);
  return std::nullopt;
}

std::optional<Refusal> updateHooks(const Turn& turn, Provider& provider,
                                   const protocol::HooksUpdate& update) {
  constexpr std::string_view kType = "hooks.update";
  if (auto reason = forbiddenHooks(provider, update.change)) {
    return Refusal{ErrorCode::Unauthorized, std::move(*reason), std::string(kType),
                   update.requestId};
  }
  if (auto refusal = refusedTexts(turn, provider, update)) {
    restamp(*refusal, kType, update.requestId);
    return refusal;
  }
  return updateBindings(turn, provider, kType, update.sessionId, update.requestId,
                        [&](Binding& binding) { applyHooks(binding, update.change); });
}

std::optional<Refusal> updateContext(const Turn& turn, Provider& provider,
                                     const protocol::ContextUpdate& update) {
  return updateBindings(turn, provider, "context.update", update.sessionId, update.requestId,
                        [&](Binding& binding) { binding.context = update.context; });
}

}  // namespace tap::gateway
