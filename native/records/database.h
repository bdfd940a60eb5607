// SQLite, as far as the store uses it: a connection and its statements, each for one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace tap::records {

// What went wrong, in the classes that the store treats differently.
enum class Failure : uint8_t {
  None,
  Full,      // no room on the disk, or a quota or a limit of the process
  ReadOnly,  // may not be written
  Corrupt,   // not a database, or damaged
  Locked,    // another process writes
  TimedOut,  // the time box has ended it
  Refused,   // not allowed, or not understood: the caller's mistake
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
  // True: there is a row. False: there is none any more, or it failed (Database::failure).
  [[nodiscard]] bool step();
  // Runs it to its end, and makes it ready for the next run. Returns: whether it succeeded.
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

  // Opens the file; failure() says whether that worked. `busy`: how long a statement waits where
  // others keep the file locked.
  [[nodiscard]] static Database open(const std::string& file, Access access,
                                     std::chrono::milliseconds busy = std::chrono::seconds(1));

  Database() = default;
  [[nodiscard]] bool isOpen() const { return database_ != nullptr; }
  [[nodiscard]] sqlite3* get() const { return database_.get(); }

  // Runs statements without parameters.
  [[nodiscard]] bool run(const char* sql);
  // An empty statement where it does not compile.
  [[nodiscard]] Statement prepare(std::string_view sql);
  // The number that a statement's first row begins with; 0 where it fails.
  [[nodiscard]] int64_t number(const char* sql);
  [[nodiscard]] std::string text(const char* sql);

  // Statements that work longer than that, or run ten times as long, end with Failure::TimedOut:
  // beside busy processes a thread may wait for a core most of the time. Zero: without a limit.
  void limitTime(std::chrono::milliseconds most);
  // Gives back memory that is not in use.
  void releaseMemory();

  // Of the last statement that failed.
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
