#include "gateway/calls/call_log.h"

#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "base/utf8.h"

namespace tap::gateway {

namespace {
constexpr size_t kNameBytes = 128;
constexpr size_t kTextBytes = 256;
}  // namespace

void ArgsHead::assign(std::string_view args) {
  const std::string_view head = utf8::truncate(args, kBytes);
  std::copy(head.begin(), head.end(), text_.begin());
  size_ = static_cast<uint16_t>(head.size());
  cut_ = head.size() < args.size();
}

CallLog::Share& CallLog::obtainShare(std::string_view provider) {
  if (latest_ != nullptr && latest_->first == provider) return latest_->second;
  auto at = shares_.find(provider);
  if (at == shares_.end()) at = shares_.try_emplace(std::string(provider)).first;
  latest_ = &*at;
  return at->second;
}

uint16_t CallLog::takeOldest(Share& share) {
  --share.count;
  return std::exchange(share.oldest, slots_[share.oldest].next);
}

uint16_t CallLog::takeFromLargest() {
  // Of several, the one whose oldest call is the oldest.
  const auto rank = [&](const Share& share) {
    return std::pair(share.count, share.count == 0 ? 0 : -slots_[share.oldest].sequence);
  };
  const auto largest = std::max_element(
      shares_.begin(), shares_.end(),
      [&](const auto& a, const auto& b) { return rank(a.second) < rank(b.second); });
  const uint16_t place = takeOldest(largest->second);
  // The share that needs room is smaller than an even share, so the largest is another one.
  if (largest->second.count == 0) shares_.erase(largest);
  return place;
}

uint16_t CallLog::freePlace(Share& its) {
  if (its.count >= kOfOneProvider) return takeOldest(its);
  if (slots_.size() < kOfAll) {
    slots_.emplace_back();
    return static_cast<uint16_t>(slots_.size() - 1);
  }
  const size_t even = std::max<size_t>(kOfAll / shares_.size(), 1);
  return its.count >= even ? takeOldest(its) : takeFromLargest();
}

void CallLog::add(const FinishedCall& call) {
  Share& its = obtainShare(utf8::truncate(call.provider, kNameBytes));
  const uint16_t place = freePlace(its);
  if (its.count++ == 0) {
    its.oldest = place;
  } else {
    slots_[its.newest].next = place;
  }
  its.newest = place;
  Slot& slot = slots_[place];
  slot.sequence = ++sequence_;
  slot.unixMillis = call.unixMillis;
  slot.tookMillis = call.took.count();
  const std::array<std::string_view, 4> texts{
      utf8::truncate(call.sessionId, kNameBytes), utf8::truncate(call.tool, kNameBytes),
      utf8::truncate(call.args, ArgsHead::kBytes), utf8::truncate(call.text, kTextBytes)};
  slot.texts.clear();
  slot.texts.reserve(texts[0].size() + texts[1].size() + texts[2].size() + texts[3].size());
  for (size_t i = 0; i < texts.size(); ++i) {
    slot.texts += texts[i];
    slot.sizes[i] = static_cast<uint16_t>(texts[i].size());
  }
  slot.code = call.code;
  slot.argsCut = call.argsCut;
  slot.byCommand = call.byCommand;
}

std::array<std::string_view, 4> CallLog::Slot::splitTexts() const {
  std::array<std::string_view, 4> parts;
  std::string_view rest = texts;
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i] = rest.substr(0, sizes[i]);
    rest.remove_prefix(sizes[i]);
  }
  return parts;
}

std::string CallLog::json(int64_t after) const {
  std::vector<std::pair<const Slot*, std::string_view>> wanted;
  for (const auto& [provider, share] : shares_) {
    uint16_t place = share.oldest;
    for (size_t i = 0; i < share.count; ++i, place = slots_[place].next) {
      if (slots_[place].sequence > after) wanted.emplace_back(&slots_[place], provider);
    }
  }
  std::sort(wanted.begin(), wanted.end(),
            [](const auto& a, const auto& b) { return a.first->sequence < b.first->sequence; });
  std::string text;
  json::Writer writer(text);
  writer.beginArray();
  for (const auto& [slot, provider] : wanted) {
    const auto [session, tool, args, reason] = slot->splitTexts();
    writer.beginObject().field("sequence", slot->sequence).field("at", slot->unixMillis);
    writer.field("ms", slot->tookMillis).field("session", session);
    writer.field("provider", provider).field("tool", tool);
    writer.field("by", slot->byCommand ? "command" : "model");
    writer.field("args", args).field("argsCut", slot->argsCut);
    if (!slot->code.empty()) writer.field("code", slot->code).field("message", reason);
    writer.endObject();
  }
  writer.endArray();
  return text;
}

}  // namespace tap::gateway
