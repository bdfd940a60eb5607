#include "records/schema.h"

#include <array>

#include "protocol/records.h"

namespace tap::records {

namespace {

// The steps from each version to the next. `rows` has the records; `fields` the names of all fields
// that the bodies of a collection ever had; the view `records` is for people.
constexpr std::array<const char*, kSchemaVersion> kSteps{
    R"sql(
    CREATE TABLE collections (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE rows (
      id INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      collection INTEGER NOT NULL,
      session TEXT,
      source TEXT,
      trace TEXT,
      v INTEGER NOT NULL,
      body TEXT NOT NULL
    );
    CREATE INDEX rows_collection ON rows (collection, at);
    CREATE INDEX rows_session ON rows (session, at) WHERE session IS NOT NULL;
    CREATE TABLE fields (
      collection INTEGER NOT NULL,
      name TEXT NOT NULL,
      PRIMARY KEY (collection, name)
    ) WITHOUT ROWID;
    CREATE VIEW records AS
      SELECT rows.id, strftime('%Y-%m-%dT%H:%M:%fZ', rows.at / 1000.0, 'unixepoch') AS time,
        rows.at, collections.name AS collection, rows.session, rows.source, rows.trace, rows.v,
        rows.body
      FROM rows JOIN collections ON collections.id = rows.collection;
    )sql",
};

// Adds the names of new collections.
[[nodiscard]] bool nameCollections(Database& database) {
  Statement insert =
      database.prepare("INSERT OR IGNORE INTO collections (id, name) VALUES (?1, ?2)");
  if (!insert) return false;
  for (const protocol::CollectionRow& row : protocol::kCollectionTable) {
    insert.bind(1, static_cast<int64_t>(row.id));
    insert.bind(2, row.name);
    if (!insert.run()) return false;
  }
  return true;
}

[[nodiscard]] bool migrate(Database& database, int from) {
  if (from > kSchemaVersion) return false;
  for (int version = from; version < kSchemaVersion; ++version) {
    if (!database.run(kSteps[static_cast<size_t>(version)])) return false;
  }
  const std::string stamp = "PRAGMA user_version = " + std::to_string(kSchemaVersion);
  return nameCollections(database) && database.run(stamp.c_str());
}

// Returns: false if the file cannot be read.
[[nodiscard]] bool readVersion(Database& database, int& version) {
  Statement statement = database.prepare("PRAGMA user_version");
  if (!statement || !statement.step()) return false;
  version = static_cast<int>(statement.integer(0));
  return true;
}

// Switches to a write-ahead log if that is safe.
[[nodiscard]] RollbackReason beginWal(Database& database, bool allowWal) {
  if (!hasSafeWal()) return RollbackReason::OldSqlite;
  if (!allowWal) return RollbackReason::FileSystem;
  return database.text("PRAGMA journal_mode = WAL") == "wal" ? RollbackReason::None
                                                             : RollbackReason::Refused;
}

// Returns: whether the file now has this version.
[[nodiscard]] bool prepare(Database& database, bool allowWal, SchemaOutcome& outcome) {
  if (!readVersion(database, outcome.version)) return false;
  if (outcome.version > kSchemaVersion) return false;
  // Only a file without tables accepts this; other files have it.
  if (outcome.version == 0 && !database.run("PRAGMA auto_vacuum = INCREMENTAL")) return false;
  outcome.rollbackReason = beginWal(database, allowWal);
  const bool wal = outcome.rollbackReason == RollbackReason::None;
  // Truncated rather than deleted: a folder is not written for each transaction.
  if (!wal) (void)database.text("PRAGMA journal_mode = TRUNCATE");
  outcome.journal = wal ? Journal::WriteAheadLog : Journal::Rollback;
  if (outcome.version == kSchemaVersion) return true;
  // A different process may have been faster.
  return database.run("BEGIN IMMEDIATE") && readVersion(database, outcome.version) &&
         migrate(database, outcome.version) && database.run("COMMIT");
}

}  // namespace

SchemaOutcome prepareSchema(Database& database, bool allowWal) {
  using State = SchemaOutcome::State;
  SchemaOutcome outcome;
  if (prepare(database, allowWal, outcome)) {
    outcome.state = State::Ready;
    return outcome;
  }
  outcome.state = outcome.version > kSchemaVersion ? State::Newer : State::Failed;
  outcome.failure = database.failure();
  outcome.problem = database.problem();
  (void)database.run("ROLLBACK");
  return outcome;
}

}  // namespace tap::records
