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
  Refused,     // SQLite kept the rollback journal
};

struct SchemaOutcome {
  enum class State : uint8_t { Ready, Newer, Failed };
  State state = State::Failed;
  int version = 0;  // of the file before
  Journal journal = Journal::Rollback;
  RollbackReason rollbackReason = RollbackReason::None;
  Failure failure = Failure::None;
  std::string problem;  // in SQLite's words
};

// Upgrades the file to this version in a transaction: a new file gets its tables, a file of an
// older version the missing steps. A file of a newer version is not changed. `allowWal`: whether
// the file system supports a write-ahead log.
[[nodiscard]] SchemaOutcome prepareSchema(Database& database, bool allowWal);

}  // namespace tap::records
