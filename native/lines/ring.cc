#include "lines/ring.h"

#include <algorithm>
#include <utility>

namespace tap::lines {
namespace {

constexpr size_t kFirstArena = 512;
constexpr size_t kFirstSlots = 8;

}  // namespace

LineRing::LineRing(RingLimits limits) : limits_(limits) {
  limits_.entries = std::max<size_t>(limits_.entries, 1);
  limits_.bytes = std::max<size_t>(limits_.bytes, 1);
}

const LineRing::Slot& LineRing::slot(size_t index) const {
  return slots_[(first_ + index) % slots_.size()];
}

uint64_t LineRing::append(Entry entry) {
  const size_t size = entry.text.size() + entry.metadata.size();
  if (size > limits_.bytes) entry.text = entry.metadata = {};
  if (count_ == limits_.entries) dropOldest();
  if (count_ == slots_.size()) growSlots();
  const size_t offset = place(std::max<size_t>(entry.text.size() + entry.metadata.size(), 1));
  char* out = arena_.get() + offset;
  out = std::ranges::copy(entry.text, out).out;
  std::ranges::copy(entry.metadata, out);
  Slot& into = slots_[(first_ + count_) % slots_.size()];
  into = {entry.unixMillis,
          entry.line,
          entry.run,
          entry.rule,
          static_cast<uint32_t>(offset),
          static_cast<uint32_t>(entry.text.size()),
          static_cast<uint32_t>(entry.metadata.size()),
          entry.outcome,
          entry.source};
  ++count_;
  end_ = offset + into.size();
  return next_++;
}

void LineRing::dropOldest() {
  first_ = (first_ + 1) % slots_.size();
  if (--count_ == 0) end_ = 0;
}

// Where so many bytes are free in one piece.
std::optional<size_t> LineRing::gap(size_t size) const {
  if (count_ == 0) return size <= arenaSize_ ? std::optional<size_t>(0) : std::nullopt;
  const size_t begin = slot(0).offset;  // of the oldest
  const bool isWrapped = begin >= end_;
  if (isWrapped) return end_ + size <= begin ? std::optional(end_) : std::nullopt;
  if (end_ + size <= arenaSize_) return end_;
  return size <= begin ? std::optional<size_t>(0) : std::nullopt;
}

// The offset of a free piece, which older entries go for if they must.
size_t LineRing::place(size_t size) {
  std::optional<size_t> found = gap(size);
  while (!found) {
    if (!grow(size)) dropOldest();
    found = gap(size);
  }
  return *found;
}

// A larger arena, with the texts in their order. False: it has its full size.
bool LineRing::grow(size_t size) {
  if (arenaSize_ >= limits_.bytes) return false;
  const size_t wanted = std::max({2 * arenaSize_, arenaSize_ + size, kFirstArena});
  const size_t larger = std::min(wanted, limits_.bytes);
  auto arena = std::make_unique_for_overwrite<char[]>(larger);
  size_t at = 0;
  for (size_t i = 0; i < count_; ++i) {
    Slot& one = slots_[(first_ + i) % slots_.size()];
    std::copy_n(arena_.get() + one.offset, one.size(), arena.get() + at);
    one.offset = static_cast<uint32_t>(at);
    at += one.size();
  }
  arena_ = std::move(arena);
  arenaSize_ = larger;
  end_ = at;
  return true;
}

void LineRing::growSlots() {
  std::vector<Slot> larger;
  larger.reserve(std::min(std::max(2 * slots_.size(), kFirstSlots), limits_.entries));
  for (size_t i = 0; i < count_; ++i) larger.push_back(slot(i));
  larger.resize(larger.capacity());
  slots_ = std::move(larger);
  first_ = 0;
}

Entry LineRing::entryAt(size_t index) const {
  const Slot& from = slot(index);
  const std::string_view bytes(arena_.get() + from.offset, size_t{from.text} + from.metadata);
  Entry entry;
  entry.number = next_ - count_ + index;
  entry.unixMillis = from.unixMillis;
  entry.line = from.line;
  entry.run = from.run;
  entry.rule = from.rule;
  entry.outcome = from.outcome;
  entry.source = from.source;
  entry.text = bytes.substr(0, from.text);
  entry.metadata = bytes.substr(from.text);
  return entry;
}

std::vector<Entry> LineRing::query(const Query& query) const {
  std::vector<Entry> entries;
  for (size_t i = count_; i-- > 0 && entries.size() < query.last;) {
    if (next_ - count_ + i <= query.since) break;
    if (slot(i).outcome >= query.least) entries.push_back(entryAt(i));
  }
  std::ranges::reverse(entries);
  return entries;
}

size_t LineRing::bytes() const {
  return arenaSize_ + slots_.capacity() * sizeof(Slot);
}

}  // namespace tap::lines
