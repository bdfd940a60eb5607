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

TEST_F(PlanJournalTest, RefusesAFileOfANewerVersion) {
  journal_.reset();
  {
    Database database = Database::open(file(), Database::Access::ReadWrite);
    ASSERT_TRUE(database.run("PRAGMA user_version = 99"));
  }
  PlanJournal newer(options());
  EXPECT_NE(newer.open().find("newer version of tap"), std::string::npos);
  fs::remove(file());
  open();
}

TEST_F(PlanJournalTest, ADamagedFileIsSetAsideAndANewOneBegun) {
  std::vector<JournalLine> lines;
  for (int i = 0; i < 200; ++i) lines.push_back({"p" + std::to_string(i), std::string(500, 'e')});
  journal_->append(std::move(lines), false, nullptr);
  settle();
  EXPECT_EQ(journal_->asideFile(), "");
  journal_.reset();
  const auto overwrite = [this](long from, size_t bytes) {
    std::FILE* const garbage = std::fopen(file().c_str(), "r+");
    std::fseek(garbage, from, SEEK_SET);
    std::fputs(std::string(bytes, 'x').c_str(), garbage);
    std::fclose(garbage);
  };
  for (const auto& [from, bytes] : {std::pair(20'000L, 20'000UL), std::pair(0L, 5'000UL)}) {
    overwrite(from, bytes);
    open();
    EXPECT_TRUE(journal_->plans().empty());
    EXPECT_TRUE(journal_->asideFile().starts_with(file() + ".corrupt-")) << from;
    EXPECT_TRUE(fs::exists(journal_->asideFile()));
    journal_->append({{"p", "1"}}, false, nullptr);
    settle();
    EXPECT_EQ(load("p"), (Strings{"1"}));
    journal_.reset();
  }
  open();
  EXPECT_EQ(journal_->plans().size(), 1U);
}

}  // namespace
}  // namespace tap::records
