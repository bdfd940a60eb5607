// The tables of the store.
#pragma once

#include <string>

#include "records/database.h"

namespace tap::records {

// In the file's user_version.
inline constexpr int kSchemaVersion = 1;

enum class Journal : uint8_t { WriteAheadLog, Rollback };
// Why a file has a rollback journal.
enum class RollbackReason : uint8_t {
  None,        // it has a write-ahead log
  OldSqlite,   // hasSafeWal() is false
  FileSystem,  // it may lack the shared memory that a write-ahead log needs
  Refused,     // SQLite has kept the rollback journal
};

struct SchemaOutcome {
  enum class State : uint8_t { Ready, Newer, Failed };
  State state = State::Failed;
  int version = 0;  // that the file had
  Journal journal = Journal::Rollback;
  RollbackReason rollbackReason = RollbackReason::None;
  Failure failure = Failure::None;
  std::string problem;  // in SQLite's words
};

// Makes the file one of this version: a new one gets its tables, and one of an older version what
// it lacks, in one transaction. One of a newer version is not touched. `allowWal`: whether the file
// system can have a write-ahead log.
[[nodiscard]] SchemaOutcome prepareSchema(Database& database, bool allowWal);

}  // namespace tap::records
