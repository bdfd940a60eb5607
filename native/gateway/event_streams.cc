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

bool EventStreams::append(std::string_view stream, StreamEntry entry, const Limits& limits) {
  auto at = streams_.find(stream);
  if (at == streams_.end()) {
    if (streams_.size() >= limits.count(Limit::StreamsPerProvider)) return false;
    at = streams_.emplace(std::string(stream), EventStream()).first;
  }
  at->second.append(std::move(entry), limits);
  return true;
}

const EventStream* EventStreams::find(std::string_view stream) const {
  const auto at = streams_.find(stream);
  return at == streams_.end() ? nullptr : &at->second;
}

}  // namespace tap::gateway
