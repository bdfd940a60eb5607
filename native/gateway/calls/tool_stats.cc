#include "gateway/calls/tool_stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/encoding.h"

namespace tap::gateway {

namespace {
constexpr size_t kMaxTools = 1000;
constexpr size_t kMaxFailures = 20;
constexpr size_t kFailureBytes = 512;
}  // namespace

size_t Durations::stepIndex(uint64_t ms) {
  if (ms < kExact) return ms;
  const auto octave = static_cast<size_t>(std::bit_width(ms)) - std::bit_width(kExact);
  const size_t within = (ms >> (octave + 1)) - kInOctave;
  return std::min(kExact + octave * kInOctave + within, kExact + kOctaves * kInOctave - 1);
}

uint64_t Durations::stepEnd(size_t step) {
  if (step < kExact) return step;
  const size_t octave = (step - kExact) / kInOctave;
  const uint64_t within = (step - kExact) % kInOctave;
  return ((kInOctave + within + 1) << (octave + 1)) - 1;
}

void Durations::add(Millis duration) {
  const auto ms = static_cast<uint64_t>(std::max<int64_t>(duration.count(), 0));
  ++counts_[stepIndex(ms)];
  ++total_;
}

Millis Durations::percentile(double share) const {
  const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(total_)));
  uint64_t seen = 0;
  for (size_t step = 0; step < counts_.size(); ++step) {
    seen += counts_[step];
    if (seen > 0 && seen >= wanted) return Millis(static_cast<int64_t>(stepEnd(step)));
  }
  return Millis(0);
}

void Rate::add(Time now) {
  const int64_t slot = slotIndex(now);
  if (!first_ || slot - last_ >= static_cast<int64_t>(kSlots)) {
    counts_.fill(0);
    first_ = last_ = slot;
  }
  while (last_ < slot) counts_[static_cast<size_t>(++last_) % kSlots] = 0;
  ++counts_[static_cast<size_t>(slot) % kSlots];
}

double Rate::perSecond(Time now) const {
  const int64_t slot = slotIndex(now);
  const int64_t oldest = slot - static_cast<int64_t>(kSlots) + 1;
  if (!first_ || last_ < oldest) return 0;
  uint64_t events = 0;
  for (int64_t one = std::max(oldest, *first_); one <= last_; ++one) {
    events += counts_[static_cast<size_t>(one) % kSlots];
  }
  // Of the present slot only a part has passed; less than a second says little.
  const Millis inSlot = now.time_since_epoch() - slot * kSlot;
  const Millis passed = (slot - std::max(oldest, *first_)) * kSlot + inSlot;
  return 1000.0 * static_cast<double>(events) /
         static_cast<double>(std::max<int64_t>(passed.count(), 1000));
}

ToolRecord& ToolStats::record(std::string_view provider, std::string_view tool) {
  auto ofProvider = tools_.find(provider);
  if (ofProvider != tools_.end()) {
    const auto at = ofProvider->second.find(tool);
    if (at != ofProvider->second.end()) return at->second;
  }
  if (count_ >= kMaxTools) forgetOldest();
  ++count_;
  return tools_[std::string(provider)][std::string(tool)];
}

void ToolStats::forgetOldest() {
  std::string provider;
  std::string tool;
  int64_t oldest = std::numeric_limits<int64_t>::max();
  for (const auto& [name, ofProvider] : tools_) {
    for (const auto& [its, record] : ofProvider) {
      if (record.lastUnixMillis >= oldest) continue;
      oldest = record.lastUnixMillis;
      provider = name;
      tool = its;
    }
  }
  const auto at = tools_.find(provider);
  if (at == tools_.end()) return;
  count_ -= at->second.erase(tool);
  if (at->second.empty()) tools_.erase(at);
}

void ToolStats::settled(const Outcome& outcome, const Now& now) {
  ToolRecord& tool = record(outcome.provider, outcome.tool);
  ++tool.calls;
  if (outcome.failed) ++tool.failed;
  tool.lastUnixMillis = now.unixMillis;
  tool.durations.add(outcome.took);
  tool.rate.add(now.steady);
}

void ToolStats::cancelled(std::string_view provider, std::string_view tool, const Now& now) {
  ToolRecord& called = record(provider, tool);
  ++called.calls;
  ++called.cancelled;
  called.lastUnixMillis = now.unixMillis;
  called.rate.add(now.steady);
}

void ToolStats::failed(FailedCall call) {
  if (failures_.size() >= kMaxFailures) failures_.pop_front();
  call.text = visible(call.text, true, kFailureBytes);
  failures_.push_back(std::move(call));
}

}  // namespace tap::gateway
