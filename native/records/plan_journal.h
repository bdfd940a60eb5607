// The journal of all plans: a file of SQLite, which a single process opens and its own thread
// writes. For use on the thread of the loop; only open() waits for the disk.
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
  std::string about;      // JSON object of the caller
};

class PlanJournal {
 public:
  // The delay before a failed write is repeated: an effect waits until its entries are written.
  static constexpr std::chrono::milliseconds kAgain{1000};

  struct Options {
    std::string file;
    // How long to wait for a different process to close the file.
    std::chrono::milliseconds busy{2000};
    // Called from any thread: deliver() must be called soon, on the thread of the loop.
    std::function<void()> wake;
    // Called within deliver(): writes fail because of `why`, or succeed again if it is empty.
    std::function<void(const std::string& why)> onTrouble;
  };
  using Done = std::function<void()>;
  using Loaded = std::function<void(std::vector<std::string> entries)>;

  explicit PlanJournal(Options options);
  PlanJournal(const PlanJournal&) = delete;
  PlanJournal& operator=(const PlanJournal&) = delete;
  ~PlanJournal();  // writes the pending requests, without retries

  // Opens or creates the file. A damaged file is renamed first. Returns: empty, or the reason of a
  // failure. Call it once, first.
  [[nodiscard]] std::string open();

  // All plans that open() found, the oldest first.
  [[nodiscard]] const std::vector<JournalPlan>& plans() const { return plans_; }

  // The new name of a damaged file; empty if open() found no damage.
  [[nodiscard]] const std::string& asideFile() const { return aside_; }

  // Writes the lines in their order, all or none. Calls `done` within deliver(), once they survive
  // the end of this process, and with `sync` a crash of the machine.
  void append(std::vector<JournalLine> lines, bool sync, Done done);
  // Writes the summary of a plan.
  void describe(JournalPlan plan, Done done);
  void load(std::string plan, Loaded done);
  void remove(std::string plan, Done done);

  // Runs the callbacks of finished requests. Returns: whether any request is pending.
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
  size_t waiting_ = 0;  // of the loop's thread: pending callbacks
};

}  // namespace tap::records
