// SQLite for the store: a connection and its statements, each for a single thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace tap::records {

// The classes of failures that the store treats differently.
enum class Failure : uint8_t {
  None,
  Full,      // no room on the disk, or a quota or a limit of the process
  ReadOnly,  // may not be written
  Corrupt,   // not a database, or damaged
  Locked,    // a different process writes
  TimedOut,  // it exceeded its time limit
  Refused,   // not allowed, or not valid: the caller's mistake
  Other,
};

// The running library's version, such as "3.40.1".
[[nodiscard]] std::string_view sqliteVersion();
// Whether this version of SQLite can use a write-ahead log with several connections without
// corrupting the file (https://sqlite.org/wal.html#walresetbug).
[[nodiscard]] bool hasSafeWal(int versionNumber);
[[nodiscard]] bool hasSafeWal();

class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  explicit operator bool() const { return statement_ != nullptr; }
  [[nodiscard]] sqlite3_stmt* get() const { return statement_.get(); }

  // Parameters count from 1. Texts live until the next reset().
  void bind(int at, int64_t number);
  void bind(int at, double number);
  void bind(int at, std::string_view text);
  void bindNull(int at);
  // Returns: whether there is a row; false after the last, or after a failure (Database::failure).
  [[nodiscard]] bool step();
  // Runs it to its end, and resets it for the next run. Returns: whether it succeeded.
  [[nodiscard]] bool run();
  void reset();

  // Columns count from 0.
  [[nodiscard]] int64_t integer(int column) const;
  [[nodiscard]] std::string_view text(int column) const;  // until the next step

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  enum class Access : uint8_t { ReadOnly, ReadWrite };

  // Opens the file; failure() reports the result. `busy`: how long a statement waits while other
  // processes keep the file locked.
  [[nodiscard]] static Database open(const std::string& file, Access access,
                                     std::chrono::milliseconds busy = std::chrono::seconds(1));

  Database() = default;
  [[nodiscard]] bool isOpen() const { return database_ != nullptr; }
  [[nodiscard]] sqlite3* get() const { return database_.get(); }

  // Runs statements without parameters.
  [[nodiscard]] bool run(const char* sql);
  // Returns: an empty statement if it does not compile.
  [[nodiscard]] Statement prepare(std::string_view sql);
  // The first number of a statement's first row, or 0 after a failure.
  [[nodiscard]] int64_t number(const char* sql);
  [[nodiscard]] std::string text(const char* sql);

  // Statements that use more CPU time, or ten times as much elapsed time, end with
  // Failure::TimedOut: next to busy processes a thread may wait for a core most of the time. Zero:
  // no limit.
  void limitTime(std::chrono::milliseconds most);
  // Frees unused memory.
  void releaseMemory();

  // The failure of the last failed statement.
  [[nodiscard]] Failure failure() const;
  // In SQLite's words.
  [[nodiscard]] std::string problem() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  struct TimeBox {
    std::chrono::milliseconds most{};
    std::chrono::steady_clock::time_point begin;
    std::chrono::nanoseconds workBefore{};
  };
  static int outOfTime(void* timeBox);

  std::unique_ptr<sqlite3, Close> database_;
  std::unique_ptr<TimeBox> timeBox_ = std::make_unique<TimeBox>();
};

}  // namespace tap::records
