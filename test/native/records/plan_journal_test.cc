#include "records/plan_journal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

namespace tap::records {
namespace {

namespace fs = std::filesystem;

class PlanJournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tap-journal-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    open();
  }
  void TearDown() override {
    journal_.reset();
    fs::remove_all(folder_);
  }

  [[nodiscard]] std::string file() const { return (folder_ / "plans.sqlite").string(); }
  [[nodiscard]] PlanJournal::Options options() {
    PlanJournal::Options options;
    options.file = file();
    options.busy = std::chrono::milliseconds(100);
    options.wake = [this] {
      const std::lock_guard lock(mutex_);
      woken_ = true;
      wakes_.notify_one();
    };
    options.onTrouble = [this](const std::string& why) { troubles_.push_back(why); };
    return options;
  }
  void reopen() {
    journal_.reset();
    open();
  }
  void open() {
    journal_ = std::make_unique<PlanJournal>(options());
    ASSERT_EQ(journal_->open(), "");
  }
  // Until all have been called back.
  void settle() {
    while (journal_->deliver()) {
      std::unique_lock lock(mutex_);
      wakes_.wait_for(lock, std::chrono::seconds(20), [this] { return woken_; });
      woken_ = false;
    }
  }
  [[nodiscard]] std::vector<std::string> load(const std::string& plan) {
    std::vector<std::string> entries;
    journal_->load(plan, [&entries](std::vector<std::string> all) { entries = std::move(all); });
    settle();
    return entries;
  }

  fs::path folder_;
  std::unique_ptr<PlanJournal> journal_;
  std::mutex mutex_;
  std::condition_variable wakes_;
  bool woken_ = false;
  std::vector<std::string> troubles_;
};

using Strings = std::vector<std::string>;

TEST_F(PlanJournalTest, GivesBackWhatWasWrittenInItsOrder) {
  Strings done;
  journal_->append({{"p", "1"}, {"q", "2"}}, false, [&done] { done.emplace_back("first"); });
  journal_->append({{"p", "3"}}, true, [&done] { done.emplace_back("second"); });
  settle();
  EXPECT_EQ(done, (Strings{"first", "second"}));
  EXPECT_EQ(load("p"), (Strings{"1", "3"}));
  reopen();
  EXPECT_EQ(load("p"), (Strings{"1", "3"}));
  EXPECT_EQ(load("q"), Strings{"2"});
}

TEST_F(PlanJournalTest, KnowsItsPlansAndForgetsOne) {
  journal_->append({{"new", "{}"}}, false, nullptr);
  journal_->describe({"old", true, 7, R"({"name":"x"})"}, nullptr);
  journal_->describe({"gone", true, 8, "{}"}, nullptr);
  journal_->remove("gone", nullptr);
  settle();
  reopen();
  const auto plans = journal_->plans();
  ASSERT_EQ(plans.size(), 2U);
  EXPECT_EQ(plans[0].plan, "new");
  EXPECT_FALSE(plans[0].isEnded);
  EXPECT_EQ(plans[1].about, R"({"name":"x"})");
  EXPECT_TRUE(plans[1].isEnded);
}

TEST_F(PlanJournalTest, OnlyOneProcessHasIt) {
  PlanJournal other(options());
  EXPECT_NE(other.open().find("locked"), std::string::npos);
}

TEST_F(PlanJournalTest, WhatWasWrittenSurvivesTheEndOfTheProcess) {
  journal_.reset();
  const pid_t child = fork();
  if (child == 0) {
    auto mine = options();
    PlanJournal journal(mine);
    if (!journal.open().empty()) _exit(1);
    bool isDone = false;
    journal.append({{"p", "1"}, {"p", "2"}}, false, [&isDone] { isDone = true; });
    while (!isDone) {
      usleep(1000);
      (void)journal.deliver();
    }
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  open();
  EXPECT_EQ(load("p"), (Strings{"1", "2"}));
}

TEST_F(PlanJournalTest, RefusesAFileOfANewerVersionAndOneThatIsNone) {
  journal_.reset();
  {
    Database database = Database::open(file(), Database::Access::ReadWrite);
    ASSERT_TRUE(database.run("PRAGMA user_version = 99"));
  }
  PlanJournal newer(options());
  EXPECT_NE(newer.open().find("newer version of tap"), std::string::npos);
  fs::remove(file());
  fs::remove(file() + "-wal");
  {
    std::FILE* const garbage = std::fopen(file().c_str(), "w");
    std::fputs(std::string(5000, 'x').c_str(), garbage);
    std::fclose(garbage);
  }
  PlanJournal none(options());
  EXPECT_NE(none.open().find("not a database"), std::string::npos);
  fs::remove(file());
  open();
}

}  // namespace
}  // namespace tap::records
