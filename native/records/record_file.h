// The store's file, opened for writing: batches, retention. For a single thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "records/body.h"
#include "records/database.h"
#include "records/files.h"
#include "records/row_queue.h"
#include "records/schema.h"

namespace tap::records {

inline constexpr int64_t kSliceRows = 10'000;

struct Retention {
  int64_t maxBytes = int64_t{200} * 1000 * 1000;
  int64_t maxAgeMs = int64_t{30} * 24 * 60 * 60 * 1000;
};

// The result of opening the file.
struct Opening {
  enum class State : uint8_t { Ready, Network, Newer, Failed };
  State state = State::Failed;
  int version = 0;  // of a newer file
  Failure failure = Failure::None;
  std::string problem;
};

// Which rows are written.
enum class Keep : uint8_t { All, OnlyNotify };

// Rows that were taken from the queue together, and written in a transaction.
struct Batch {
  using Counts = std::array<uint64_t, protocol::kCollections>;
  size_t rows = 0;   // taken
  size_t bytes = 0;  // of the written bodies
  Counts byCollection{};
  Counts leftOut{};                 // taken but not written
  std::vector<uint64_t> numbers;    // numbers of committed rows
  std::vector<uint64_t> leftWaits;  // the same, of rows that were not written
  Failure failure = Failure::None;
  std::string problem;
};

class RecordFile {
 public:
  using FindFileSystem = std::function<FileSystem(const std::string& file)>;

  // `busy`: how long to wait for a different process that keeps the file locked.
  RecordFile(std::string path, Retention retention, FindFileSystem system,
             std::chrono::milliseconds busy)
      : path_(std::move(path)), retention_(retention), system_(std::move(system)), busy_(busy) {}

  [[nodiscard]] Opening open();
  void close();
  [[nodiscard]] bool isOpen() const { return database_.isOpen(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Journal journal() const { return journal_; }
  [[nodiscard]] RollbackReason rollbackReason() const { return rollbackReason_; }
  // Whether a different file, or no file, is now at the path.
  [[nodiscard]] bool wasReplaced() const { return !(readFileId(path_) == id_); }

  // Takes up to `most` rows from the queue, fewer if they are large, and writes them in a
  // transaction, durably if required. After a failure no row is written; the rows stay taken, and
  // the caller rewinds or releases.
  [[nodiscard]] Batch write(RowQueue& queue, size_t most, Keep keep = Keep::All);

  // Deletes the oldest rows, at most a slice. Returns: whether it deleted any.
  bool pruneBySize();
  // `now` may be earlier than before if the clock was set back: later rows stay.
  bool pruneByAge(int64_t now);
  // Frees about `bytes` on the disk: unused pages, then those of the oldest rows, but keeps `keeps`
  // bytes. Returns: whether the file is smaller now.
  bool shrink(int64_t bytes, int64_t keeps);
  // Work without hurry: memory, the log, unused pages. Returns: whether there is more.
  bool tidy();

  // Number of rows, calculated from their ids: too high if rows between others were deleted.
  // usedBytes(): their size on the disk.
  [[nodiscard]] int64_t rows();
  [[nodiscard]] int64_t usedBytes();
  // Whether SQLite finds damage. Reads the whole file.
  [[nodiscard]] bool isDamaged();

 private:
  // Finds a name without making a string.
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  using Names = std::unordered_set<std::string, NameHash, std::equal_to<>>;

  [[nodiscard]] bool prepareStatements();
  [[nodiscard]] bool writeRow(const QueuedRow& row, size_t& bytes);
  [[nodiscard]] bool writeSpan(const QueuedRow& row, std::string_view trace, int64_t record,
                               size_t& bytes);
  [[nodiscard]] bool insert(const QueuedRow& row, Collection collection, std::string_view trace,
                            std::string_view body);
  void noteField(Collection collection, std::string_view name);
  [[nodiscard]] bool writeNewFields();
  void forgetNewFields();
  void syncFully(bool fully);
  void failed(Batch& batch);
  [[nodiscard]] bool deleteOldest(int64_t rows);

  std::string path_;
  Retention retention_;
  FindFileSystem system_;
  std::chrono::milliseconds busy_;
  Database database_;
  Journal journal_ = Journal::Rollback;
  RollbackReason rollbackReason_ = RollbackReason::None;
  FileId id_;
  bool fully_ = true;
  Statement insert_;
  Statement insertField_;
  BodyEncoder bodies_;
  std::string spanBody_;
  std::array<Names, protocol::kCollections> fields_;
  std::vector<std::pair<Collection, std::string>> newFields_;
  bool spansNoted_ = false;  // the fields of spans are among them
};

}  // namespace tap::records
