#include "gateway/event_streams.h"

#include <utility>

namespace tap::gateway {

namespace {
size_t weight(const StreamEntry& entry) {
  return sizeof(StreamEntry) + entry.event.size() + entry.metadata.size();
}
}  // namespace

void EventStream::append(StreamEntry entry, const Limits& limits) {
  bytes_ += weight(entry);
  entries_.push_back(std::move(entry));
  while (entries_.size() > limits.count(Limit::StreamEntries) ||
         (bytes_ > limits.bytes(Limit::StreamBytes) && entries_.size() > 1)) {
    bytes_ -= weight(entries_.front());
    entries_.pop_front();
  }
}

EventStreams::Stream* EventStreams::obtain(std::string_view stream, const Limits& limits) {
  const auto at = streams_.find(stream);
  if (at != streams_.end()) return &at->second;
  if (streams_.size() >= limits.count(Limit::StreamsPerProvider)) return nullptr;
  return &streams_.emplace(std::string(stream), Stream()).first->second;
}

bool EventStreams::append(std::string_view stream, StreamEntry entry, const Limits& limits) {
  Stream* into = obtain(stream, limits);
  if (into == nullptr) return false;
  into->events.append(std::move(entry), limits);
  return true;
}

const EventStream* EventStreams::find(std::string_view stream) const {
  const auto at = streams_.find(stream);
  return at == streams_.end() ? nullptr : &at->second.events;
}

bool EventStreams::setFilter(std::string_view stream, std::vector<protocol::FilterRule> rules,
                             const Limits& limits) {
  Stream* of = obtain(stream, limits);
  if (of == nullptr) return false;
  of->filter = std::move(rules);
  return true;
}

const std::vector<protocol::FilterRule>& EventStreams::filter(std::string_view stream) const {
  static const std::vector<protocol::FilterRule> kNone;
  const auto at = streams_.find(stream);
  return at == streams_.end() ? kNone : at->second.filter;
}

}  // namespace tap::gateway
