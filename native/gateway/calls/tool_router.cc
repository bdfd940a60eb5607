#include "gateway/calls/tool_router.h"

#include <algorithm>
#include <utility>

namespace tap::gateway {

TextMap<CallId>& ToolRouter::idsOfCaller(const CallInFlight& call) {
  if (call.controlLink) return byControl_[*call.controlLink];
  const auto session = bySession_.find(call.sessionId);
  return session != bySession_.end() ? session->second : bySession_[call.sessionId];
}

CallInFlight* ToolRouter::open(CallPtr call) {
  call->siblings = &idsOfCaller(*call);
  if (!call->siblings->emplace(call->sessionCallId, call->id).second) return nullptr;
  const CallId id = call->id;
  return calls_.emplace(id, std::move(call)).first->second.get();
}

CallPtr ToolRouter::take(const CallId& id) {
  const auto at = calls_.find(id);
  if (at == calls_.end()) return nullptr;
  CallPtr call = std::move(at->second);
  calls_.erase(at);
  call->siblings->erase(call->sessionCallId);
  return call;
}

CallPtr ToolRouter::take(const TextMap<CallId>& ids, std::string_view callersId) {
  const auto at = ids.find(callersId);
  if (at == ids.end()) return nullptr;
  const CallId id = at->second;
  return take(id);
}

CallPtr ToolRouter::take(PeerId controlLink, std::string_view callId) {
  const auto caller = byControl_.find(controlLink);
  return caller == byControl_.end() ? nullptr : take(caller->second, callId);
}

CallPtr ToolRouter::take(std::string_view sessionId, std::string_view sessionCallId) {
  const auto session = bySession_.find(sessionId);
  return session == bySession_.end() ? nullptr : take(session->second, sessionCallId);
}

// A provider that goes is rare: that costs a look at every call, so that a call costs no list.
template <class Which>
std::vector<CallId> ToolRouter::idsIf(Which which) const {
  std::vector<CallId> ids;
  for (const auto& [id, call] : calls_) {
    if (which(*call)) ids.push_back(id);
  }
  return ids;
}

std::vector<CallPtr> ToolRouter::takeAll(const std::vector<CallId>& ids) {
  std::vector<CallPtr> taken;
  taken.reserve(ids.size());
  for (const CallId& id : ids) taken.push_back(take(id));
  return taken;
}

std::vector<CallPtr> ToolRouter::takeOfProvider(PeerId provider) {
  return takeAll(idsIf([&](const CallInFlight& call) { return call.provider == provider; }));
}

std::vector<CallPtr> ToolRouter::takeOfBinding(PeerId provider, std::string_view sessionId) {
  return takeAll(idsIf([&](const CallInFlight& call) {
    return call.provider == provider && call.sessionId == sessionId;
  }));
}

std::vector<CallPtr> ToolRouter::takeOfSession(std::string_view sessionId) {
  const auto session = bySession_.find(sessionId);
  if (session == bySession_.end()) return {};
  std::vector<CallId> ids;
  for (const auto& [sessionCallId, id] : session->second) ids.push_back(id);
  std::vector<CallPtr> taken = takeAll(ids);
  bySession_.erase(session);
  return taken;
}

std::vector<CallPtr> ToolRouter::takeOfControl(PeerId controlLink) {
  std::vector<CallPtr> taken =
      takeAll(idsIf([&](const CallInFlight& call) { return call.controlLink == controlLink; }));
  byControl_.erase(controlLink);
  return taken;
}

std::vector<CallPtr> ToolRouter::takeOfControlClients(std::string_view sessionId) {
  return takeAll(idsIf(
      [&](const CallInFlight& call) { return call.controlLink && call.sessionId == sessionId; }));
}

std::optional<CallId> ToolRouter::parseId(std::string_view text) {
  if (text == std::string_view(lastText_.data(), lastText_.size())) return lastId_;
  const std::optional<CallId> id = CallId::parse(text);
  if (!id) return std::nullopt;
  std::copy(text.begin(), text.end(), lastText_.begin());
  lastId_ = *id;
  return id;
}

CallInFlight* ToolRouter::find(const CallId& id) {
  const auto at = calls_.find(id);
  return at == calls_.end() ? nullptr : at->second.get();
}

std::vector<CallId> ToolRouter::unansweredCalls(PeerId provider) const {
  return idsIf([&](const CallInFlight& call) {
    return call.provider == provider && call.stage == CallStage::Called;
  });
}

size_t ToolRouter::countOfProvider(PeerId provider) const {
  return static_cast<size_t>(std::count_if(calls_.begin(), calls_.end(), [&](const auto& call) {
    return call.second->provider == provider;
  }));
}

size_t ToolRouter::countOfSession(std::string_view sessionId) const {
  const auto session = bySession_.find(sessionId);
  return session == bySession_.end() ? 0 : session->second.size();
}

size_t ToolRouter::countOfControl(PeerId controlLink) const {
  const auto caller = byControl_.find(controlLink);
  return caller == byControl_.end() ? 0 : caller->second.size();
}

}  // namespace tap::gateway
