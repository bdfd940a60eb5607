#include "gateway/call_log.h"

#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "base/utf8.h"

namespace tap::gateway {

namespace {
constexpr size_t kNameBytes = 128;
constexpr size_t kTextBytes = 256;
}  // namespace

ArgsHead::ArgsHead(std::string_view args) {
  const std::string_view head = utf8::truncate(args, kBytes);
  std::copy(head.begin(), head.end(), text_.begin());
  size_ = static_cast<uint16_t>(head.size());
  cut_ = head.size() < args.size();
}

CallLog::Party& CallLog::party(std::string_view provider) {
  if (latest_ != nullptr && latest_->first == provider) return latest_->second;
  auto at = parties_.find(provider);
  if (at == parties_.end()) at = parties_.try_emplace(std::string(provider)).first;
  latest_ = &*at;
  return at->second;
}

void CallLog::makeRoom(Party& its) {
  // Of several, the one whose oldest call is the oldest.
  const auto weight = [](const Party& party) {
    const int64_t oldest = party.slots.empty() ? 0 : party.slots[party.oldest].sequence;
    return std::pair(party.slots.size(), -oldest);
  };
  auto most = std::max_element(parties_.begin(), parties_.end(), [&](const auto& a, const auto& b) {
    return weight(a.second) < weight(b.second);
  });
  Party& from = most->second;
  std::rotate(from.slots.begin(), from.slots.begin() + static_cast<std::ptrdiff_t>(from.oldest),
              from.slots.end());
  from.oldest = 0;
  from.slots.erase(from.slots.begin());
  --count_;
  if (!from.slots.empty() || &from == &its) return;
  if (latest_ == &*most) latest_ = nullptr;
  parties_.erase(most);
}

CallLog::Slot& CallLog::freeSlot(Party& its) {
  if (its.slots.size() < kOfOneProvider) {
    if (count_ >= kOfAll) makeRoom(its);
    ++count_;
    return its.slots.emplace_back();
  }
  Slot& slot = its.slots[its.oldest];
  its.oldest = (its.oldest + 1) % its.slots.size();
  return slot;
}

void CallLog::add(const FinishedCall& call) {
  Slot& slot = freeSlot(party(utf8::truncate(call.provider, kNameBytes)));
  slot.sequence = ++sequence_;
  slot.unixMillis = call.unixMillis;
  slot.tookMillis = call.took.count();
  slot.sessionId.assign(utf8::truncate(call.sessionId, kNameBytes));
  slot.tool.assign(utf8::truncate(call.tool, kNameBytes));
  slot.args.assign(call.args);
  slot.text.assign(utf8::truncate(call.text, kTextBytes));
  slot.code = call.code;
  slot.argsCut = call.argsCut;
  slot.byCommand = call.byCommand;
}

std::string CallLog::json(int64_t after) const {
  std::vector<std::pair<const Slot*, std::string_view>> wanted;
  for (const auto& [provider, party] : parties_) {
    for (const Slot& slot : party.slots) {
      if (slot.sequence > after) wanted.emplace_back(&slot, provider);
    }
  }
  std::sort(wanted.begin(), wanted.end(),
            [](const auto& a, const auto& b) { return a.first->sequence < b.first->sequence; });
  std::string text;
  json::Writer writer(text);
  writer.beginArray();
  for (const auto& [slot, provider] : wanted) {
    writer.beginObject().field("sequence", slot->sequence).field("at", slot->unixMillis);
    writer.field("ms", slot->tookMillis).field("session", slot->sessionId);
    writer.field("provider", provider).field("tool", slot->tool);
    writer.field("by", slot->byCommand ? "command" : "model");
    writer.field("args", slot->args).field("argsCut", slot->argsCut);
    if (!slot->code.empty()) writer.field("code", slot->code).field("message", slot->text);
    writer.endObject();
  }
  writer.endArray();
  return text;
}

}  // namespace tap::gateway
