// The thread that writes: takes rows from the queue, keeps the file small and valid, and reports
// failures.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "records/disk_budget.h"
#include "records/record_file.h"
#include "records/row_queue.h"
#include "records/thread.h"
#include "records/wake_signal.h"

namespace tap::records {

// A problem that people should see. `code` is a word for programs.
struct Diagnostic {
  int64_t at = 0;
  std::string code;
  std::string text;
};

// The state of the file, for other threads.
struct FileState {
  bool open = false;
  int64_t rows = 0;
  int64_t fileBytes = 0;
  Journal journal = Journal::Rollback;
  RollbackReason rollbackReason = RollbackReason::None;
  uint64_t written = 0;  // rows since the start
  std::array<uint64_t, protocol::kCollections> dropped{};
  std::vector<Diagnostic> diagnostics;  // the latest, oldest first
};

struct WriterOptions {
  std::string file;
  Retention retention;
  std::function<int64_t()> clock;  // Unix time in ms; from any thread
  RecordFile::FindFileSystem fileSystem = findFileSystem;
  std::function<std::optional<DiskSpace>(const std::string& file)> diskSpace = readDiskSpace;
  // How long the first row of a batch waits for further rows.
  std::chrono::milliseconds gather{20};
  // How long to wait for a different process that keeps the file locked.
  std::chrono::milliseconds busy{5000};
  // After a failure, rows are dropped for this long before the next attempt.
  std::chrono::milliseconds pause{5000};
  // Between two checks of a full disk while rows are not recorded.
  std::chrono::milliseconds diskCheckInterval{1000};
};

class Writer {
 public:
  // Called on the writer's thread.
  struct Events {
    std::function<void(uint64_t number, bool durable)> committed;
    std::function<void(const Diagnostic&)> diagnostic;
    std::function<void()> closed;
  };

  Writer(WriterOptions options, RowQueue& queue, Events events);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();  // writes the queued rows, and waits for that

  // For the thread that pushes: call it after each row.
  void pushed(bool urgent) {
    if (urgent) urgent_.store(true);
    if (urgent || queue_.pushed() >= wakeAt_.load()) wake();
  }
  // Writes the queued rows and ends; `closed` follows.
  void close();

  // For any thread.
  [[nodiscard]] FileState state() const;
  // A reader has found damage in the file.
  void suspect() {
    suspected_.store(true);
    wakeSignal_.notify();
  }
  void countDropped(Collection collection) {
    dropped_[static_cast<size_t>(collection)].fetch_add(1, std::memory_order_relaxed);
  }
  // Waits until rows pushed before are written or dropped, at most `most`. Returns: whether they
  // are.
  bool settle(std::chrono::milliseconds most);
  [[nodiscard]] bool started() const { return thread_.started(); }

 private:
  using Steady = std::chrono::steady_clock;

  void wake() {
    wakeAt_.store(UINT64_MAX);
    wakeSignal_.notify();
  }
  void run();
  // Waits for rows or other work.
  void sleep();
  void gather();
  void writeBatch();
  [[nodiscard]] bool ensureOpen();
  void openFile();
  void examine();
  [[nodiscard]] bool moveAside();
  void leaveRoom();
  void recover(Batch& batch, Keep keep);
  void recovered();
  void drop();
  void finish(const Batch& batch, bool durable);
  void prune();
  void watchClock();
  void fail(Failure failure, const std::string& problem);
  void report(std::string code, std::string text);
  void writeDiagnostics();
  void publish();

  WriterOptions options_;
  RowQueue& queue_;
  Events events_;
  RecordFile file_;
  WakeSignal wakeSignal_;
  Thread thread_;
  std::atomic<uint64_t> wakeAt_{1};
  std::atomic<bool> urgent_{false};
  std::atomic<bool> closing_{false};
  std::atomic<bool> suspected_{false};

  // The writer's thread.
  RowQueue own_;  // diagnostics that become rows
  bool tidied_ = false;
  bool refused_ = false;  // for the lifetime of this process
  std::string lastCode_;
  DiskBudget diskBudget_;
  Steady::time_point notBefore_;
  Steady::time_point nextFileCheck_;
  Steady::time_point nextAgePrune_;
  Steady::time_point clockSteady_;
  int64_t clockUnix_ = 0;
  uint64_t lost_ = 0;  // rows dropped since the last written row

  mutable std::mutex mutex_;
  std::condition_variable settled_;
  bool ready_ = false;     // opening the file has succeeded or failed
  uint64_t released_ = 0;  // of the pushed rows
  FileState state_;
  std::array<std::atomic<uint64_t>, protocol::kCollections> dropped_{};
};

}  // namespace tap::records
