// The latest entries of one emitter's stream, bounded in number and in bytes; the oldest go first.
// Their texts lie in one ring of bytes: an entry allocates nothing once the ring has its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "protocol/filter.h"

namespace tap::lines {

// Own: an entry that no program wrote, such as the end of a run.
enum class Source : uint8_t { Stdout, Stderr, Own };

struct Entry {
  uint64_t number = 0;  // counts from 1, over all runs
  int64_t unixMillis = 0;
  uint64_t line = 0;  // its number in the run's output; 0: of an entry that is not a line
  uint32_t run = 0;
  int32_t rule = -1;  // the rule that decided, in the order at that time; -1: none did
  protocol::FilterOutcome outcome = protocol::FilterOutcome::Keep;
  Source source = Source::Stdout;
  std::string_view text;
  std::string_view metadata;  // JSON text of an object, or empty
};

struct RingLimits {
  size_t entries = 1000;
  size_t bytes = size_t{256} * 1024;  // of texts and metadata
};

class LineRing {
 public:
  explicit LineRing(RingLimits limits = {});

  // Appends a copy; its number is set. A text that is longer than the whole ring is not kept.
  // Returns: its number.
  uint64_t append(Entry entry);
  // The number of the newest entry, 0 if there was none yet.
  [[nodiscard]] uint64_t newest() const { return next_ - 1; }
  [[nodiscard]] size_t size() const { return count_; }
  // How many entries have gone.
  [[nodiscard]] uint64_t gone() const { return next_ - 1 - count_; }

  struct Query {
    size_t last = 100;   // at most so many, the newest
    uint64_t since = 0;  // only those with a greater number
    protocol::FilterOutcome least = protocol::FilterOutcome::Keep;  // this outcome or a greater one
  };
  // The oldest first. Texts are valid until the next append.
  [[nodiscard]] std::vector<Entry> query(const Query& query) const;

  // Memory that it holds, besides itself.
  [[nodiscard]] size_t bytes() const;

 private:
  struct Slot {
    int64_t unixMillis;
    uint64_t line;
    uint32_t run;
    int32_t rule;
    uint32_t offset;
    uint32_t text;
    uint32_t metadata;
    protocol::FilterOutcome outcome;
    Source source;
    // At least one byte, so that no two entries begin at the same place.
    [[nodiscard]] size_t size() const {
      const size_t bytes = size_t{text} + metadata;
      return bytes > 0 ? bytes : 1;
    }
  };

  [[nodiscard]] const Slot& slot(size_t index) const;
  [[nodiscard]] Entry entryAt(size_t index) const;
  [[nodiscard]] size_t place(size_t size);
  [[nodiscard]] std::optional<size_t> gap(size_t size) const;
  [[nodiscard]] bool grow(size_t size);
  void growSlots();
  void dropOldest();

  RingLimits limits_;
  std::unique_ptr<char[]> arena_;
  size_t arenaSize_ = 0;
  size_t end_ = 0;           // where the newest entry ends
  std::vector<Slot> slots_;  // a ring, from first_
  size_t first_ = 0;
  size_t count_ = 0;
  uint64_t next_ = 1;
};

}  // namespace tap::lines
