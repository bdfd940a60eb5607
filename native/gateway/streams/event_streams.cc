#include "gateway/streams/event_streams.h"

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
  if (!hasRoomFor(stream, limits)) return nullptr;
  return &streams_.emplace(std::string(stream), Stream()).first->second;
}

bool EventStreams::hasRoomFor(std::string_view stream, const Limits& limits) const {
  return streams_.contains(stream) || streams_.size() < limits.count(Limit::StreamsPerProvider);
}

bool EventStreams::append(std::string_view stream, StreamEntry entry, const Limits& limits) {
  Stream* into = obtain(stream, limits);
  if (into == nullptr) return false;
  leave();
  entry.number = sums_->nextEvent();
  into->events.append(std::move(entry), limits);
  enter();
  return true;
}

EventStreams::~EventStreams() {
  leave();
}

void EventStreams::keepFor(RetainedDataSums& sums, const std::string& party) {
  if (sums_ == &sums && party_ == party) return;
  leave();
  sums_ = &sums;
  party_ = party;
  enter();
}

void EventStreams::enter() {
  const EventStream* oldest = party_.empty() ? nullptr : withOldest();
  if (oldest == nullptr) return;
  entered_ = {bytes(), oldest->entries().front().number};
  sums_->add(party_, entered_, *this);
}

void EventStreams::leave() {
  if (sums_ != nullptr) sums_->remove(party_, std::exchange(entered_, {}));
}

size_t EventStreams::bytes() const {
  size_t bytes = 0;
  for (const auto& [name, stream] : streams_) bytes += stream.events.bytes();
  return bytes;
}

EventStream* EventStreams::withOldest() {
  EventStream* oldest = nullptr;
  for (auto& [name, stream] : streams_) {
    const auto& entries = stream.events.entries();
    if (entries.empty()) continue;
    if (oldest == nullptr || entries.front().number < oldest->entries().front().number) {
      oldest = &stream.events;
    }
  }
  return oldest;
}

size_t EventStreams::dropOldest() {
  leave();
  const size_t bytes = withOldest()->dropOldest();
  enter();
  return bytes;
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
