#include "gateway/registry/hello_checks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/encoding.h"
#include "base/names.h"
#include "base/text_map.h"
#include "gateway/hooks/hooks.h"
#include "gateway/records/own_names.h"
#include "gateway/registry/identity.h"
#include "gateway/registry/party.h"
#include "gateway/registry/retained_data.h"
#include "gateway/registry/tool_names.h"

namespace tap::gateway {

using protocol::ErrorCode;
using protocol::Refusal;

namespace {

// Records have the id of a feature as their source, and nobody else may be taken for one.
constexpr std::string_view kReserved[] = {kOwnNames, kBuiltin, "user:", "project:", "mcp:"};

bool isReserved(const std::string& name) {
  return std::ranges::any_of(kReserved, [&](std::string_view own) {
    return equalIgnoringCase(name.substr(0, own.size()), own);
  });
}

Refusal refused(ErrorCode code, std::string message) {
  return {code, std::move(message), "hello"};
}

}  // namespace

Result<std::vector<Session*>, Refusal> chooseSessions(const Turn& turn, const Provider& provider,
                                                      const protocol::Hello& hello) {
  Sessions& sessions = turn.state.sessions;
  const std::string& only = provider.credentials.onlySession;
  const std::vector<const Session*> active = sessions.active();
  if (hello.session == kAll) {
    if (!only.empty()) {
      return refused(ErrorCode::Unauthorized, "this token is good for session " + inQuotes(only));
    }
    std::vector<Session*> all;
    all.reserve(active.size());
    for (const Session* session : active) all.push_back(sessions.find(session->id));
    return all;
  }
  std::string id = hello.session.value_or(only);
  if (id.empty() && active.size() == 1) id = active.front()->id;
  if (id.empty()) {
    return refused(ErrorCode::InvalidSession,
                   active.empty() ? "there is no session yet; wait for sessions.updated"
                                  : "there are several sessions: name one in hello.session");
  }
  Session* session = sessions.find(id);
  if (session == nullptr || session->ending || (!only.empty() && only != id)) {
    return refused(ErrorCode::InvalidSession,
                   "there is no session " + inQuotes(visible(id, false, 128)) +
                       " for you; pick an id from the last sessions message");
  }
  return std::vector<Session*>{session};
}

std::optional<Refusal> unauthorized(const Provider& provider, const protocol::Hello& hello) {
  constexpr auto kToolEvents =
      static_cast<uint8_t>(protocol::SubscribedEvent::ToolExecutionComplete);
  if (!provider.isOwn() && isReserved(hello.name)) {
    return refused(ErrorCode::Unauthorized,
                   "names that begin with \"tap-\", or like a feature's id with \"builtin:\", "
                   "\"user:\", \"project:\" or \"mcp:\", are tap's own; choose another");
  }
  if (auto reason = forbiddenHooks(provider, hello.hooks)) {
    return refused(ErrorCode::Unauthorized, std::move(*reason));
  }
  if (toParty(provider).isTrusted()) return std::nullopt;
  if (const std::string problem = asciiNameProblem(hello.name); !problem.empty()) {
    return refused(ErrorCode::InvalidJson, "hello.name: expected " + problem +
                                               "; letters of other scripts can pass for those");
  }
  if (hello.context || !hello.startupContext.empty()) {
    return refused(ErrorCode::Unauthorized, "an external provider cannot set context");
  }
  if ((hello.subscribe & ~kToolEvents) != 0) {
    return refused(ErrorCode::Unauthorized,
                   "an external provider can subscribe to tool events only");
  }
  return std::nullopt;
}

std::optional<Refusal> identityTaken(const Turn& turn, const Session& session,
                                     const Provider& provider, const std::string& name,
                                     const std::string& instance) {
  if (isNameOfAnother(turn, session, provider, name)) {
    return refused(ErrorCode::DuplicateInstance, "the name " + inQuotes(name) +
                                                     " belongs to another program in session " +
                                                     inQuotes(session.id) + "; choose another");
  }
  if (const std::string other = findLookAlike(turn, session, provider, name); !other.empty()) {
    return refused(ErrorCode::DuplicateInstance, "the name " + inQuotes(name) + " looks like " +
                                                     inQuotes(other) +
                                                     ", another provider's in session " +
                                                     inQuotes(session.id) + "; choose another");
  }
  if (turn.state.providers.byIdentity(session.id, name, instance) == nullptr) return std::nullopt;
  return refused(ErrorCode::DuplicateInstance,
                 "a provider named " + inQuotes(name) +
                     (instance.empty() ? std::string() : ", instance " + inQuotes(instance) + ",") +
                     " is connected to session " + inQuotes(session.id) +
                     "; choose another name or instance, or send its reconnectToken");
}

std::optional<Refusal> cannotBind(const Turn& turn, Session& session, const Provider& provider,
                                  const Binding& binding) {
  if (auto taken = identityTaken(turn, session, provider, provider.name, provider.instance)) {
    return taken;
  }
  if (const auto reason = toolConflict(turn, session, provider, binding.tools)) {
    return refused(ErrorCode::ToolConflict, *reason + "; rename yours and send hello again");
  }
  if (auto refusal = tooMuchText(turn, session, provider, binding, "hello")) return refusal;
  if (!hasNewTexts(session, provider, binding)) return std::nullopt;
  return payForTexts(turn, session, provider, binding, "hello");
}

}  // namespace tap::gateway
