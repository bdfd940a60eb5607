#include "gateway/calls/call_queue.h"

#include <utility>

namespace tap::gateway {

bool CallQueue::isFree(const std::string& key, size_t slots) const {
  const auto at = queues_.find(key);
  return at == queues_.end() || (at->second.waiting.empty() && at->second.taken < slots);
}

bool CallQueue::release(const std::string& key) {
  const auto at = queues_.find(key);
  if (at == queues_.end()) return false;
  --at->second.taken;
  if (!at->second.waiting.empty()) return true;
  if (at->second.taken == 0) queues_.erase(at);
  return false;
}

size_t CallQueue::waiting(const std::string& key) const {
  const auto at = queues_.find(key);
  return at == queues_.end() ? 0 : at->second.waiting.size();
}

void CallQueue::enqueue(const std::string& key, const CallId& callId, size_t slots) {
  queues_[key].waiting.push_back({callId, slots});
}

void CallQueue::remove(const std::string& key, const CallId& callId) {
  const auto at = queues_.find(key);
  if (at == queues_.end()) return;
  std::erase_if(at->second.waiting, [&](const Waiting& one) { return one.callId == callId; });
  if (at->second.waiting.empty() && at->second.taken == 0) queues_.erase(at);
}

std::optional<CallId> CallQueue::next(const std::string& key) {
  const auto at = queues_.find(key);
  if (at == queues_.end() || at->second.waiting.empty()) return std::nullopt;
  Queue& queue = at->second;
  if (queue.taken >= queue.waiting.front().slots) return std::nullopt;
  const CallId callId = queue.waiting.front().callId;
  queue.waiting.pop_front();
  ++queue.taken;
  return callId;
}

void CallQueue::hold(const CallId& callId, HeldSlot slot) {
  held_.emplace(callId, std::move(slot));
}

const HeldSlot* CallQueue::held(const CallId& callId) const {
  const auto at = held_.find(callId);
  return at == held_.end() ? nullptr : &at->second;
}

std::optional<HeldSlot> CallQueue::releaseHeld(const CallId& callId) {
  const auto at = held_.find(callId);
  if (at == held_.end()) return std::nullopt;
  HeldSlot slot = std::move(at->second);
  held_.erase(at);
  return slot;
}

std::vector<HeldSlot> CallQueue::releaseAllHeld(PeerId provider) {
  std::vector<HeldSlot> slots;
  for (auto at = held_.begin(); at != held_.end();) {
    if (at->second.provider == provider) {
      slots.push_back(std::move(at->second));
      at = held_.erase(at);
    } else {
      ++at;
    }
  }
  return slots;
}

}  // namespace tap::gateway
