// What the process around the gateway can do to it: tokens and timeline lines for the providers
// that it starts itself, the texts of slash commands, answers to requests, and an inspection.
#include "base/json_writer.h"
#include "gateway/control/commands.h"
#include "gateway/control/inspection.h"
#include "gateway/core/gateway.h"
#include "gateway/core/link_inputs.h"
#include "gateway/registry/refusal.h"
#include "gateway/registry/session_output.h"
#include "gateway/registry/session_start.h"
#include "gateway/sync/tool_groups.h"

namespace tap::gateway {

std::string Gateway::issueSpawnToken(const std::string& sessionId) {
  const Session* session = state_.sessions.find(sessionId);
  if (session == nullptr || session->ending) return {};
  return state_.authenticator.issueSpawnToken(sessionId);
}

std::string Gateway::sessionEnvironment(const std::string& sessionId) {
  const Session* session = state_.sessions.find(sessionId);
  if (session == nullptr) return {};
  std::string text;
  json::Writer writer(text);
  writer.beginObject();
  protocol::writeEnvironment(writer, session->path, session->runtime);
  writer.endObject();
  return text;
}

void Gateway::forgetSpawnToken(const std::string& token, bool revoked, Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  if (state_.authenticator.forgetSpawnToken(token)) {
    endToken(turn, token,
             revoked ? "the user does not allow this provider any more"
                     : "the process that this token was given to has ended",
             revoked ? Departure::Goodbye : Departure::Lost);
  } else if (revoked && !token.empty()) {
    forgetToken(turn, token);  // its process had ended before: remove its leftovers, too
  }
}

std::string Gateway::issueFeatureToken() {
  return state_.authenticator.issueFeatureToken();
}

void Gateway::revokeFeatureToken(const std::string& token, Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  if (!state_.authenticator.forgetFeatureToken(token)) return;
  constexpr std::string_view kWhy = "the feature host that had this token has ended";
  endToken(turn, token, kWhy, Departure::Lost);  // features that end by themselves have said so
  for (const PeerId link : state_.controlClients.withToken(token)) {
    endLink(turn, link, "TOKEN", std::string(kWhy));
  }
}

void Gateway::welcomeSession(const WelcomeSession& session, Now now, Effects& effects) {
  welcomeNew(Turn{state_, now, effects}, session.sessionId, session.peer, session.joined);
}

void Gateway::addGroups(const std::string& sessionId, const std::vector<std::string>& names,
                        Now now, Effects& effects) {
  Session* session = state_.sessions.find(sessionId);
  if (session == nullptr || session->ending) return;
  gateway::addGroups(Turn{state_, now, effects}, *session, names);
}

void Gateway::openGroups(OpeningNumber number, const std::string& sessionId,
                         const std::vector<std::string>& names, Now now, Effects& effects) {
  const Turn turn{state_, now, effects};
  Session* session = state_.sessions.find(sessionId);
  if (session == nullptr || session->ending) {
    return turn.effect(GroupsOpened{number, false, {}, "there is no session of that id"});
  }
  gateway::openGroups(turn, *session, number, names);
}

void Gateway::disableTools(const std::string& feature, const std::vector<std::string>& names) {
  auto& disabled = state_.disabledTools;
  std::erase_if(disabled, [&](const auto& entry) { return entry.second == feature; });
  for (const std::string& name : names) disabled.insert_or_assign(name, feature);
}

void Gateway::requestFromSession(SessionRequestNumber number, const std::string& sessionId,
                                 const std::string& request, const std::string& params, Now now,
                                 Effects& effects) {
  gateway::requestFromSession(Turn{state_, now, effects}, number, sessionId, request, params);
}

void Gateway::answerRequest(RequestNumber number, std::string_view json, Now now,
                            Effects& effects) {
  gateway::answerRequest(Turn{state_, now, effects}, number, json);
}

void Gateway::writeTimeline(const std::string& sessionId, protocol::LogLevel level,
                            std::string_view text, Now now, Effects& effects) {
  Session* session = state_.sessions.find(sessionId);
  if (session == nullptr || session->ending) return;
  gateway::writeTimeline(Turn{state_, now, effects}, *session, level, text);
}

void Gateway::commandFinished(CommandNumber number, std::string_view text, Now now,
                              Effects& effects) {
  finishCommand(Turn{state_, now, effects}, number, text);
}

std::string Gateway::inspect(Now now) {
  Effects none;
  return describeEverything(Turn{state_, now, none});
}

}  // namespace tap::gateway
