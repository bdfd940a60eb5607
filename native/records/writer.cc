#include "records/writer.h"

#include <algorithm>

#include "base/encoding.h"
#include "base/json_writer.h"

namespace tap::records {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kBatchRows = 5000;
// After this time without rows, the thread tidies up and sleeps.
constexpr seconds kIdle{2};
// Between two checks that the file is still the same.
constexpr seconds kFileCheckInterval{1};
// Old rows are deleted slowly: a clock that is wrong for an hour costs a slice or two.
constexpr hours kAgePrune{1};
constexpr int64_t kBackwardsMs = 60'000;
constexpr size_t kKeptDiagnostics = 16;
// Each takes the disk a few milliseconds, and commits may be waiting.
constexpr int kShrinkSteps = 4;
constexpr const char* kNearlyFull = "nearly-full";

[[nodiscard]] std::string inMegabytes(int64_t bytes) {
  const int64_t tenths = bytes / 100'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MB";
}

}  // namespace

Writer::Writer(WriterOptions options, RowQueue& queue, Events events)
    : options_(std::move(options)),
      queue_(queue),
      events_(std::move(events)),
      file_(options_.file, options_.retention, options_.fileSystem, options_.busy) {
  if (thread_.start([this] { run(); })) return;
  report("no-thread", "Records are not kept: the system gives no thread for them.");
}

Writer::~Writer() {
  close();
  thread_.join();
}

void Writer::close() {
  closing_.store(true);
  wakeSignal_.notify();
}

FileState Writer::state() const {
  const std::lock_guard lock(mutex_);
  FileState state = state_;
  for (size_t i = 0; i < dropped_.size(); ++i) state.dropped[i] = dropped_[i].load();
  return state;
}

bool Writer::settle(milliseconds most) {
  const uint64_t wanted = queue_.pushed();
  urgent_.store(true);
  wakeSignal_.notify();
  std::unique_lock lock(mutex_);
  return settled_.wait_for(lock, most, [&] { return ready_ && released_ >= wanted; });
}

void Writer::run() {
  clockSteady_ = Steady::now();
  clockUnix_ = options_.clock();
  openFile();
  leaveRoom();
  publish();
  {
    const std::lock_guard lock(mutex_);
    ready_ = true;
  }
  settled_.notify_all();
  // Only now: until the file is open, the status shows that records are off.
  Thread::lowerPriority();
  for (;;) {
    sleep();
    const bool closing = closing_.load();
    if (suspected_.exchange(false)) examine();
    if (queue_.pushed() > queue_.taken()) {
      if (!closing) gather();
      while (queue_.pushed() > queue_.taken()) writeBatch();
      tidied_ = false;
    } else if (closing) {
      break;
    }
  }
  file_.close();
  publish();
  events_.closed();
}

void Writer::sleep() {
  wakeAt_.store(queue_.taken() + 1);
  const auto isNeeded = [this] {
    return queue_.pushed() > queue_.taken() || closing_.load() || suspected_.load();
  };
  if (isNeeded()) return;
  if (diskBudget_.isShort()) {
    if (wakeSignal_.wait(options_.diskCheckInterval)) return;
    leaveRoom();
    return publish();
  }
  if (tidied_) return wakeSignal_.wait();
  if (wakeSignal_.wait(kIdle)) return;
  while (!isNeeded() && file_.tidy()) {
  }
  publish();
  tidied_ = true;
}

void Writer::gather() {
  wakeAt_.store(queue_.taken() + kBatchRows);
  if (!urgent_.exchange(false) && queue_.pushed() < queue_.taken() + kBatchRows)
    wakeSignal_.wait(options_.gather);
  urgent_.store(false);
  wakeAt_.store(UINT64_MAX);
}

void Writer::writeBatch() {
  watchClock();
  if (!ensureOpen()) return drop();
  leaveRoom();
  const Keep keep = diskBudget_.isShort() ? Keep::OnlyNotify : Keep::All;
  Batch batch = file_.write(queue_, kBatchRows, keep);
  if (batch.failure != Failure::None) recover(batch, keep);
  const bool durable = batch.failure == Failure::None;
  if (durable && keep == Keep::All) {
    recovered();
    writeDiagnostics();
  }
  publish();
  finish(batch, durable);
  if (durable) prune();
}

// Releases the rows of a batch.
void Writer::finish(const Batch& batch, bool durable) {
  queue_.release();
  uint64_t lost = 0;
  for (size_t i = 0; i < dropped_.size(); ++i) {
    const uint64_t count = batch.leftOut[i] + (durable ? 0 : batch.byCollection[i]);
    dropped_[i].fetch_add(count, std::memory_order_relaxed);
    lost += count;
  }
  lost_ += lost;
  {
    const std::lock_guard lock(mutex_);
    released_ = queue_.taken();
    state_.written += batch.rows - lost;
  }
  for (const uint64_t number : batch.numbers) events_.committed(number, durable);
  for (const uint64_t number : batch.leftWaits) events_.committed(number, false);
  settled_.notify_all();
}

void Writer::drop() {
  Batch batch;
  for (QueuedRow row; batch.rows < kBatchRows && queue_.next(row); ++batch.rows) {
    ++batch.byCollection[static_cast<size_t>(row.collection)];
    if (row.number) batch.numbers.push_back(*row.number);
  }
  finish(batch, false);
}

// Deletes the oldest rows if the disk is tight. If that is not enough, only urgent rows are
// written.
void Writer::leaveRoom() {
  const bool wasShort = diskBudget_.isShort();
  for (int step = 0;; ++step) {
    diskBudget_.update(options_.diskSpace(file_.path()));
    if (step == kShrinkSteps || !diskBudget_.isTight() || !file_.isOpen()) break;
    if (!file_.shrink(diskBudget_.step(), diskBudget_.keeps())) break;
  }
  if (diskBudget_.isShort() == wasShort) return;
  if (!diskBudget_.isShort()) {
    if (lastCode_ == kNearlyFull) recovered();
    return;
  }
  report(kNearlyFull,
         "The disk of " + inQuotes(file_.path()) + " has " + inMegabytes(diskBudget_.freeBytes()) +
             " left. Until it has " + inMegabytes(diskBudget_.enough()) +
             ", only what features put before the model is recorded. Other records are "
             "left out and counted, and the oldest are deleted.");
}

// Writing works again.
void Writer::recovered() {
  if (!lastCode_.empty()) {
    lastCode_.clear();
    report("recovered", "Records are written again; " + std::to_string(lost_) + " were lost.");
  }
  lost_ = 0;
}

void Writer::recover(Batch& batch, Keep keep) {
  if (batch.failure == Failure::Corrupt && moveAside()) {
    queue_.rewind();
    batch = file_.write(queue_, kBatchRows, keep);
    if (batch.failure == Failure::None) return;
  }
  fail(batch.failure, batch.problem);
}

bool Writer::ensureOpen() {
  const auto now = Steady::now();
  if (refused_ || now < notBefore_) return false;
  if (file_.isOpen() && now >= nextFileCheck_) {
    nextFileCheck_ = now + kFileCheckInterval;
    if (file_.wasReplaced()) {
      file_.close();
      removeWriteAheadLog(file_.path());
      report("replaced",
             inQuotes(file_.path()) +
                 " was replaced or deleted while it was open; records go on in the file "
                 "that is there now.");
    }
  }
  if (!file_.isOpen()) openFile();
  return file_.isOpen();
}

void Writer::openFile() {
  Opening opening = file_.open();
  nextFileCheck_ = Steady::now() + kFileCheckInterval;
  nextAgePrune_ = Steady::now();
  switch (opening.state) {
    case Opening::State::Ready:
      writeDiagnostics();
      return;
    case Opening::State::Network:
      refused_ = true;
      return report("network", "Records are not kept: " + inQuotes(file_.path()) +
                                   " is on a network file system, whose locks cannot be relied on. "
                                   "Set COPILOT_HOME to a folder on a local disk.");
    case Opening::State::Newer:
      refused_ = true;
      return report("newer", "Records are not kept: " + inQuotes(file_.path()) +
                                 " was written by a newer version of tap (schema " +
                                 std::to_string(opening.version) + ", this version knows " +
                                 std::to_string(kSchemaVersion) +
                                 "). Update tap, or move the file.");
    case Opening::State::Failed:
      break;
  }
  if (opening.failure == Failure::Corrupt && moveAside()) return;
  fail(opening.failure, opening.problem);
}

bool Writer::moveAside() {
  file_.close();
  const std::string name = setAside(file_.path(), options_.clock());
  if (name.empty()) return false;
  report("corrupt", inQuotes(file_.path()) + " was damaged. It is now " + inQuotes(name) +
                        ", and a new file was created.");
  const Opening opening = file_.open();
  if (opening.state != Opening::State::Ready) return false;
  writeDiagnostics();
  return true;
}

void Writer::examine() {
  if (file_.isOpen() && file_.isDamaged()) (void)moveAside();
}

void Writer::fail(Failure failure, const std::string& problem) {
  notBefore_ = Steady::now() + options_.pause;
  const std::string file = inQuotes(file_.path());
  const std::string until =
      " Until that changes, records are dropped and counted. (" + problem + ")";
  switch (failure) {
    case Failure::Full:
      return report("full", "There is no room for records on the disk of " + file + "." + until);
    case Failure::ReadOnly:
      file_.close();
      return report("read-only", file + " cannot be written." + until);
    case Failure::Locked:
      return report("locked", "A different process keeps " + file + " locked." + until);
    case Failure::Corrupt:
      file_.close();
      return report("damaged", file + " is damaged and cannot be moved." + until);
    case Failure::None:
    case Failure::TimedOut:
    case Failure::Refused:
    case Failure::Other:
      file_.close();
      return report("failed", "SQLite cannot write " + file + "." + until);
  }
}

void Writer::prune() {
  (void)file_.pruneBySize();
  const auto now = Steady::now();
  if (now < nextAgePrune_) return;
  nextAgePrune_ = now + kAgePrune;
  (void)file_.pruneByAge(options_.clock());
}

void Writer::watchClock() {
  const auto steady = Steady::now();
  const int64_t now = options_.clock();
  const int64_t passed = std::chrono::duration_cast<milliseconds>(steady - clockSteady_).count();
  const int64_t back = clockUnix_ + passed - now;
  clockSteady_ = steady;
  clockUnix_ = now;
  if (back < kBackwardsMs) return;
  report("clock", "The clock went back by " + inSeconds(Millis(back)) +
                      ". Records keep the times that it showed, so their order is not that of the "
                      "events.");
}

void Writer::report(std::string code, std::string text) {
  const bool lasts =
      code != "clock" && code != "replaced" && code != "recovered" && code != "corrupt";
  if (lasts && std::exchange(lastCode_, code) == code) return;
  const Diagnostic diagnostic{options_.clock(), std::move(code), std::move(text)};
  std::string body;
  json::Writer(body)
      .beginObject()
      .field("code", diagnostic.code)
      .field("text", diagnostic.text)
      .endObject();
  Row row;
  row.collection = Collection::Diagnostic;
  row.at = diagnostic.at;
  row.source = "records";
  row.body = body;
  (void)own_.push(row);
  {
    const std::lock_guard lock(mutex_);
    state_.diagnostics.push_back(diagnostic);
    if (state_.diagnostics.size() > kKeptDiagnostics)
      state_.diagnostics.erase(state_.diagnostics.begin());
  }
  events_.diagnostic(diagnostic);
}

void Writer::writeDiagnostics() {
  if (own_.pushed() == own_.taken()) return;
  const Batch batch = file_.write(own_, kBatchRows);
  if (batch.failure == Failure::None) {
    own_.release();
  } else {
    own_.rewind();
  }
}

void Writer::publish() {
  const bool open = file_.isOpen();
  const int64_t rows = open ? file_.rows() : 0;
  const int64_t bytes = open ? file_.usedBytes() : 0;
  const std::lock_guard lock(mutex_);
  state_.open = open;
  state_.rows = rows;
  state_.fileBytes = bytes;
  state_.journal = file_.journal();
  state_.rollbackReason = file_.rollbackReason();
}

}  // namespace tap::records
