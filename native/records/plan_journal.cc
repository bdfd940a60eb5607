#include "records/plan_journal.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "records/files.h"

namespace tap::records {

namespace {

constexpr int64_t kVersion = 1;
constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS entries ("
    " plan TEXT NOT NULL, number INTEGER NOT NULL, body TEXT NOT NULL,"
    " PRIMARY KEY (plan, number)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS plans ("
    " plan TEXT PRIMARY KEY, ended INTEGER NOT NULL, changed INTEGER NOT NULL,"
    " about TEXT NOT NULL)";

}  // namespace

PlanJournal::PlanJournal(Options options) : options_(std::move(options)) {}

PlanJournal::~PlanJournal() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wakeSignal_.notify();
  thread_.join();
}

std::string PlanJournal::open() {
  std::string problem = openFile();
  if (!problem.empty() && database_.failure() == Failure::Corrupt) {
    for (Statement* one : {&insert_, &load_, &describe_, &forgetEntries_, &forgetPlan_}) *one = {};
    database_ = {};
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    aside_ =
        setAside(options_.file, std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
    if (!aside_.empty()) problem = openFile();
  }
  if (!problem.empty()) return problem;
  if (!thread_.start([this] { run(); })) return "the system gives no thread for the journal";
  return {};
}

std::string PlanJournal::openFile() {
  if (findFileSystem(options_.file) == FileSystem::Network) {
    return options_.file + " is on a network drive, whose locks cannot be relied on";
  }
  (void)createPrivate(options_.file);
  database_ = Database::open(options_.file, Database::Access::ReadWrite, options_.busy);
  const auto failed = [this] { return options_.file + ": " + database_.problem(); };
  if (database_.failure() != Failure::None) return failed();
  // A single connection of a single process, so that a log needs no shared memory. A second
  // process, such as the successor of a host, waits or is refused.
  if (!database_.run("PRAGMA locking_mode = EXCLUSIVE") ||
      !database_.run("PRAGMA journal_mode = WAL") || !database_.run("BEGIN IMMEDIATE")) {
    return failed();
  }
  const int64_t version = database_.number("PRAGMA user_version");
  if (version > kVersion) {
    (void)database_.run("ROLLBACK");
    return options_.file + " was written by a newer version of tap";
  }
  if (!database_.run(kSchema) || !database_.run("PRAGMA user_version = 1") ||
      !database_.run("COMMIT") || !database_.run("PRAGMA journal_size_limit = 4194304")) {
    return failed();
  }
  insert_ = database_.prepare(
      "INSERT INTO entries (plan, number, body) VALUES (?1,"
      " (SELECT COALESCE(MAX(number), 0) + 1 FROM entries WHERE plan = ?1), ?2)");
  load_ = database_.prepare("SELECT body FROM entries WHERE plan = ?1 ORDER BY number");
  describe_ = database_.prepare(
      "INSERT INTO plans (plan, ended, changed, about) VALUES (?1, ?2, ?3, ?4)"
      " ON CONFLICT (plan) DO UPDATE SET ended = ?2, changed = ?3, about = ?4");
  forgetEntries_ = database_.prepare("DELETE FROM entries WHERE plan = ?1");
  forgetPlan_ = database_.prepare("DELETE FROM plans WHERE plan = ?1");
  if (!insert_ || !load_ || !describe_ || !forgetEntries_ || !forgetPlan_) return failed();
  return readPlans() ? std::string() : failed();
}

// It also reads all pages of the file except those of long entries.
bool PlanJournal::readPlans() {
  plans_.clear();
  // A plan of which only the first entry was written counts, too.
  Statement all = database_.prepare(
      "SELECT plan, COALESCE(ended, 0), COALESCE(changed, 0), COALESCE(about, '{}')"
      " FROM (SELECT plan FROM plans UNION SELECT DISTINCT plan FROM entries)"
      " LEFT JOIN plans USING (plan) ORDER BY changed, plan");
  while (all && all.step()) {
    plans_.push_back(
        {std::string(all.text(0)), all.integer(1) != 0, all.integer(2), std::string(all.text(3))});
  }
  return database_.failure() == Failure::None;
}

void PlanJournal::append(std::vector<JournalLine> lines, bool sync, Done done) {
  submit(Append{std::move(lines), sync}, std::move(done), nullptr);
}
void PlanJournal::describe(JournalPlan plan, Done done) {
  submit(std::move(plan), std::move(done), nullptr);
}
void PlanJournal::load(std::string plan, Loaded done) {
  submit(Load{std::move(plan)}, nullptr, std::move(done));
}
void PlanJournal::remove(std::string plan, Done done) {
  submit(Remove{std::move(plan)}, std::move(done), nullptr);
}

void PlanJournal::submit(Task task, Done done, Loaded loaded) {
  ++waiting_;
  {
    const std::lock_guard lock(mutex_);
    submitted_.push_back({std::move(task), std::move(done), std::move(loaded), {}});
  }
  wakeSignal_.notify();
}

bool PlanJournal::deliver() {
  std::deque<Request> answered;
  std::vector<std::string> troubles;
  {
    const std::lock_guard lock(mutex_);
    answered.swap(answered_);
    troubles.swap(troubles_);
  }
  for (const std::string& trouble : troubles) options_.onTrouble(trouble);
  for (Request& one : answered) {
    --waiting_;
    if (one.done) one.done();
    if (one.loaded) one.loaded(std::move(one.entries));
  }
  return waiting_ > 0;
}

// ---- on the thread

void PlanJournal::run() {
  std::deque<Request> asked;
  for (;;) {
    bool isClosing = false;
    {
      const std::lock_guard lock(mutex_);
      isClosing = closing_;
      std::ranges::move(submitted_, std::back_inserter(asked));
      submitted_.clear();
    }
    if (!asked.empty() && perform(asked)) {
      {
        const std::lock_guard lock(mutex_);
        std::ranges::move(asked, std::back_inserter(answered_));
      }
      asked.clear();
      options_.wake();
      continue;
    }
    if (isClosing) return;
    if (asked.empty()) {
      wakeSignal_.wait();
    } else {
      (void)wakeSignal_.wait(kAgain);
    }
  }
}

// Writes all gathered requests in a transaction. After a failure, none of them is written.
bool PlanJournal::perform(std::deque<Request>& asked) {
  const bool fully = std::ranges::any_of(asked, [](const Request& one) {
    const auto* const append = std::get_if<Append>(&one.task);
    return append != nullptr && append->sync;
  });
  if (std::exchange(fully_, fully) != fully) {
    (void)database_.run(fully ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  }
  const bool good = database_.run("BEGIN IMMEDIATE") &&
                    std::ranges::all_of(asked, [this](Request& one) { return performOne(one); }) &&
                    database_.run("COMMIT");
  if (good) {
    if (std::exchange(inTrouble_, false)) reportTrouble({});
    return true;
  }
  if (!std::exchange(inTrouble_, true)) reportTrouble(database_.problem());
  (void)database_.run("ROLLBACK");
  return false;
}

bool PlanJournal::performOne(Request& asked) {
  if (const auto* const load = std::get_if<Load>(&asked.task)) {
    asked.entries = perform(*load);
    return true;
  }
  if (const auto* const append = std::get_if<Append>(&asked.task)) return perform(*append);
  if (const auto* const plan = std::get_if<JournalPlan>(&asked.task)) return perform(*plan);
  return perform(std::get<Remove>(asked.task));
}

bool PlanJournal::perform(const Append& task) {
  return std::ranges::all_of(task.lines, [this](const JournalLine& line) {
    insert_.bind(1, line.plan);
    insert_.bind(2, line.text);
    return insert_.run();
  });
}

bool PlanJournal::perform(const JournalPlan& task) {
  describe_.bind(1, task.plan);
  describe_.bind(2, int64_t{task.isEnded});
  describe_.bind(3, task.changedAt);
  describe_.bind(4, task.about);
  return describe_.run();
}

bool PlanJournal::perform(const Remove& task) {
  forgetEntries_.bind(1, task.plan);
  forgetPlan_.bind(1, task.plan);
  return forgetEntries_.run() && forgetPlan_.run();
}

std::vector<std::string> PlanJournal::perform(const Load& task) {
  std::vector<std::string> entries;
  load_.bind(1, task.plan);
  while (load_.step()) entries.emplace_back(load_.text(0));
  load_.reset();
  return entries;
}

void PlanJournal::reportTrouble(std::string trouble) {
  {
    const std::lock_guard lock(mutex_);
    troubles_.push_back(std::move(trouble));
  }
  options_.wake();
}

}  // namespace tap::records
