#include "records/row_queue.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>

#include "base/utf8.h"

namespace tap::records {

namespace {

constexpr size_t kSmallBlock = size_t{16} * 1024;
constexpr size_t kLargeBlock = size_t{64} * 1024;
constexpr size_t kMaxText = 256;  // of a session's id, a source, the name of a span
constexpr size_t kMaxField = 64;
constexpr size_t kAlign = alignof(std::max_align_t);

[[nodiscard]] constexpr size_t aligned(size_t size) {
  return (size + kAlign - 1) / kAlign * kAlign;
}

[[nodiscard]] char* put(char* out, std::string_view text) {
  return std::copy(text.begin(), text.end(), out);
}

}  // namespace

struct RowQueue::Block {
  std::atomic<Block*> next{nullptr};
  std::atomic<size_t> used{0};
  size_t capacity = 0;

  [[nodiscard]] char* data() { return reinterpret_cast<char*>(this) + aligned(sizeof(Block)); }

  [[nodiscard]] static Block* create(size_t capacity) {
    void* memory = ::operator new(aligned(sizeof(Block)) + capacity, std::nothrow);
    if (memory == nullptr) return nullptr;
    auto* block = new (memory) Block;
    block->capacity = capacity;
    return block;
  }
  static void destroy(Block* block) {
    block->~Block();
    ::operator delete(block);
  }
};

// An entry of a block. It is followed by the span, if any, the Slices of shared payloads, and the
// texts: session, source, trace, body, the name of the span, then of each payload the field and,
// unless its bytes are shared, the text.
struct RowQueue::Head {
  int64_t at = 0;
  uint64_t number = 0;
  size_t wholeBody = 0;
  std::array<size_t, 2> wholeBytes{};
  uint32_t size = 0;  // total
  uint32_t body = 0;
  std::array<uint32_t, 2> texts{};
  uint16_t session = 0;
  uint16_t source = 0;
  uint16_t trace = 0;
  uint16_t spanName = 0;
  std::array<uint8_t, 2> fields{};
  std::array<bool, 2> shared{};
  Collection collection = Collection::Diagnostic;
  bool waited = false;
  bool urgent = false;
  bool hasSpan = false;

  [[nodiscard]] SpanInfo* span() { return reinterpret_cast<SpanInfo*>(this + 1); }
  [[nodiscard]] Slice* slices() {
    return reinterpret_cast<Slice*>(reinterpret_cast<char*>(this + 1) +
                                    (hasSpan ? sizeof(SpanInfo) : 0));
  }
  [[nodiscard]] char* textsBegin() {
    return reinterpret_cast<char*>(slices() + int{shared[0]} + int{shared[1]});
  }
};
static_assert(std::is_trivially_destructible_v<SpanInfo>);

// The parts of a row that an entry holds.
struct RowQueue::Parts {
  std::array<std::string_view, 5> texts;  // session, source, trace, body, the name of the span
  std::array<std::string_view, 2> fields;
  std::array<std::string_view, 2> payloads;  // copied payloads
  std::array<bool, 2> shared{};
  bool hasSpan = false;

  [[nodiscard]] size_t size() const {
    size_t sum = sizeof(Head) + (hasSpan ? sizeof(SpanInfo) : 0);
    for (const std::string_view text : texts) sum += text.size();
    for (size_t i = 0; i < 2; ++i) {
      sum += fields[i].size() + payloads[i].size() + (shared[i] ? sizeof(Slice) : 0);
    }
    return aligned(sum);
  }
};

RowQueue::~RowQueue() {
  QueuedRow row;
  while (next(row)) {
  }
  release();
  if (Block* block = first_.load(); block != nullptr) Block::destroy(block);
}

bool RowQueue::hasRoom(size_t size, bool urgent) const {
  const size_t after = bytes_.load(std::memory_order_relaxed) + size;
  if (!urgent) return after <= kMaxQueuedBytes;
  return after <= kMaxUrgentBytes && urgent_.load(std::memory_order_relaxed) < kMaxUrgentRows;
}

char* RowQueue::room(size_t size) {
  const size_t waiting = bytes_.load(std::memory_order_relaxed);
  if (tail_ != nullptr) {
    const size_t used = tail_->used.load(std::memory_order_relaxed);
    if (tail_->capacity - used >= size) return tail_->data() + used;
  }
  const size_t usual = waiting > kSmallBlock ? kLargeBlock : kSmallBlock;
  Block* block = Block::create(std::max(usual, size));
  if (block == nullptr) return nullptr;
  Block* before = std::exchange(tail_, block);
  if (before == nullptr) {
    first_.store(block, std::memory_order_release);
  } else {
    before->next.store(block, std::memory_order_release);
  }
  return block->data();
}

RowQueue::Parts RowQueue::collectParts(const Row& row) {
  Parts parts;
  parts.hasSpan = row.span.has_value();
  parts.texts = {utf8::truncate(row.session, kMaxText), utf8::truncate(row.source, kMaxText),
                 utf8::truncate(row.trace, kMaxText),
                 row.body.size() > kMaxQueuedBody ? std::string_view() : row.body,
                 parts.hasSpan ? utf8::truncate(row.span->name, kMaxText) : std::string_view()};
  for (size_t i = 0; i < 2; ++i) {
    const protocol::Payload& payload = row.payloads[i];
    parts.fields[i] = payload.field.substr(0, kMaxField);
    if (parts.fields[i].empty()) continue;
    const size_t size = payload.text.size();
    parts.shared[i] = size > kMaxCopiedPayload &&
                      shared_.load(std::memory_order_relaxed) + size <= kMaxSharedBytes;
    if (parts.shared[i]) {
      shared_.fetch_add(size, std::memory_order_relaxed);
    } else {
      parts.payloads[i] = utf8::truncate(payload.text.view(), kMaxCopiedPayload);
    }
  }
  return parts;
}

void RowQueue::fill(Head& head, const Row& row, const Parts& parts) {
  head.at = row.at;
  head.collection = row.collection;
  head.hasSpan = parts.hasSpan;
  head.shared = parts.shared;
  head.session = static_cast<uint16_t>(parts.texts[0].size());
  head.source = static_cast<uint16_t>(parts.texts[1].size());
  head.trace = static_cast<uint16_t>(parts.texts[2].size());
  head.body = static_cast<uint32_t>(parts.texts[3].size());
  head.spanName = static_cast<uint16_t>(parts.texts[4].size());
  head.wholeBody = row.body.size();
  if (parts.hasSpan) new (head.span()) SpanInfo(*row.span);
  Slice* slice = head.slices();
  char* out = head.textsBegin();
  for (const std::string_view text : parts.texts) out = put(out, text);
  for (size_t i = 0; i < 2; ++i) {
    if (parts.fields[i].empty()) continue;
    head.fields[i] = static_cast<uint8_t>(parts.fields[i].size());
    head.texts[i] = static_cast<uint32_t>(parts.payloads[i].size());
    head.wholeBytes[i] = row.payloads[i].text.size();
    if (parts.shared[i]) new (slice++) Slice(row.payloads[i].text.keep());
    out = put(put(out, parts.fields[i]), parts.payloads[i]);
  }
}

bool RowQueue::push(const Row& row, std::optional<uint64_t> number) {
  const Parts parts = collectParts(row);
  const size_t size = parts.size();
  const bool urgent = number.has_value() || row.collection == Collection::Notify;
  char* memory = hasRoom(size, urgent) ? room(size) : nullptr;
  if (memory == nullptr) {
    for (size_t i = 0; i < 2; ++i) {
      if (parts.shared[i]) {
        shared_.fetch_sub(row.payloads[i].text.size(), std::memory_order_relaxed);
      }
    }
    return false;
  }
  Head& head = *new (memory) Head;
  head.size = static_cast<uint32_t>(size);
  head.number = number.value_or(0);
  head.waited = number.has_value();
  head.urgent = urgent;
  fill(head, row, parts);
  bytes_.fetch_add(size, std::memory_order_relaxed);
  if (number) waited_.fetch_add(1);
  if (urgent) urgent_.fetch_add(1, std::memory_order_relaxed);
  tail_->used.store(static_cast<size_t>(memory - tail_->data()) + size, std::memory_order_release);
  pushed_.store(pushed_.load(std::memory_order_relaxed) + 1);
  return true;
}

RowQueue::Head* RowQueue::entryAt(Place& place) {
  while (place.block != nullptr) {
    if (place.offset < place.block->used.load(std::memory_order_acquire)) {
      return reinterpret_cast<Head*>(place.block->data() + place.offset);
    }
    Block* next = place.block->next.load(std::memory_order_acquire);
    if (next == nullptr) return nullptr;
    // A block's last entry is complete before the next block exists.
    if (place.offset < place.block->used.load(std::memory_order_acquire)) continue;
    place = {next, 0};
  }
  return nullptr;
}

bool RowQueue::next(QueuedRow& row) {
  if (at_.block == nullptr) released_ = at_ = {first_.load(std::memory_order_acquire), 0};
  Head* const head = entryAt(at_);
  if (head == nullptr) return false;
  const char* texts = head->textsBegin();
  const auto take = [&texts](size_t size) {
    const std::string_view text(texts, size);
    texts += size;
    return text;
  };
  row.collection = head->collection;
  row.at = head->at;
  row.session = take(head->session);
  row.source = take(head->source);
  row.trace = take(head->trace);
  row.body = take(head->body);
  row.bodyBytes = head->wholeBody;
  row.number = head->waited ? std::optional(head->number) : std::nullopt;
  row.span.reset();
  const std::string_view spanName = take(head->spanName);
  if (head->hasSpan) {
    row.span = *head->span();
    row.span->name = spanName;
  }
  const Slice* slice = head->slices();
  for (size_t i = 0; i < 2; ++i) {
    row.payloads[i].field = take(head->fields[i]);
    const std::string_view copied = take(head->texts[i]);
    row.payloads[i].text = head->shared[i] ? (slice++)->view() : copied;
    row.payloads[i].wholeBytes = head->wholeBytes[i];
  }
  at_.offset += head->size;
  ++taken_;
  return true;
}

void RowQueue::rewind() {
  at_ = released_;
  taken_ = takenAtRelease_;
}

void RowQueue::release() {
  size_t bytes = 0;
  size_t shared = 0;
  Block* const last = at_.block;
  while (released_.block != nullptr) {
    Block* const block = released_.block;
    const size_t until = block == last ? at_.offset : block->used.load(std::memory_order_acquire);
    while (released_.offset < until) {
      auto* head = reinterpret_cast<Head*>(block->data() + released_.offset);
      bytes += head->size;
      if (head->waited) waited_.fetch_sub(1);
      if (head->urgent) urgent_.fetch_sub(1, std::memory_order_relaxed);
      released_.offset += head->size;
      Slice* slice = head->slices();
      for (const bool isShared : head->shared) {
        if (!isShared) continue;
        shared += slice->size();
        (slice++)->~Slice();
      }
    }
    if (block == last) break;
    released_ = {block->next.load(std::memory_order_acquire), 0};
    first_.store(released_.block, std::memory_order_relaxed);
    Block::destroy(block);
  }
  takenAtRelease_ = taken_;
  bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  shared_.fetch_sub(shared, std::memory_order_relaxed);
}

}  // namespace tap::records
