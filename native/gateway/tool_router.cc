#include "gateway/tool_router.h"

#include <utility>

namespace tap::gateway {

CallInFlight* ToolRouter::open(CallInFlight call) {
  auto& ofSession = bySession_[call.sessionId];
  if (!ofSession.emplace(call.sessionCallId, call.id).second) return nullptr;
  byProvider_[call.provider].insert(call.id);
  std::string id = call.id;
  return &calls_.emplace(std::move(id), std::move(call)).first->second;
}

std::optional<CallInFlight> ToolRouter::take(std::string_view id) {
  const auto at = calls_.find(std::string(id));
  if (at == calls_.end()) return std::nullopt;
  CallInFlight call = std::move(at->second);
  calls_.erase(at);
  if (const auto of = byProvider_.find(call.provider); of != byProvider_.end()) {
    of->second.erase(call.id);
    if (of->second.empty()) byProvider_.erase(of);
  }
  if (const auto of = bySession_.find(call.sessionId); of != bySession_.end()) {
    of->second.erase(call.sessionCallId);
    if (of->second.empty()) bySession_.erase(of);
  }
  return call;
}

std::optional<CallInFlight> ToolRouter::take(std::string_view sessionId,
                                             std::string_view sessionCallId) {
  const auto session = bySession_.find(std::string(sessionId));
  if (session == bySession_.end()) return std::nullopt;
  const auto at = session->second.find(std::string(sessionCallId));
  if (at == session->second.end()) return std::nullopt;
  const std::string id = at->second;
  return take(id);
}

std::vector<CallInFlight> ToolRouter::takeOfProvider(PeerId provider) {
  std::vector<CallInFlight> taken;
  const auto of = byProvider_.find(provider);
  if (of == byProvider_.end()) return taken;
  const std::unordered_set<std::string> ids = of->second;
  for (const std::string& id : ids) taken.push_back(*take(id));
  return taken;
}

std::vector<CallInFlight> ToolRouter::takeOfBinding(PeerId provider, std::string_view sessionId) {
  std::vector<CallInFlight> taken;
  const auto of = byProvider_.find(provider);
  if (of == byProvider_.end()) return taken;
  const std::unordered_set<std::string> ids = of->second;
  for (const std::string& id : ids) {
    if (calls_.at(id).sessionId == sessionId) taken.push_back(*take(id));
  }
  return taken;
}

std::vector<CallInFlight> ToolRouter::takeOfSession(std::string_view sessionId) {
  std::vector<CallInFlight> taken;
  const auto of = bySession_.find(std::string(sessionId));
  if (of == bySession_.end()) return taken;
  const std::unordered_map<std::string, std::string> ids = of->second;
  for (const auto& [sessionCallId, id] : ids) taken.push_back(*take(id));
  return taken;
}

CallInFlight* ToolRouter::find(std::string_view id) {
  const auto at = calls_.find(std::string(id));
  return at == calls_.end() ? nullptr : &at->second;
}

std::vector<std::string> ToolRouter::calledOf(PeerId provider) const {
  std::vector<std::string> called;
  const auto of = byProvider_.find(provider);
  if (of == byProvider_.end()) return called;
  for (const std::string& id : of->second) {
    if (calls_.at(id).stage == CallStage::Called) called.push_back(id);
  }
  return called;
}

size_t ToolRouter::countOfProvider(PeerId provider) const {
  const auto of = byProvider_.find(provider);
  return of == byProvider_.end() ? 0 : of->second.size();
}

size_t ToolRouter::countOfSession(std::string_view sessionId) const {
  const auto of = bySession_.find(std::string(sessionId));
  return of == bySession_.end() ? 0 : of->second.size();
}

}  // namespace tap::gateway
