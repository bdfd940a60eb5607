// Rows on their way from the thread of the loop to the store's. One thread pushes and one takes;
// neither waits for the other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/slice.h"
#include "protocol/records.h"

namespace tap::records {

using protocol::Collection;
using protocol::Row;
using protocol::SpanInfo;

// Of rows that wait, without the large payloads that are shared; and of these alone. A row that
// finds no room is dropped; a large payload that finds none is cut.
inline constexpr size_t kMaxQueuedBytes = size_t{8} * 1024 * 1024;
inline constexpr size_t kMaxSharedBytes = size_t{8} * 1024 * 1024;
// A row with a number, and one of `notify`, finds room beyond that while the disk stalls: up to so
// many bytes with all the others, and so many of these rows.
inline constexpr size_t kMaxUrgentBytes = 2 * kMaxQueuedBytes;
inline constexpr size_t kMaxUrgentRows = 10'000;
// A payload up to this size is copied; of a larger one the bytes are shared.
inline constexpr size_t kMaxCopiedPayload = size_t{8} * 1024;
// A larger body is not kept: a record has room for much less.
inline constexpr size_t kMaxQueuedBody = size_t{32} * 1024;

// A row that was taken. Its texts live until release().
struct QueuedRow {
  struct Payload {
    std::string_view field;
    std::string_view text;
    size_t wholeBytes = 0;  // of the text before the queue cut it, where it had no room
  };
  Collection collection = Collection::Diagnostic;
  int64_t at = 0;
  std::string_view session;
  std::string_view source;
  std::string_view trace;
  std::string_view body;  // empty: it was larger than kMaxQueuedBody
  size_t bodyBytes = 0;   // of the body as it was pushed
  std::array<Payload, 2> payloads{};
  std::optional<SpanInfo> span;
  std::optional<uint64_t> number;  // of a row that somebody waits for
};

class RowQueue {
 public:
  RowQueue() = default;
  RowQueue(const RowQueue&) = delete;
  RowQueue& operator=(const RowQueue&) = delete;
  ~RowQueue();  // when neither thread uses it any more

  // For the thread that pushes. False: there is no room, and nothing was kept.
  [[nodiscard]] bool push(const Row& row, std::optional<uint64_t> number = std::nullopt);
  // How many were pushed so far.
  [[nodiscard]] uint64_t pushed() const { return pushed_.load(); }

  // For the thread that takes. False: there is none now.
  [[nodiscard]] bool next(QueuedRow& row);
  // The rows since the last release() come again.
  void rewind();
  // The rows that were taken are no longer needed.
  void release();
  [[nodiscard]] uint64_t taken() const { return taken_; }

  // For any thread.
  [[nodiscard]] size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // Rows with a number that were pushed and not released.
  [[nodiscard]] size_t waited() const { return waited_.load(); }

 private:
  struct Block;
  struct Head;
  struct Parts;
  struct Place {
    Block* block = nullptr;
    size_t offset = 0;
  };

  [[nodiscard]] Parts collectParts(const Row& row);
  static void fill(Head& head, const Row& row, const Parts& parts);
  [[nodiscard]] bool hasRoom(size_t size, bool urgent) const;
  [[nodiscard]] char* room(size_t size);
  // The entry at that place; null if none was pushed yet. Moves to the next block where it must.
  [[nodiscard]] static Head* entryAt(Place& place);

  // The thread that pushes.
  Block* tail_ = nullptr;
  std::atomic<uint64_t> pushed_{0};

  // Both.
  std::atomic<Block*> first_{nullptr};
  std::atomic<size_t> bytes_{0};
  std::atomic<size_t> shared_{0};
  std::atomic<size_t> waited_{0};
  std::atomic<size_t> urgent_{0};

  // The thread that takes.
  Place released_;
  Place at_;
  uint64_t taken_ = 0;
  uint64_t takenAtRelease_ = 0;
};

}  // namespace tap::records
