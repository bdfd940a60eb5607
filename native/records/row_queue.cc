#include "records/row_queue.h"

#include <algorithm>
#include <cstring>
#include <new>

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

// An entry of a block. Its texts follow it: session, source, trace, body, the name of the span,
// then of each payload the field and, unless its bytes are shared, the text.
struct RowQueue::Head {
  struct PayloadPart {
    size_t wholeBytes = 0;
    uint32_t bytes = 0;
    uint8_t field = 0;
    Slice shared;
  };
  size_t size = 0;  // of all of it
  int64_t at = 0;
  uint64_t number = 0;
  size_t wholeBody = 0;
  uint32_t body = 0;
  uint16_t session = 0;
  uint16_t source = 0;
  uint16_t trace = 0;
  uint16_t spanName = 0;
  Collection collection = Collection::Diagnostic;
  bool waited = false;
  bool hasSpan = false;
  std::array<PayloadPart, 2> payloads{};
  SpanInfo span;

  [[nodiscard]] char* texts() { return reinterpret_cast<char*>(this) + sizeof(Head); }
};

namespace {

// What of a row goes into an entry.
struct Parts {
  std::string_view session;
  std::string_view source;
  std::string_view trace;
  std::string_view body;
  std::string_view spanName;
  std::array<std::string_view, 2> fields;
  std::array<std::string_view, 2> texts;  // that are copied

  [[nodiscard]] size_t size() const {
    size_t sum = session.size() + source.size() + trace.size() + body.size() + spanName.size();
    for (size_t i = 0; i < 2; ++i) sum += fields[i].size() + texts[i].size();
    return sum;
  }
};

char* put(char* out, std::string_view text) {
  return std::copy(text.begin(), text.end(), out);
}

}  // namespace

RowQueue::~RowQueue() {
  QueuedRow row;
  while (next(row)) {
  }
  release();
  if (Block* block = first_.load(); block != nullptr) Block::destroy(block);
}

char* RowQueue::room(size_t size, bool urgent) {
  const size_t waiting = bytes_.load(std::memory_order_relaxed);
  if (!urgent && waiting + size > kMaxQueuedBytes) return nullptr;
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

bool RowQueue::push(const Row& row, std::optional<uint64_t> number) {
  Parts parts{utf8::truncate(row.session, kMaxText),
              utf8::truncate(row.source, kMaxText),
              utf8::truncate(row.trace, kMaxText),
              row.body,
              {},
              {},
              {}};
  if (row.body.size() > kMaxQueuedBody) parts.body = {};
  if (row.span) parts.spanName = utf8::truncate(row.span->name, kMaxText);
  std::array<bool, 2> shares{};
  for (size_t i = 0; i < 2; ++i) {
    const protocol::Payload& payload = row.payloads[i];
    parts.fields[i] = payload.field.substr(0, kMaxField);
    if (parts.fields[i].empty()) continue;
    const size_t size = payload.text.size();
    shares[i] = size > kMaxCopiedPayload &&
                shared_.load(std::memory_order_relaxed) + size <= kMaxSharedBytes;
    if (shares[i]) {
      shared_.fetch_add(size, std::memory_order_relaxed);
    } else {
      parts.texts[i] = utf8::truncate(payload.text.view(), kMaxCopiedPayload);
    }
  }
  const size_t size = aligned(sizeof(Head) + parts.size());
  char* memory = room(size, number.has_value() || row.collection == Collection::Notify);
  if (memory == nullptr) {
    for (size_t i = 0; i < 2; ++i) {
      if (shares[i]) shared_.fetch_sub(row.payloads[i].text.size(), std::memory_order_relaxed);
    }
    return false;
  }
  Head& head = *new (memory) Head;
  head.size = size;
  head.at = row.at;
  head.number = number.value_or(0);
  head.waited = number.has_value();
  head.collection = row.collection;
  head.session = static_cast<uint16_t>(parts.session.size());
  head.source = static_cast<uint16_t>(parts.source.size());
  head.trace = static_cast<uint16_t>(parts.trace.size());
  head.body = static_cast<uint32_t>(parts.body.size());
  head.wholeBody = row.body.size();
  head.spanName = static_cast<uint16_t>(parts.spanName.size());
  head.hasSpan = row.span.has_value();
  if (row.span) head.span = *row.span;
  char* out = head.texts();
  for (const std::string_view text :
       {parts.session, parts.source, parts.trace, parts.body, parts.spanName}) {
    out = put(out, text);
  }
  for (size_t i = 0; i < 2; ++i) {
    Head::PayloadPart& part = head.payloads[i];
    part.field = static_cast<uint8_t>(parts.fields[i].size());
    part.bytes = static_cast<uint32_t>(parts.texts[i].size());
    part.wholeBytes = part.field > 0 ? row.payloads[i].text.size() : 0;
    if (shares[i]) part.shared = row.payloads[i].text.keep();
    out = put(put(out, parts.fields[i]), parts.texts[i]);
  }
  bytes_.fetch_add(size, std::memory_order_relaxed);
  if (number) waited_.fetch_add(1);
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
    // The last entry of a block is there before the next block is.
    if (place.offset < place.block->used.load(std::memory_order_acquire)) continue;
    place = {next, 0};
  }
  return nullptr;
}

bool RowQueue::next(QueuedRow& row) {
  if (at_.block == nullptr) released_ = at_ = {first_.load(std::memory_order_acquire), 0};
  Head* const head = entryAt(at_);
  if (head == nullptr) return false;
  const char* texts = head->texts();
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
    row.span = head->span;
    row.span->name = spanName;
  }
  for (size_t i = 0; i < 2; ++i) {
    const Head::PayloadPart& part = head->payloads[i];
    row.payloads[i].field = take(part.field);
    const std::string_view copied = take(part.bytes);
    row.payloads[i].text = part.shared.empty() ? copied : part.shared.view();
    row.payloads[i].wholeBytes = part.wholeBytes;
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
      for (const Head::PayloadPart& part : head->payloads) shared += part.shared.size();
      released_.offset += head->size;
      head->~Head();
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
