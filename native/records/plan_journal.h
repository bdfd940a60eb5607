// The journal of all plans: one file of SQLite, which one process opens and a thread of its own
// writes. Used by one thread, that of the loop; nothing but open() waits for the disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "records/database.h"
#include "records/thread.h"
#include "records/wake_signal.h"

namespace tap::records {

struct JournalLine {
  std::string plan;
  std::string text;  // JSON
};

struct JournalPlan {
  std::string plan;
  bool isEnded = false;
  int64_t changedAt = 0;  // Unix time in ms
  std::string about;      // JSON object of the caller's
};

class PlanJournal {
 public:
  // How long a write that failed waits before it is tried again: what is not in the journal does
  // not happen.
  static constexpr std::chrono::milliseconds kAgain{1000};

  struct Options {
    std::string file;
    std::chrono::milliseconds busy{2000};  // for another process to let go of the file
    // From any thread: deliver() is to be called soon, on the thread of the loop.
    std::function<void()> wake;
    // Within deliver(): the disk refuses, and with an empty text: no more.
    std::function<void(const std::string& why)> onTrouble;
  };
  using Done = std::function<void()>;
  using Loaded = std::function<void(std::vector<std::string> entries)>;

  explicit PlanJournal(Options options);
  PlanJournal(const PlanJournal&) = delete;
  PlanJournal& operator=(const PlanJournal&) = delete;
  ~PlanJournal();  // writes what was given, once

  // Opens the file, or creates it. A damaged file is renamed before. Empty, or why that is not
  // possible. Call it once, first.
  [[nodiscard]] std::string open();

  // Of all plans, the oldest first, as open() has found them.
  [[nodiscard]] const std::vector<JournalPlan>& plans() const { return plans_; }

  // The new name of a damaged file; empty: open() has found no damage.
  [[nodiscard]] const std::string& asideFile() const { return aside_; }

  // Writes these in their order, all of them or none; `done` within deliver(), once they survive
  // the end of this process, and with `sync` that of the machine.
  void append(std::vector<JournalLine> lines, bool sync, Done done);
  // What is to be known of a plan without its entries.
  void describe(JournalPlan plan, Done done);
  void load(std::string plan, Loaded done);
  void remove(std::string plan, Done done);

  // Calls back whom something has happened to. Returns: whether somebody still waits.
  bool deliver();

 private:
  struct Append {
    std::vector<JournalLine> lines;
    bool sync = false;
  };
  struct Load {
    std::string plan;
  };
  struct Remove {
    std::string plan;
  };
  using Task = std::variant<Append, JournalPlan, Load, Remove>;
  struct Request {
    Task task;
    Done done;
    Loaded loaded;
    std::vector<std::string> entries;
  };

  [[nodiscard]] std::string openFile();
  [[nodiscard]] bool readPlans();
  void submit(Task task, Done done, Loaded loaded);
  void run();
  [[nodiscard]] bool perform(std::deque<Request>& asked);
  [[nodiscard]] bool performOne(Request& asked);
  [[nodiscard]] bool perform(const Append& task);
  [[nodiscard]] bool perform(const JournalPlan& task);
  [[nodiscard]] bool perform(const Remove& task);
  [[nodiscard]] std::vector<std::string> perform(const Load& task);
  void reportTrouble(std::string trouble);

  Options options_;
  std::string aside_;
  std::vector<JournalPlan> plans_;
  Database database_;
  Statement insert_;
  Statement load_;
  Statement describe_;
  Statement forgetEntries_;
  Statement forgetPlan_;
  bool fully_ = true;
  bool inTrouble_ = false;

  Thread thread_;
  WakeSignal wakeSignal_;
  std::mutex mutex_;
  std::deque<Request> submitted_;
  std::deque<Request> answered_;
  std::vector<std::string> troubles_;
  bool closing_ = false;
  size_t waiting_ = 0;  // of the loop's thread: who has not been called back
};

}  // namespace tap::records
