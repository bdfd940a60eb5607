// The record store: a file of SQLite, a thread that writes it, and a thread that reads it for
// questions. For use on the thread of the loop; no call waits for the disk, except flush() and the
// destructor.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "protocol/records.h"
#include "records/reader.h"
#include "records/row_queue.h"
#include "records/writer.h"

namespace tap::records {

struct StoreOptions {
  WriterOptions writer;
  std::chrono::milliseconds readerIdle{60'000};
  // Called from any thread: deliver() must be called soon, on the thread of the loop.
  std::function<void()> wake;
  // Called within deliver().
  std::function<void(const Diagnostic&)> onDiagnostic;
};

struct StoreState {
  FileState file;
  std::array<uint64_t, protocol::kCollections> dropped{};
  uint64_t queuedBytes = 0;
};

class Store final : public protocol::RecordSink {
 public:
  explicit Store(StoreOptions options);
  ~Store() override;  // writes the queued rows, and waits for that

  // Whether only rows of `notify` are stored. At first all are.
  void keepOnlyNotify(bool only) { onlyNotify_ = only; }

  void append(const Row& row) override;
  void commit(const Row& row, uint64_t number) override;
  void onCommitted(Listener listener) override { listener_ = std::move(listener); }

  // The same with a callback instead of the listener.
  using Committed = std::function<void(bool durable)>;
  void commit(const Row& row, Committed done);

  // See answer.h. The answer always comes within deliver().
  using Answered = std::function<void(const Answer&)>;
  void query(std::string json, Answered done);
  void sql(std::string statement, Answered done);

  [[nodiscard]] FileState state() const;
  // Waits until queued rows are written or dropped, at most `most`.
  bool flush(std::chrono::milliseconds most) { return writer_.settle(most); }
  // Writes the queued rows and ends; calls `closed` within deliver(), even if the store is closed
  // already. Later rows are dropped.
  void close(std::function<void()> closed);

  // Runs the callbacks of finished operations. Returns: whether any is pending.
  bool deliver();
  [[nodiscard]] bool isAwaited() const {
    return !commits_.empty() || !answers_.empty() || !closed_.empty();
  }

 private:
  struct CommittedEvent {
    uint64_t number;
    bool durable;
  };
  struct AnsweredEvent {
    uint64_t number;
    Answer answer;
  };
  struct ClosedEvent {};
  using Event = std::variant<CommittedEvent, AnsweredEvent, Diagnostic, ClosedEvent>;

  void post(Event event);
  void handle(CommittedEvent event);
  void handle(const AnsweredEvent& event);
  void handle(const Diagnostic& diagnostic);
  void handle(ClosedEvent event);
  void submitQuestion(Question::Kind kind, std::string text, Answered done);
  void await(const Row& row, std::variant<uint64_t, Committed> who);

  StoreOptions options_;
  bool onlyNotify_ = false;
  bool closing_ = false;
  uint64_t numbers_ = 0;
  Listener listener_;
  std::unordered_map<uint64_t, std::variant<uint64_t, Committed>> commits_;
  std::unordered_map<uint64_t, Answered> answers_;
  bool closedAlready_ = false;
  std::vector<std::function<void()>> closed_;

  std::mutex mutex_;
  std::vector<Event> events_;

  // Last, so that its threads end first.
  RowQueue queue_;
  Writer writer_;
  Reader reader_;
};

}  // namespace tap::records
