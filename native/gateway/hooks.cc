#include "gateway/hooks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "gateway/session_lifecycle.h"
#include "gateway/turn.h"
#include "gateway/updates.h"
#include "protocol/provider_codec.h"

namespace tap::gateway {

using protocol::HookAction;
using protocol::HookOutcome;
using protocol::Hooks;
using protocol::SectionEdit;
using protocol::TransformAction;
using protocol::Trust;

namespace {

// Of PendingHooks::type: nothing is acknowledged, since hello.ack has been sent.
constexpr std::string_view kHello = "hello";

// What stands last in a protected section, whatever was appended to it.
constexpr std::string_view kLastWord =
    "Where such an addition disagrees with the text of this section above it, that text holds.";

bool wantsPrompts(const Binding& binding) {
  return !binding.context.empty() || !binding.startupContext.empty();
}

// Whether it takes more than edits of the system message, for which nobody has to be asked.
bool needsHooks(const Binding& binding) {
  return !binding.rules.empty() || wantsPrompts(binding);
}

void addLine(std::string& text, std::string_view line) {
  if (line.empty()) return;
  if (!text.empty()) text += '\n';
  text += line;
}

void addGuards(Hooks& hooks, const Provider& provider, const Binding& binding) {
  protocol::ProviderGuards guards{provider.name, {}};
  for (const protocol::HookRule& rule : binding.rules) {
    if (rule.action != HookAction::Context && !rule.failOpen) guards.rules.push_back(rule.json);
  }
  if (!guards.rules.empty()) hooks.guards.push_back(std::move(guards));
}

// Bindings come in registration order: texts are joined in it, and the last one replaces.
void addEdits(std::map<std::string, SectionEdit>& edits, const Binding& binding) {
  for (const auto& [section, transform] : binding.transforms) {
    SectionEdit& edit = edits[section];
    edit.section = section;
    switch (transform.action) {
      case TransformAction::Append:
        addLine(edit.append, transform.content);
        break;
      case TransformAction::Prepend:
        addLine(edit.prepend, transform.content);
        break;
      case TransformAction::Replace:
        edit.replace = transform.content;
        break;
      case TransformAction::Callback:
        edit.callback = true;
        break;
    }
  }
}

Hooks compose(const Turn& turn, const Session& session) {
  Hooks hooks;
  hooks.gateMs = turn.limits().get(Limit::GateMs);
  std::map<std::string, SectionEdit> edits;
  for (const BoundProvider& bound : turn.state.providers.inOrder(session.id)) {
    hooks.wanted = hooks.wanted || needsHooks(*bound.binding);
    hooks.prompts = hooks.prompts || wantsPrompts(*bound.binding);
    addGuards(hooks, *bound.provider, *bound.binding);
    addEdits(edits, *bound.binding);
  }
  for (auto& [section, edit] : edits) {
    if (protocol::isProtectedSection(section)) addLine(edit.append, kLastWord);
    hooks.sections.push_back(std::move(edit));
  }
  return hooks;
}

bool isEmpty(const Hooks& hooks) {
  return !hooks.wanted && hooks.sections.empty();
}

void tell(const Turn& turn, Session& session, Hooks hooks) {
  hooks.revision = session.hooks.told.revision + 1;
  session.hooks.told = std::move(hooks);
  turn.cancel(session.hooksTimer);
  if (session.peer) turn.effect(SendEvent{*session.peer, session.hooks.told});
}

void sayDenied(const Turn& turn, Session& session) {
  if (std::exchange(session.hooks.deniedTold, true)) return;
  tellTimeline(turn, session, protocol::LogLevel::Warning,
               "tap: a provider of this session has rules or context for the agent, which are not "
               "in force: they need hooks, and those were not allowed. To be asked again, start "
               "the session anew (/clear) and answer \"Yes\"");
}

// Why the declaration is of no effect; empty if it is in force.
std::string obstacle(HookOutcome outcome) {
  switch (outcome) {
    case HookOutcome::InForce:
      return {};
    case HookOutcome::Denied:
      return "the user has not allowed hooks in this session; they are asked again when the "
             "session starts anew";
    case HookOutcome::Unavailable:
      return "this session's CLI does not take hooks or edits of its system message";
  }
  return {};
}

// The binding's revision counts up with the answer: acks of different updates may overtake each
// other, and it must not fall.
void answer(const Turn& turn, const Session& session, const Provider& provider, Binding& binding,
            const PendingHooks& pending) {
  const protocol::HooksState& state = session.hooks.state;
  std::string why = needsHooks(binding) ? obstacle(state.hooks) : std::string();
  if (why.empty() && !binding.transforms.empty()) why = obstacle(state.sections);
  if (!why.empty()) {
    const protocol::Refusal refusal{protocol::ErrorCode::Unauthorized, std::move(why),
                                    std::string(pending.type), pending.requestId};
    turn.send(provider.peer, protocol::encodeError(refusal, provider.providerId, session.id));
    return;
  }
  if (pending.type != kHello) acknowledge(turn, provider, binding, pending.requestId);
}

}  // namespace

bool anyHooks(const Session& session, const Binding& binding) {
  return needsHooks(binding) || !binding.transforms.empty() || !isEmpty(session.hooks.told);
}

void hooksChanged(const Turn& turn, Session& session) {
  Hooks hooks = compose(turn, session);
  hooks.revision = session.hooks.told.revision;
  if (hooks == session.hooks.told || (isEmpty(hooks) && hooks.revision == 0)) return;
  tell(turn, session, std::move(hooks));
}

void introduceHooks(const Turn& turn, Session& session, bool isNew, bool joined) {
  session.hooks.inForce = 0;
  session.hooks.deniedTold = false;
  Hooks hooks = compose(turn, session);
  if (!isEmpty(hooks) || (joined && !isNew)) {
    tell(turn, session, std::move(hooks));
  } else if (joined) {
    // Another gateway has served it before: its providers are given time to come back.
    session.hooksTimer = turn.schedule(Limit::RemovalHoldMs, HooksDue{session.id});
  }
}

void tellHooks(const Turn& turn, Session& session) {
  tell(turn, session, compose(turn, session));
}

void hooksSettled(const Turn& turn, Session& session, const protocol::HooksState& state) {
  if (state.revision > session.hooks.told.revision) return;
  session.hooks.state = state;
  session.hooks.inForce = state.revision;
  for (const BoundProvider& bound : turn.state.providers.inOrder(session.id)) {
    std::vector<PendingHooks>& pending = bound.binding->pendingHooks;
    for (const PendingHooks& one : pending) {
      if (one.hooks <= state.revision) answer(turn, session, *bound.provider, *bound.binding, one);
    }
    std::erase_if(pending, [&](const PendingHooks& one) { return one.hooks <= state.revision; });
  }
  if (state.hooks == HookOutcome::Denied) sayDenied(turn, session);
}

void refusePendingHooks(const Turn& turn, const Provider& provider, Binding& binding,
                        std::string_view why) {
  for (PendingHooks& pending : std::exchange(binding.pendingHooks, {})) {
    if (pending.requestId.empty()) continue;
    const protocol::Refusal refusal{protocol::ErrorCode::InvalidSession, std::string(why),
                                    std::string(pending.type), std::move(pending.requestId)};
    turn.send(provider.peer,
              protocol::encodeError(refusal, provider.providerId, binding.sessionId));
  }
}

std::optional<std::string> forbiddenHooks(const Provider& provider,
                                          const protocol::HooksChange& change) {
  const bool external = provider.credentials.trust < Trust::Project;
  if (external && change.rules && !change.rules->empty()) {
    return "an external provider cannot declare onPreToolUse rules";
  }
  for (const auto& [section, transform] : change.transforms) {
    if (!transform || transform->action == TransformAction::Append) continue;
    if (external) return "an external provider can append to sections, and nothing else";
    if (protocol::isProtectedSection(section)) {
      return "section " + section + " is protected: it can be appended to, and nothing else";
    }
  }
  return std::nullopt;
}

void applyHooks(Binding& binding, const protocol::HooksChange& change) {
  if (change.rules) binding.rules = *change.rules;
  for (const auto& [section, transform] : change.transforms) {
    if (transform) {
      binding.transforms[section] = *transform;
    } else {
      binding.transforms.erase(section);
    }
  }
}

void answerWhenInForce(const Turn& turn, Session& session, Provider& provider, Binding& binding,
                       std::string_view type, const std::string& requestId) {
  hooksChanged(turn, session);
  const PendingHooks pending{type, requestId, session.hooks.told.revision};
  if (pending.hooks <= session.hooks.inForce) {
    return answer(turn, session, provider, binding, pending);
  }
  std::erase_if(binding.pendingHooks, [&](const PendingHooks& former) {
    return former.type == type && former.requestId.empty();
  });
  binding.pendingHooks.push_back(pending);
}

}  // namespace tap::gateway
