#include "gateway/calls/call_queue.h"

#include <utility>

namespace tap::gateway {

bool CallQueue::isFree(const std::string& key, size_t places) const {
  const auto at = lines_.find(key);
  return at == lines_.end() || (at->second.waiting.empty() && at->second.taken < places);
}

bool CallQueue::leave(const std::string& key) {
  const auto at = lines_.find(key);
  if (at == lines_.end()) return false;
  --at->second.taken;
  if (!at->second.waiting.empty()) return true;
  if (at->second.taken == 0) lines_.erase(at);
  return false;
}

size_t CallQueue::waiting(const std::string& key) const {
  const auto at = lines_.find(key);
  return at == lines_.end() ? 0 : at->second.waiting.size();
}

void CallQueue::standInLine(const std::string& key, const CallId& callId, size_t places) {
  lines_[key].waiting.push_back({callId, places});
}

void CallQueue::leaveLine(const std::string& key, const CallId& callId) {
  const auto at = lines_.find(key);
  if (at == lines_.end()) return;
  std::erase_if(at->second.waiting, [&](const Waiting& one) { return one.callId == callId; });
  if (at->second.waiting.empty() && at->second.taken == 0) lines_.erase(at);
}

std::optional<CallId> CallQueue::next(const std::string& key) {
  const auto at = lines_.find(key);
  if (at == lines_.end() || at->second.waiting.empty()) return std::nullopt;
  Line& line = at->second;
  if (line.taken >= line.waiting.front().places) return std::nullopt;
  const CallId callId = line.waiting.front().callId;
  line.waiting.pop_front();
  ++line.taken;
  return callId;
}

void CallQueue::hold(const CallId& callId, HeldPlace place) {
  held_.emplace(callId, std::move(place));
}

const HeldPlace* CallQueue::held(const CallId& callId) const {
  const auto at = held_.find(callId);
  return at == held_.end() ? nullptr : &at->second;
}

std::optional<HeldPlace> CallQueue::letGo(const CallId& callId) {
  const auto at = held_.find(callId);
  if (at == held_.end()) return std::nullopt;
  HeldPlace place = std::move(at->second);
  held_.erase(at);
  return place;
}

std::vector<HeldPlace> CallQueue::letGoOf(PeerId provider) {
  std::vector<HeldPlace> places;
  for (auto at = held_.begin(); at != held_.end();) {
    if (at->second.provider == provider) {
      places.push_back(std::move(at->second));
      at = held_.erase(at);
    } else {
      ++at;
    }
  }
  return places;
}

}  // namespace tap::gateway
