#include "records/record_file.h"

#include <sqlite3.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/json_writer.h"

namespace tap::records {

namespace {

// Of a collection. Further names are not noted; queries then accept any name.
constexpr size_t kMaxFields = 200;
// A write-ahead log needs as much space again as a transaction. On a smaller disk that is more than
// the store's reserve.
constexpr int64_t kMinDiskForLog = int64_t{64} << 20;
// The maximum of unused pages, and the number of pages freed in a step.
constexpr int64_t kSparePages = 256;
// Bodies in a transaction: it may not use much more space than the reserve.
constexpr size_t kBatchBytes = size_t{1} * 1024 * 1024;

// An id in hexadecimal digits.
template <size_t kBytes>
class HexId {
 public:
  explicit HexId(const std::array<uint8_t, kBytes>& id) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    char* out = digits_.data();
    for (const uint8_t byte : id) {
      *out++ = kDigits[byte >> 4];
      *out++ = kDigits[byte & 0xF];
    }
  }
  [[nodiscard]] std::string_view view() const { return {digits_.data(), digits_.size()}; }

 private:
  std::array<char, 2 * kBytes> digits_;
};

[[nodiscard]] std::string_view spanWord(protocol::SpanKind kind) {
  switch (kind) {
    case protocol::SpanKind::Internal:
      return "internal";
    case protocol::SpanKind::Server:
      return "server";
    case protocol::SpanKind::Client:
      return "client";
    case protocol::SpanKind::Producer:
      return "producer";
    case protocol::SpanKind::Consumer:
      return "consumer";
  }
  return "internal";
}

[[nodiscard]] std::string_view spanWord(protocol::SpanStatus status) {
  switch (status) {
    case protocol::SpanStatus::Unset:
      return "unset";
    case protocol::SpanStatus::Ok:
      return "ok";
    case protocol::SpanStatus::Error:
      return "error";
  }
  return "unset";
}

constexpr std::array<std::string_view, 9> kSpanFields{"name",    "kind",       "status",
                                                      "traceId", "spanId",     "parentSpanId",
                                                      "startUs", "durationUs", "record"};

[[nodiscard]] bool hasRoomForLog(const std::string& file) {
  const std::optional<DiskSpace> disk = readDiskSpace(file);
  return !disk || disk->totalBytes >= kMinDiskForLog;
}

}  // namespace

Opening RecordFile::open() {
  close();
  Opening opening;
  createParentFolder(path_);  // it may have been deleted meanwhile
  const FileSystem system = system_(path_);
  if (system == FileSystem::Network) {
    opening.state = Opening::State::Network;
    return opening;
  }
  (void)createPrivate(path_);  // if it fails, opening the file reports why
  database_ = Database::open(path_, Database::Access::ReadWrite, busy_);
  opening.failure = database_.failure();
  opening.problem = database_.problem();
  if (opening.failure == Failure::None) {
    const SchemaOutcome schema =
        prepareSchema(database_, system == FileSystem::Local && hasRoomForLog(path_));
    opening.version = schema.version;
    opening.failure = schema.failure;
    opening.problem = schema.problem;
    journal_ = schema.journal;
    rollbackReason_ = schema.rollbackReason;
    if (schema.state == SchemaOutcome::State::Newer) opening.state = Opening::State::Newer;
    if (schema.state == SchemaOutcome::State::Ready && prepareStatements()) {
      opening.state = Opening::State::Ready;
      id_ = readFileId(path_);
      return opening;
    }
    if (opening.failure == Failure::None) {
      opening.failure = database_.failure();
      opening.problem = database_.problem();
    }
  }
  close();
  return opening;
}

void RecordFile::close() {
  insert_ = {};
  insertField_ = {};
  for (auto& names : fields_) names.clear();
  newFields_.clear();
  spansNoted_ = false;
  database_ = {};
}

bool RecordFile::prepareStatements() {
  // The cache is for a batch in progress; tidy() frees it.
  (void)database_.run("PRAGMA cache_size = -4096");
  (void)database_.run("PRAGMA journal_size_limit = 4194304");
  fully_ = false;
  syncFully(true);
  insert_ = database_.prepare(
      "INSERT INTO rows (at, collection, session, source, trace, v, body)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  insertField_ =
      database_.prepare("INSERT OR IGNORE INTO fields (collection, name) VALUES (?1, ?2)");
  Statement known = database_.prepare("SELECT collection, name FROM fields");
  if (!insert_ || !insertField_ || !known) return false;
  while (known.step()) {
    const auto collection = static_cast<size_t>(known.integer(0));
    if (collection < fields_.size()) fields_[collection].emplace(known.text(1));
  }
  return database_.failure() == Failure::None;
}

void RecordFile::syncFully(bool fully) {
  // With a rollback journal each transaction is durable: otherwise the file could be damaged.
  const bool wanted = fully || journal_ == Journal::Rollback;
  if (std::exchange(fully_, wanted) == wanted) return;
  (void)database_.run(wanted ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
}

void RecordFile::failed(Batch& batch) {
  batch.failure = database_.failure();
  batch.problem = database_.problem();
  if (batch.failure == Failure::None) batch.failure = Failure::Other;
  (void)database_.run("ROLLBACK");
  forgetNewFields();
}

Batch RecordFile::write(RowQueue& queue, size_t most, Keep keep) {
  Batch batch;
  QueuedRow row;
  bool begun = false;
  bool good = true;
  syncFully(queue.waited() > 0);
  while (batch.rows < most && batch.bytes < kBatchBytes && queue.next(row)) {
    ++batch.rows;
    const bool kept = keep == Keep::All || row.collection == Collection::Notify;
    ++(kept ? batch.byCollection : batch.leftOut)[static_cast<size_t>(row.collection)];
    if (row.number) (kept ? batch.numbers : batch.leftWaits).push_back(*row.number);
    if (!kept || !good) continue;
    good = (std::exchange(begun, true) || database_.run("BEGIN IMMEDIATE")) &&
           writeRow(row, batch.bytes);
    if (!good) failed(batch);
  }
  if (!begun || !good) return batch;
  if (!writeNewFields() || !database_.run("COMMIT")) {
    failed(batch);
    return batch;
  }
  newFields_.clear();
  // A row with a number has arrived meanwhile: the log becomes durable with its next transaction.
  if (!batch.numbers.empty() && !fully_) {
    syncFully(true);
    const std::string stamp = "PRAGMA user_version = " + std::to_string(kSchemaVersion);
    if (!database_.run(stamp.c_str())) failed(batch);
  }
  return batch;
}

bool RecordFile::insert(const QueuedRow& row, Collection collection, std::string_view trace,
                        std::string_view body) {
  const auto text = [this](int at, std::string_view value) {
    if (value.empty()) {
      insert_.bindNull(at);
    } else {
      insert_.bind(at, value);
    }
  };
  insert_.bind(1, row.at);
  insert_.bind(2, static_cast<int64_t>(collection));
  text(3, row.session);
  text(4, row.source);
  text(5, trace);
  insert_.bind(6, int64_t{protocol::kCollectionTable[static_cast<size_t>(collection)].version});
  insert_.bind(7, body);
  return insert_.run();
}

void RecordFile::noteField(Collection collection, std::string_view name) {
  Names& known = fields_[static_cast<size_t>(collection)];
  if (known.size() >= kMaxFields || known.find(name) != known.end()) return;
  known.emplace(name);
  newFields_.emplace_back(collection, name);
}

bool RecordFile::writeRow(const QueuedRow& row, size_t& bytes) {
  const std::string_view body =
      bodies_.encode(row, [this, &row](std::string_view name) { noteField(row.collection, name); });
  bytes += body.size();
  if (!row.span) return insert(row, row.collection, row.trace, body);
  const HexId traceId(row.span->traceId);
  const std::string_view trace = row.trace.empty() ? traceId.view() : row.trace;
  if (row.collection == Collection::Span) return writeSpan(row, trace, 0, bytes);
  return insert(row, row.collection, trace, body) &&
         writeSpan(row, trace, sqlite3_last_insert_rowid(database_.get()), bytes);
}

bool RecordFile::writeSpan(const QueuedRow& row, std::string_view trace, int64_t record,
                           size_t& bytes) {
  const SpanInfo& span = *row.span;
  const HexId traceId(span.traceId);
  const HexId spanId(span.spanId);
  const HexId parentId(span.parentSpanId);
  spanBody_.clear();
  json::Writer writer(spanBody_);
  writer.beginObject()
      .field("name", span.name)
      .field("kind", spanWord(span.kind))
      .field("status", spanWord(span.status))
      .field("traceId", traceId.view())
      .field("spanId", spanId.view());
  if (span.parentSpanId != decltype(span.parentSpanId){})
    writer.field("parentSpanId", parentId.view());
  writer.field("startUs", span.startUs).field("durationUs", span.durationUs);
  if (record != 0) writer.field("record", record);
  if (!spansNoted_) {
    for (const std::string_view name : kSpanFields) noteField(Collection::Span, name);
    spansNoted_ = true;
  }
  // The span's own fields, otherwise those of its record; only the record has the payloads.
  QueuedRow described = row;
  if (record != 0) described.payloads = {};
  const std::string_view own = bodies_.encode(
      described, [this](std::string_view name) { noteField(Collection::Span, name); });
  if (own.size() > 2) {
    spanBody_ += ',';
    spanBody_ += own.substr(1);
  } else {
    spanBody_ += '}';
  }
  bytes += spanBody_.size();
  return insert(row, Collection::Span, trace, spanBody_);
}

bool RecordFile::writeNewFields() {
  for (const auto& [collection, name] : newFields_) {
    insertField_.bind(1, static_cast<int64_t>(collection));
    insertField_.bind(2, name);
    if (!insertField_.run()) return false;
  }
  return true;
}

void RecordFile::forgetNewFields() {
  for (const auto& [collection, name] : newFields_)
    fields_[static_cast<size_t>(collection)].erase(name);
  newFields_.clear();
  spansNoted_ = false;
}

bool RecordFile::pruneBySize() {
  if (usedBytes() <= retention_.maxBytes) return false;
  // At most a quarter: the newest rows stay, however small the limit is.
  return deleteOldest(std::clamp<int64_t>(rows() / 4, 1, kSliceRows));
}

bool RecordFile::deleteOldest(int64_t rows) {
  Statement oldest =
      database_.prepare("DELETE FROM rows WHERE id < (SELECT min(id) FROM rows) + ?1");
  if (!oldest) return false;
  oldest.bind(1, rows);
  return oldest.run() && sqlite3_changes(database_.get()) > 0;
}

bool RecordFile::shrink(int64_t bytes, int64_t keeps) {
  const bool wal = journal_ == Journal::WriteAheadLog;
  const int64_t used = usedBytes();
  const int64_t pageSize = std::max<int64_t>(database_.number("PRAGMA page_size"), 512);
  const int64_t pages = std::max<int64_t>(bytes / pageSize, 1);
  const int64_t freePages = database_.number("PRAGMA freelist_count");
  const bool deletes = used > keeps && pages > freePages;
  const int64_t before = database_.number("PRAGMA page_count");
  const std::string vacuum = "PRAGMA incremental_vacuum(" + std::to_string(2 * pages) + ")";
  // In a single transaction, which waits for the disk once.
  bool good = database_.run("BEGIN IMMEDIATE");
  if (good && deletes)
    (void)deleteOldest(std::clamp<int64_t>(rows() * bytes / used, 1, kSliceRows));
  good = good && database_.run(vacuum.c_str()) && database_.run("COMMIT");
  if (!good) (void)database_.run("ROLLBACK");
  // The pages of the file are freed together with those of the log.
  if (wal) (void)database_.run("PRAGMA wal_checkpoint(TRUNCATE)");
  return good && database_.number("PRAGMA page_count") < before;
}

bool RecordFile::pruneByAge(int64_t now) {
  // By the index of times, not of ids: after the clock was set back, rows of the future lie before
  // older rows. They stay, and do not keep older rows.
  Statement old = database_.prepare(
      "DELETE FROM rows WHERE id IN (SELECT id FROM rows"
      " WHERE collection IN (SELECT id FROM collections) AND at < ?1 ORDER BY id LIMIT ?2)");
  if (!old) return false;
  old.bind(1, now - retention_.maxAgeMs);
  old.bind(2, kSliceRows);
  return old.run() && sqlite3_changes(database_.get()) > 0;
}

bool RecordFile::tidy() {
  if (!isOpen()) return false;
  bool more = false;
  const int64_t spare = database_.number("PRAGMA freelist_count");
  if (spare > kSparePages) {
    const std::string vacuum = "PRAGMA incremental_vacuum(" + std::to_string(kSparePages) + ")";
    more = database_.run(vacuum.c_str()) && spare > 2 * kSparePages;
  }
  if (!more && journal_ == Journal::WriteAheadLog)
    (void)database_.run("PRAGMA wal_checkpoint(TRUNCATE)");
  database_.releaseMemory();
  bodies_.trim();
  return more;
}

int64_t RecordFile::rows() {
  // A single SELECT of both would scan all rows.
  return database_.number(
      "SELECT coalesce((SELECT max(id) FROM rows) - (SELECT min(id) FROM rows) + 1, 0)");
}

int64_t RecordFile::usedBytes() {
  const int64_t pages =
      database_.number("PRAGMA page_count") - database_.number("PRAGMA freelist_count");
  return pages * database_.number("PRAGMA page_size");
}

bool RecordFile::isDamaged() {
  // On a new connection: this connection may have cached pages from before the damage.
  Database fresh = Database::open(path_, Database::Access::ReadOnly);
  Statement check = fresh.prepare("PRAGMA quick_check(1)");
  if (check && check.step()) return check.text(0) != "ok";
  return fresh.failure() == Failure::Corrupt;
}

}  // namespace tap::records
