// The file of the store, opened for writing: batches, retention. For one thread.
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

// What became of the file when it was opened.
struct Opening {
  enum class State : uint8_t { Ready, Network, Newer, Failed };
  State state = State::Failed;
  int version = 0;  // of a newer one
  Failure failure = Failure::None;
  std::string problem;
};

// Which of the rows that are taken are written.
enum class Keep : uint8_t { All, OnlyNotify };

// Rows that were taken from the queue together, and written in one transaction.
struct Batch {
  using Counts = std::array<uint64_t, protocol::kCollections>;
  size_t rows = 0;   // that were taken
  size_t bytes = 0;  // of the bodies that were written
  Counts byCollection{};
  Counts leftOut{};                 // those that were not to be written
  std::vector<uint64_t> numbers;    // of rows that somebody waits for
  std::vector<uint64_t> leftWaits;  // the same, of those that were left out
  Failure failure = Failure::None;
  std::string problem;
};

class RecordFile {
 public:
  using FindFileSystem = std::function<FileSystem(const std::string& file)>;

  // `busy`: how long another process may keep the file locked before that is a failure.
  RecordFile(std::string path, Retention retention, FindFileSystem system,
             std::chrono::milliseconds busy)
      : path_(std::move(path)), retention_(retention), system_(std::move(system)), busy_(busy) {}

  [[nodiscard]] Opening open();
  void close();
  [[nodiscard]] bool isOpen() const { return database_.isOpen(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Journal journal() const { return journal_; }
  [[nodiscard]] RollbackReason rollbackReason() const { return rollbackReason_; }
  // Whether another file, or no file, stands at the path now.
  [[nodiscard]] bool wasReplaced() const { return !(readFileId(path_) == id_); }

  // Takes up to `most` rows from the queue, or a few of large ones, and writes them in one
  // transaction, durably if it must. After a failure nothing is written; the rows are taken, and
  // the caller rewinds or releases.
  [[nodiscard]] Batch write(RowQueue& queue, size_t most, Keep keep = Keep::All);

  // Deletes the oldest rows: at most one slice. Returns: whether it deleted any.
  bool pruneBySize();
  // `now` may be a time that the clock has gone back to: later rows stay.
  bool pruneByAge(int64_t now);
  // Gives about so many bytes back to the disk: unused pages, then those of the oldest rows, but
  // leaves `keeps` of them. Returns: whether the file is smaller now.
  bool shrink(int64_t bytes, int64_t keeps);
  // What need not be done in a hurry: memory, the log, unused pages. Returns: whether there is
  // more.
  bool tidy();

  // Of all rows, by their ids: too many where rows between others are gone. And what they take on
  // the disk.
  [[nodiscard]] int64_t rows();
  [[nodiscard]] int64_t usedBytes();
  // Whether SQLite finds the file damaged. Reads all of it.
  [[nodiscard]] bool isDamaged();

 private:
  // Finds a name without making a string of it.
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
