// A queue of rows from the thread of the loop to the store's. A single thread pushes and a single
// thread takes; neither waits.
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

// The maximum of queued bytes without shared payloads, and the maximum of shared payloads. A row
// without room is dropped; a large payload without room is cut.
inline constexpr size_t kMaxQueuedBytes = size_t{8} * 1024 * 1024;
inline constexpr size_t kMaxSharedBytes = size_t{8} * 1024 * 1024;
// Rows with a number, and rows of `notify`, may exceed it while the disk stalls: up to this many
// bytes in total, and this many such rows.
inline constexpr size_t kMaxUrgentBytes = 2 * kMaxQueuedBytes;
inline constexpr size_t kMaxUrgentRows = 10'000;
// A payload up to this size is copied; the bytes of a larger payload are shared.
inline constexpr size_t kMaxCopiedPayload = size_t{8} * 1024;
// A larger body is dropped: a record has room for much less.
inline constexpr size_t kMaxQueuedBody = size_t{32} * 1024;

// A row that was taken. Its texts are valid until release().
struct QueuedRow {
  struct Payload {
    std::string_view field;
    std::string_view text;
    size_t wholeBytes = 0;  // of the text before the queue cut it
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
  std::optional<uint64_t> number;  // of a committed row
};

class RowQueue {
 public:
  RowQueue() = default;
  RowQueue(const RowQueue&) = delete;
  RowQueue& operator=(const RowQueue&) = delete;
  ~RowQueue();  // REQUIRES: neither thread uses it

  // For the thread that pushes. Returns false if there is no room; the row is then dropped.
  [[nodiscard]] bool push(const Row& row, std::optional<uint64_t> number = std::nullopt);
  // The number of rows pushed so far.
  [[nodiscard]] uint64_t pushed() const { return pushed_.load(); }

  // For the thread that takes. Returns false if the queue is empty.
  [[nodiscard]] bool next(QueuedRow& row);
  // The rows since the last release() are returned again.
  void rewind();
  // Frees the rows that were taken.
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
  // The entry at that place; null if it was not pushed yet. Moves to the next block if necessary.
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
