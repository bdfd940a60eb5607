#include "records/database.h"

#include <sqlite3.h>

#include <ctime>

namespace tap::records {

namespace {

// Instructions of SQLite's machine between two checks of the clock: about 1 µs.
constexpr int kProgressSteps = 100;
// Maximum of a text or a row, in bytes.
constexpr int kMaxLength = 4 * 1024 * 1024;
// The same for a reader. A call of a function such as instr() or LIKE takes time in proportion to
// the product of its texts' lengths, and cannot be interrupted: with this limit, at most 0.1 s.
constexpr int kMaxReadLength = 64 * 1024;
constexpr int kMaxPattern = 1024;
constexpr int kMaxSql = 64 * 1024;
// Maximum of elapsed time, as a multiple of the CPU time.
constexpr int kMaxWaitFactor = 10;

// CPU time of this thread.
std::chrono::nanoseconds workOfThread() {
#if defined(_WIN32)
  return std::chrono::steady_clock::now().time_since_epoch();
#else
  timespec time{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
#endif
}

}  // namespace

std::string_view sqliteVersion() {
  return sqlite3_libversion();
}

bool hasSafeWal(int number) {
  // Fixed in 3.51.3, and in these versions of older branches.
  return number >= 3051003 || (number >= 3050007 && number < 3051000) ||
         (number >= 3044006 && number < 3045000);
}

bool hasSafeWal() {
  return hasSafeWal(sqlite3_libversion_number());
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Statement::bind(int at, int64_t number) {
  sqlite3_bind_int64(get(), at, number);
}

void Statement::bind(int at, double number) {
  sqlite3_bind_double(get(), at, number);
}

void Statement::bind(int at, std::string_view text) {
  sqlite3_bind_text64(get(), at, text.data() == nullptr ? "" : text.data(), text.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
}

void Statement::bindNull(int at) {
  sqlite3_bind_null(get(), at);
}

bool Statement::step() {
  return sqlite3_step(get()) == SQLITE_ROW;
}

bool Statement::run() {
  if (statement_ == nullptr) return false;
  int status = SQLITE_ROW;
  while (status == SQLITE_ROW) status = sqlite3_step(get());
  sqlite3_reset(get());
  return status == SQLITE_DONE;
}

void Statement::reset() {
  sqlite3_reset(get());
}

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(get(), column);
}

std::string_view Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_column_bytes(get(), column))};
}

void Database::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

Database Database::open(const std::string& file, Access access, std::chrono::milliseconds busy) {
  Database opened;
  sqlite3* database = nullptr;
  const int flags = access == Access::ReadOnly ? SQLITE_OPEN_READONLY
                                               : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3_open_v2(file.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  opened.database_.reset(database);
  if (database == nullptr) return opened;
  sqlite3_extended_result_codes(database, 1);
  sqlite3_busy_timeout(database, static_cast<int>(busy.count()));
  const bool reads = access == Access::ReadOnly;
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, reads ? kMaxReadLength : kMaxLength);
  sqlite3_limit(database, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, kMaxPattern);
  sqlite3_limit(database, SQLITE_LIMIT_SQL_LENGTH, kMaxSql);
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return opened;
}

bool Database::run(const char* sql) {
  return sqlite3_exec(get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

Statement Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v3(get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                     &statement, nullptr);
  return Statement(statement);
}

int64_t Database::number(const char* sql) {
  Statement statement = prepare(sql);
  return statement && statement.step() ? statement.integer(0) : 0;
}

std::string Database::text(const char* sql) {
  Statement statement = prepare(sql);
  return statement && statement.step() ? std::string(statement.text(0)) : std::string();
}

int Database::outOfTime(void* timeBox) {
  const auto& box = *static_cast<TimeBox*>(timeBox);
  const auto passed = std::chrono::steady_clock::now() - box.begin;
  // Reading CPU time is a system call, as slow as a hundred instructions.
  if (passed <= box.most) return 0;
  const bool isOver =
      passed > kMaxWaitFactor * box.most || workOfThread() - box.workBefore > box.most;
  return isOver ? 1 : 0;
}

void Database::limitTime(std::chrono::milliseconds most) {
  *timeBox_ = {most, std::chrono::steady_clock::now(), workOfThread()};
  const bool limited = most.count() > 0;
  sqlite3_progress_handler(get(), limited ? kProgressSteps : 0, limited ? outOfTime : nullptr,
                           timeBox_.get());
}

void Database::releaseMemory() {
  sqlite3_db_release_memory(get());
}

Failure Database::failure() const {
  if (database_ == nullptr) return Failure::Other;
  const int code = sqlite3_extended_errcode(get());
  switch (code & 0xFF) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
      return Failure::None;
    case SQLITE_FULL:
      return Failure::Full;
    case SQLITE_IOERR: {
      // SQLite reports the limit of a file's size, and of a quota, with these codes.
      const bool writes = code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_FSYNC ||
                          code == SQLITE_IOERR_TRUNCATE || code == SQLITE_IOERR_SHMSIZE;
      return writes ? Failure::Full : Failure::Other;
    }
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return Failure::ReadOnly;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Failure::Corrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Failure::Locked;
    case SQLITE_INTERRUPT:
      return Failure::TimedOut;
    case SQLITE_ERROR:
    case SQLITE_AUTH:
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
    case SQLITE_MISMATCH:
      return Failure::Refused;
    default:
      return Failure::Other;
  }
}

std::string Database::problem() const {
  return database_ == nullptr ? "out of memory" : sqlite3_errmsg(get());
}

}  // namespace tap::records
