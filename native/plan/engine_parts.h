// Shared by the engine's source files only.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "plan/engine.h"

namespace tap::plan {

// Bits of Live::holds.
inline constexpr uint8_t kBusy = 1;
inline constexpr uint8_t kPlace = 2;
inline constexpr uint8_t kAgent = 4;

inline constexpr double kNear = 0.8;  // share of a budget

[[nodiscard]] inline Entry makeEntry(EntryKind kind, const Moment& now) {
  Entry entry;
  entry.kind = kind;
  entry.at = now.unixMillis;
  return entry;
}

[[nodiscard]] inline Entry makeEntry(EntryKind kind, const Node& node, const Moment& now) {
  Entry entry = makeEntry(kind, now);
  entry.node = node.spec.id;
  return entry;
}

[[nodiscard]] inline std::string reasonDetail(std::string_view reason) {
  std::string out;
  json::Writer(out).beginObject().field("reason", reason).endObject();
  return out;
}

[[nodiscard]] inline std::string errorDetail(std::string_view code, std::string_view message) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().key("error").beginObject();
  writer.field("code", code).field("message", message).endObject().endObject();
  return out;
}

// The phase where a retry begins. An agent gets the failure of a later phase, and continues its
// work.
[[nodiscard]] inline Phase retryPhase(const Node& node, RetryFrom from) {
  if (from == RetryFrom::Start || node.attempts.empty()) return Phase::MergeFi;
  if (from == RetryFrom::Commit) return Phase::Commit;
  // The session of its agent ended with its work.
  if (node.isRelanding()) return Phase::Postchecks;
  const bool isAfterWork = node.phase == Phase::Commit || node.phase == Phase::Postchecks;
  const bool isAgent = node.spec.work.kind == WorkKind::Agent;
  return std::min(isAfterWork && isAgent ? Phase::Work : node.phase, node.retryAtLatest);
}

// How much of the budget is used: 1 is all of it.
[[nodiscard]] inline double shareUsed(const Plan& plan) {
  return std::max(creditShare(plan.usage(), plan.budget()),
                  tokenShare(plan.usage(), plan.budget()));
}

}  // namespace tap::plan
