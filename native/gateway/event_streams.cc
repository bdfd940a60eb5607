#include "gateway/event_streams.h"

#include <utility>

namespace tap::gateway {

void EventStream::append(StreamEntry entry, const Limits& limits) {
  bytes_ += entry.bytes();
  entries_.push_back(std::move(entry));
  while (entries_.size() > limits.count(Limit::StreamEntries) ||
         (bytes_ > limits.bytes(Limit::StreamBytes) && entries_.size() > 1)) {
    dropOldest();
  }
}

size_t EventStream::dropOldest() {
  const size_t bytes = entries_.front().bytes();
  bytes_ -= bytes;
  entries_.pop_front();
  return bytes;
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

size_t EventStreams::bytes() const {
  size_t bytes = 0;
  for (const auto& [name, stream] : streams_) bytes += stream.events.bytes();
  return bytes;
}

std::optional<int64_t> EventStreams::oldest() const {
  std::optional<int64_t> oldest;
  for (const auto& [name, stream] : streams_) {
    if (stream.events.entries().empty()) continue;
    const int64_t came = stream.events.entries().front().unixMillis;
    if (!oldest || came < *oldest) oldest = came;
  }
  return oldest;
}

size_t EventStreams::dropOldest() {
  const std::optional<int64_t> first = oldest();
  for (auto& [name, stream] : streams_) {
    const auto& entries = stream.events.entries();
    if (!entries.empty() && entries.front().unixMillis == first) return stream.events.dropOldest();
  }
  return 0;
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
