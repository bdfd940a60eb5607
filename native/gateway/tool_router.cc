#include "gateway/tool_router.h"

#include <algorithm>
#include <utility>

namespace tap::gateway {

TextMap<CallId>& ToolRouter::idsOfAsker(const CallInFlight& call) {
  if (call.operatorLink) return byOperator_[*call.operatorLink];
  const auto session = bySession_.find(call.sessionId);
  return session != bySession_.end() ? session->second : bySession_[call.sessionId];
}

CallInFlight* ToolRouter::open(CallInFlight call) {
  if (!idsOfAsker(call).emplace(call.sessionCallId, call.id).second) return nullptr;
  const CallId id = call.id;
  return &calls_.emplace(id, std::move(call)).first->second;
}

std::optional<CallInFlight> ToolRouter::take(const CallId& id) {
  const auto at = calls_.find(id);
  if (at == calls_.end()) return std::nullopt;
  CallInFlight call = std::move(at->second);
  calls_.erase(at);
  idsOfAsker(call).erase(call.sessionCallId);
  return call;
}

std::optional<CallInFlight> ToolRouter::take(PeerId operatorLink, std::string_view callId) {
  const auto asker = byOperator_.find(operatorLink);
  if (asker == byOperator_.end()) return std::nullopt;
  const auto at = asker->second.find(callId);
  if (at == asker->second.end()) return std::nullopt;
  const CallId id = at->second;
  return take(id);
}

std::optional<CallInFlight> ToolRouter::take(std::string_view sessionId,
                                             std::string_view sessionCallId) {
  const auto session = bySession_.find(sessionId);
  if (session == bySession_.end()) return std::nullopt;
  const auto at = session->second.find(sessionCallId);
  if (at == session->second.end()) return std::nullopt;
  const CallId id = at->second;
  return take(id);
}

// A provider that goes is rare: that costs a look at every call, so that a call costs no list.
template <class Which>
std::vector<CallId> ToolRouter::idsIf(Which which) const {
  std::vector<CallId> ids;
  for (const auto& [id, call] : calls_) {
    if (which(call)) ids.push_back(id);
  }
  return ids;
}

std::vector<CallInFlight> ToolRouter::takeAll(const std::vector<CallId>& ids) {
  std::vector<CallInFlight> taken;
  taken.reserve(ids.size());
  for (const CallId& id : ids) taken.push_back(*take(id));
  return taken;
}

std::vector<CallInFlight> ToolRouter::takeOfProvider(PeerId provider) {
  return takeAll(idsIf([&](const CallInFlight& call) { return call.provider == provider; }));
}

std::vector<CallInFlight> ToolRouter::takeOfBinding(PeerId provider, std::string_view sessionId) {
  return takeAll(idsIf([&](const CallInFlight& call) {
    return call.provider == provider && call.sessionId == sessionId;
  }));
}

std::vector<CallInFlight> ToolRouter::takeOfSession(std::string_view sessionId) {
  const auto session = bySession_.find(sessionId);
  if (session == bySession_.end()) return {};
  std::vector<CallId> ids;
  for (const auto& [sessionCallId, id] : session->second) ids.push_back(id);
  std::vector<CallInFlight> taken = takeAll(ids);
  bySession_.erase(session);
  return taken;
}

std::vector<CallInFlight> ToolRouter::takeOfOperator(PeerId operatorLink) {
  std::vector<CallInFlight> taken =
      takeAll(idsIf([&](const CallInFlight& call) { return call.operatorLink == operatorLink; }));
  byOperator_.erase(operatorLink);
  return taken;
}

std::vector<CallInFlight> ToolRouter::takeOfOperators(std::string_view sessionId) {
  return takeAll(idsIf(
      [&](const CallInFlight& call) { return call.operatorLink && call.sessionId == sessionId; }));
}

CallInFlight* ToolRouter::find(const CallId& id) {
  const auto at = calls_.find(id);
  return at == calls_.end() ? nullptr : &at->second;
}

std::vector<CallId> ToolRouter::calledOf(PeerId provider) const {
  return idsIf([&](const CallInFlight& call) {
    return call.provider == provider && call.stage == CallStage::Called;
  });
}

size_t ToolRouter::countOfProvider(PeerId provider) const {
  return static_cast<size_t>(std::count_if(calls_.begin(), calls_.end(), [&](const auto& call) {
    return call.second.provider == provider;
  }));
}

size_t ToolRouter::countOfSession(std::string_view sessionId) const {
  const auto session = bySession_.find(sessionId);
  return session == bySession_.end() ? 0 : session->second.size();
}

size_t ToolRouter::countOfOperator(PeerId operatorLink) const {
  const auto asker = byOperator_.find(operatorLink);
  return asker == byOperator_.end() ? 0 : asker->second.size();
}

}  // namespace tap::gateway
