// Inputs from the process around the gateway (gateway/core/host_inputs.cc).
#include "uv/server.h"

namespace tap::uv {

using protocol::LogLevel;

std::string Server::issueSpawnToken(const std::string& sessionId) {
  return closed_ ? std::string() : gateway_.issueSpawnToken(sessionId);
}

void Server::forgetSpawnToken(const std::string& token, bool revoked) {
  gateway_.forgetSpawnToken(token, revoked, clock_.fresh(), effects_);
  settle();
}

std::string Server::issueFeatureToken() {
  return closed_ ? std::string() : gateway_.issueFeatureToken();
}

void Server::revokeFeatureToken(const std::string& token) {
  gateway_.revokeFeatureToken(token, clock_.fresh(), effects_);
  settle();
}

void Server::addGroups(const std::string& sessionId, const std::vector<std::string>& names) {
  gateway_.addGroups(sessionId, names, clock_.fresh(), effects_);
  settle();
}

void Server::openGroups(gateway::OpeningNumber number, const std::string& sessionId,
                        const std::vector<std::string>& names) {
  gateway_.openGroups(number, sessionId, names, clock_.fresh(), effects_);
  settle();
  write();
}

void Server::requestFromSession(gateway::SessionRequestNumber number, const std::string& sessionId,
                                const std::string& request, const std::string& params) {
  gateway_.requestFromSession(number, sessionId, request, params, clock_.fresh(), effects_);
  settle();
  write();
}

void Server::answerRequest(gateway::RequestNumber number, std::string_view json) {
  gateway_.answerRequest(number, json, clock_.fresh(), effects_);
  settle();
}

void Server::writeTimeline(const std::string& sessionId, LogLevel level, std::string_view text) {
  gateway_.writeTimeline(sessionId, level, text, clock_.fresh(), effects_);
  settle();
}

void Server::commandFinished(gateway::CommandNumber number, std::string_view text) {
  gateway_.commandFinished(number, text, clock_.fresh(), effects_);
  settle();
}

}  // namespace tap::uv
