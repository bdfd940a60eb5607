#include "gateway/records/refused_rows.h"

#include <utility>

#include "gateway/core/turn.h"
#include "gateway/records/rows.h"

namespace tap::gateway {

namespace {

constexpr Millis kRowEach{1'000};
// Names that count on their own; the others count together, as those without a name do.
constexpr size_t kMaxNames = 256;

RefusedRows::iterator find(RefusedRows& rows, const std::string& provider) {
  const auto at = rows.find(provider);
  return at != rows.end() || rows.size() < kMaxNames ? at : rows.find("");
}

void wait(const Turn& turn, const std::string& provider) {
  turn.state.timers.schedule(turn.now.steady + kRowEach, RefusedDue{provider});
}

}  // namespace

void recordRefused(const Turn& turn, const Provider& provider, std::string_view session,
                   const protocol::Refusal& refusal) {
  RefusedRows& rows = turn.state.refused;
  const std::string_view code = protocol::wireName(refusal.code);
  if (const auto at = find(rows, provider.name); at != rows.end()) {
    const uint64_t count = at->second.count + 1;
    at->second = {count, std::string(session), code, refusal.message};
    return;
  }
  recordProvider(turn, provider, session, {"refused", code, refusal.message});
  const std::string& name = rows.size() < kMaxNames ? provider.name : std::string();
  rows.try_emplace(name);
  wait(turn, name);
}

bool isCountingRefused(const Turn& turn, const Provider& provider) {
  return find(turn.state.refused, provider.name) != turn.state.refused.end();
}

void refusedDue(const Turn& turn, const std::string& provider) {
  const auto at = turn.state.refused.find(provider);
  if (at == turn.state.refused.end()) return;
  if (at->second.count == 0) {
    turn.state.refused.erase(at);
    return;
  }
  const RefusedCount last = std::exchange(at->second, {});
  if (isRecording(turn)) recordRefusals(turn, provider, last);
  wait(turn, provider);
}

}  // namespace tap::gateway
