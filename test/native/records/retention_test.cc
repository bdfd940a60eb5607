// Which rows are deleted, and when.
#include <gtest/gtest.h>

#include "store_rig.h"

namespace tap::records::test {
namespace {

constexpr int64_t kDay = 86'400'000;

RecordFile fileWith(const std::string& path, Retention retention) {
  return {path, retention, findFileSystem, milliseconds(200)};
}

void writeRows(RecordFile& file, int64_t count, int64_t at, const std::string& body = "{}") {
  RowQueue queue;
  Row row;
  row.collection = Collection::Gate;
  row.at = at;
  row.body = body;
  for (int64_t i = 0; i < count; ++i) ASSERT_TRUE(queue.push(row));
  const Batch batch = file.write(queue, static_cast<size_t>(count));
  ASSERT_EQ(batch.failure, Failure::None) << batch.problem;
}

TEST(Retention, DeletesTheOldestRowsBeyondItsSize) {
  const TemporaryFolder folder;
  RecordFile file = fileWith(folder.file(), {2'000'000, kDay});
  ASSERT_EQ(file.open().state, Opening::State::Ready);
  const std::string body = "{\"text\":\"" + std::string(300, 'x') + "\"}";
  for (int i = 0; i < 12; ++i) {
    writeRows(file, 2000, kStart + i, body);
    (void)file.pruneBySize();
  }
  EXPECT_LE(file.usedBytes(), 4'000'000) << "a slice more, at most";
  EXPECT_LT(file.rows(), 24'000);
  while (file.pruneBySize()) {
  }
  EXPECT_LE(file.usedBytes(), 2'000'000);
}

TEST(Retention, GivesUnusedPagesBackWhenIdle) {
  const TemporaryFolder folder;
  RecordFile file = fileWith(folder.file(), {100'000, kDay});
  ASSERT_EQ(file.open().state, Opening::State::Ready);
  for (int i = 0; i < 3; ++i) writeRows(file, 10'000, kStart, R"({"text":"some text"})");
  const int64_t before = fileSize(folder.file());
  while (file.pruneBySize()) {
  }
  while (file.tidy()) {
  }
  EXPECT_LT(fileSize(folder.file()), before / 2 + 1'500'000);
  EXPECT_FALSE(file.isDamaged());
}

TEST(Retention, DeletesRowsThatAreTooOldAndNoOthers) {
  const TemporaryFolder folder;
  RecordFile file = fileWith(folder.file(), {1'000'000'000, 30 * kDay});
  ASSERT_EQ(file.open().state, Opening::State::Ready);
  writeRows(file, 10, kStart - 40 * kDay);
  writeRows(file, 10, kStart - 29 * kDay);
  writeRows(file, 10, kStart);
  EXPECT_TRUE(file.pruneByAge(kStart));
  EXPECT_EQ(file.rows(), 20);
  EXPECT_FALSE(file.pruneByAge(kStart));
  EXPECT_EQ(file.rows(), 20);
}

int64_t queryCount(const std::string& path, const char* sql) {
  Database database = Database::open(path, Database::Access::ReadOnly);
  return database.number(sql);
}

TEST(Retention, KeepsRowsOfTheFutureWhereTheClockHasGoneBack) {
  const TemporaryFolder folder;
  RecordFile file = fileWith(folder.file(), {1'000'000'000, 30 * kDay});
  ASSERT_EQ(file.open().state, Opening::State::Ready);
  writeRows(file, 300, kStart);
  writeRows(file, 5, kStart - 3 * kDay);
  EXPECT_FALSE(file.pruneByAge(kStart - 3 * kDay));
  EXPECT_FALSE(file.pruneByAge(kStart - 400 * kDay));
  EXPECT_EQ(file.rows(), 305);
}

TEST(Retention, IsNotHeldUpByRowsOfTheFuture) {
  const TemporaryFolder folder;
  RecordFile file = fileWith(folder.file(), {1'000'000'000, 30 * kDay});
  ASSERT_EQ(file.open().state, Opening::State::Ready);
  writeRows(file, kSliceRows + 5, kStart + 400 * kDay);
  writeRows(file, 5, kStart - 40 * kDay);
  writeRows(file, 5, kStart);
  EXPECT_TRUE(file.pruneByAge(kStart));
  EXPECT_EQ(queryCount(folder.file(), "SELECT count(*) FROM rows"), kSliceRows + 10);
  const std::string old = "SELECT count(*) FROM rows WHERE at < " + std::to_string(kStart);
  EXPECT_EQ(queryCount(folder.file(), old.c_str()), 0);
}

TEST(Retention, DeletesASliceAtATime) {
  const TemporaryFolder folder;
  RecordFile file = fileWith(folder.file(), {1'000'000'000, 30 * kDay});
  ASSERT_EQ(file.open().state, Opening::State::Ready);
  for (int i = 0; i < 3; ++i) writeRows(file, 5000, kStart - 40 * kDay);
  EXPECT_TRUE(file.pruneByAge(kStart));
  EXPECT_EQ(file.rows(), 15'000 - kSliceRows);
  EXPECT_TRUE(file.pruneByAge(kStart));
  EXPECT_EQ(file.rows(), 0);
}

TEST(Retention, HappensWhileTheStoreWrites) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file(), {3'000'000, 30 * kDay});
  const std::string body = "{\"text\":\"" + std::string(300, 'x') + "\"}";
  for (int i = 0; i < 60; ++i) {
    for (int j = 0; j < 500; ++j) rig.append(Collection::Gate, body);
    rig.flush();
  }
  EXPECT_EQ(rig.store->state().written, 30'000u);
  EXPECT_LT(rig.store->state().rows, 20'000);
  EXPECT_EQ(rig.fields(R"({"limit":1})", "id"), std::vector<std::string>{"30000"});
}

TEST(Schema, ANewFileHasAllCollectionsAndTheVersion) {
  const TemporaryFolder folder;
  {
    RecordFile file = fileWith(folder.file(), {});
    ASSERT_EQ(file.open().state, Opening::State::Ready);
  }
  Database database = Database::open(folder.file(), Database::Access::ReadOnly);
  EXPECT_EQ(database.number("SELECT count(*) FROM collections"),
            static_cast<int64_t>(protocol::kCollections));
  EXPECT_EQ(database.number("PRAGMA user_version"), kSchemaVersion);
  EXPECT_EQ(database.number("PRAGMA auto_vacuum"), 2);
}

}  // namespace
}  // namespace tap::records::test
