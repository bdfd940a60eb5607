// The events that providers have pushed: per session and provider a few named streams, each a ring
// of the latest events (docs/protocol.md, "push").
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "gateway/registry/retained_data_sums.h"
#include "protocol/provider/provider_messages.h"

namespace tap::gateway {

struct StreamEntry {
  int64_t unixMillis = 0;
  std::string event;
  std::string metadata;  // JSON text of an object, or empty
  uint64_t number = 0;   // RetainedDataSums::nextEvent

  // Its size in memory.
  [[nodiscard]] size_t bytes() const {
    return sizeof(StreamEntry) + event.size() + metadata.size();
  }
};

// One ring, bounded in entries and in bytes; the oldest go first.
class EventStream {
 public:
  void append(StreamEntry entry, const Limits& limits);
  [[nodiscard]] const std::deque<StreamEntry>& entries() const { return entries_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }
  // REQUIRES: there is an entry. Returns what it took.
  size_t dropOldest();

 private:
  std::deque<StreamEntry> entries_;
  size_t bytes_ = 0;
};

// All streams of one provider in one session, each with a filter if it has set one. Its events are
// on a party's account, which points here.
class EventStreams {
 public:
  EventStreams() = default;
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;
  ~EventStreams();

  // On whose account they are from now on; empty: nobody's. The sums must stay.
  void keepFor(RetainedDataSums& sums, const std::string& party);
  [[nodiscard]] const std::string& party() const { return party_; }

  // REQUIRES: keepFor. False if this would be one stream too many.
  [[nodiscard]] bool append(std::string_view stream, StreamEntry entry, const Limits& limits);
  [[nodiscard]] const EventStream* find(std::string_view stream) const;
  [[nodiscard]] size_t size() const { return streams_.size(); }

  // Of all streams together.
  [[nodiscard]] size_t bytes() const;
  // Whether an event for this stream would not be one stream too many.
  [[nodiscard]] bool hasRoomFor(std::string_view stream, const Limits& limits) const;
  // Drops the oldest entry. REQUIRES: there is one. Returns what it took.
  size_t dropOldest();

  // Replaces the stream's filter; no rules take it away. False if this would be one stream too
  // many.
  [[nodiscard]] bool setFilter(std::string_view stream, std::vector<protocol::FilterRule> rules,
                               const Limits& limits);
  [[nodiscard]] const std::vector<protocol::FilterRule>& filter(std::string_view stream) const;

 private:
  struct Stream {
    EventStream events;
    std::vector<protocol::FilterRule> filter;
  };
  // The one with the oldest entry; null if there are no entries.
  [[nodiscard]] EventStream* withOldest();
  void enter();
  void leave();
  [[nodiscard]] Stream* obtain(std::string_view stream, const Limits& limits);

  std::map<std::string, Stream, std::less<>> streams_;
  RetainedDataSums* sums_ = nullptr;
  std::string party_;
  RetainedDataSums::Events entered_;
};

}  // namespace tap::gateway
