// How calls went, for people: per tool how many, how fast, how often they failed, and the last
// failures in words. Bounded: the tools that were called longest ago are forgotten first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/text_map.h"
#include "base/time.h"

namespace tap::gateway {

// Counts durations in steps of at most an eighth of their size.
class Durations {
 public:
  void add(Millis duration);
  // The upper end of the step in which that share (0 to 1) of all is reached; 0 without durations.
  [[nodiscard]] Millis percentile(double share) const;

 private:
  static constexpr size_t kExact = 16;  // durations below this many ms have a step each
  static constexpr size_t kInOctave = 8;
  static constexpr size_t kOctaves = 18;  // up to 72 minutes; a call takes 60 at most
  [[nodiscard]] static size_t stepIndex(uint64_t ms);
  [[nodiscard]] static uint64_t stepEnd(size_t step);

  std::array<uint32_t, kExact + kInOctave * kOctaves> counts_{};
  uint64_t total_ = 0;
};

// Events in the last minute, counted in slots of ten seconds.
class Rate {
 public:
  void add(Time now);
  [[nodiscard]] double perSecond(Time now) const;

 private:
  static constexpr size_t kSlots = 6;
  static constexpr Millis kSlot{10'000};
  [[nodiscard]] static int64_t slotIndex(Time now) { return now.time_since_epoch() / kSlot; }

  std::array<uint32_t, kSlots> counts_{};
  std::optional<int64_t> first_;  // the slot of the first event after an empty period
  int64_t last_ = 0;
};

struct ToolRecord {
  uint64_t calls = 0;
  uint64_t failed = 0;
  uint64_t cancelled = 0;  // of these nobody has waited for an outcome
  int64_t lastUnixMillis = 0;
  Durations durations;
  Rate rate;
};

struct FailedCall {
  int64_t unixMillis = 0;
  std::string provider;  // empty: nobody had the tool
  std::string tool;
  std::string_view code;  // on the wire
  std::string text;
};

class ToolStats {
 public:
  struct Outcome {
    std::string_view provider;
    std::string_view tool;
    Millis took;
    bool failed;
  };
  void settled(const Outcome& outcome, const Now& now);
  void cancelled(std::string_view provider, std::string_view tool, const Now& now);
  void failed(FailedCall call);

  using Tools = TextMap<ToolRecord>;
  // By provider, then by tool.
  [[nodiscard]] const TextMap<Tools>& tools() const { return tools_; }
  // The oldest first.
  [[nodiscard]] const std::deque<FailedCall>& failures() const { return failures_; }

 private:
  [[nodiscard]] ToolRecord& record(std::string_view provider, std::string_view tool);
  void forgetOldest();

  TextMap<Tools> tools_;
  size_t count_ = 0;
  std::deque<FailedCall> failures_;
};

}  // namespace tap::gateway
