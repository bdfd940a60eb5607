// The store on a disk that is nearly full.
#include "records/disk_budget.h"

#include <gtest/gtest.h>

#include <fstream>

#if defined(__linux__)
#include <sys/mount.h>
#endif

#include "store_rig.h"

namespace tap::records::test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMB = 1'000'000;

DiskBudget makeBudget(int64_t freeBytes, int64_t totalBytes) {
  DiskBudget room;
  room.update(DiskSpace{freeBytes, totalBytes});
  return room;
}

uint64_t droppedRows(const StoreRig& rig, Collection collection) {
  return rig.store->state().dropped[static_cast<size_t>(collection)];
}

size_t countDiagnostics(const StoreRig& rig, const std::string& code) {
  size_t count = 0;
  for (const Diagnostic& one : rig.diagnostics) count += one.code == code ? 1 : 0;
  return count;
}

const std::string& body() {
  static const std::string text = "{\"text\":\"" + std::string(1000, 'x') + "\"}";
  return text;
}

// With 12,000 rows, more than the queue takes at once.
void fillStore(const StoreRig& rig) {
  for (int i = 0; i < 12'000; ++i) {
    rig.append(Collection::Gate, body());
    if (i % 2000 == 1999) rig.flush();
  }
}

TEST(DiskBudget, KeepsAShareOfTheDiskFree) {
  EXPECT_EQ(DiskBudget::reserveBytes(24 * kMB), 6 * kMB) << "a quarter of a small disk";
  EXPECT_EQ(DiskBudget::reserveBytes(64 * kMB), 16 * kMB);
  EXPECT_EQ(DiskBudget::reserveBytes(1000 * kMB), 16 * kMB);
  EXPECT_EQ(DiskBudget::reserveBytes(10'000 * kMB), 100 * kMB) << "1 %";
  EXPECT_EQ(DiskBudget::reserveBytes(2'000'000 * kMB), 256 * kMB) << "at most";
}

TEST(DiskBudget, IsShortBelowTheReserveUntilThereIsAQuarterMore) {
  EXPECT_FALSE(makeBudget(26 * kMB, 2000 * kMB).isTight());
  DiskBudget room = makeBudget(24 * kMB, 2000 * kMB);
  EXPECT_TRUE(room.isTight());
  EXPECT_FALSE(room.isShort());
  room.update(DiskSpace{19 * kMB, 2000 * kMB});
  EXPECT_TRUE(room.isShort());
  room.update(DiskSpace{24 * kMB, 2000 * kMB});
  EXPECT_TRUE(room.isShort());
  room.update(DiskSpace{25 * kMB, 2000 * kMB});
  EXPECT_FALSE(room.isShort());
}

TEST(DiskBudget, IsThereWhereTheSystemDoesNotSay) {
  DiskBudget room = makeBudget(0, 2000 * kMB);
  EXPECT_TRUE(room.isShort());
  room.update(std::nullopt);
  EXPECT_FALSE(room.isShort());
  EXPECT_FALSE(room.isTight());
}

TEST(NearlyFullDisk, OnlyNotifyIsRecorded) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  EXPECT_TRUE(rig.commit(Collection::Gate, "{}"));
  rig.disk = 5 * kMB;
  for (int i = 0; i < 10; ++i) rig.append(Collection::Push, "{}");
  EXPECT_FALSE(rig.commit(Collection::Gate, "{}"));
  EXPECT_TRUE(rig.commit(Collection::Notify, R"({"prompt":"p"})"));
  rig.waitFor("nearly-full");
  EXPECT_EQ(droppedRows(rig, Collection::Push), 10u);
  EXPECT_EQ(droppedRows(rig, Collection::Gate), 1u);
  EXPECT_EQ(droppedRows(rig, Collection::Notify), 0u);
  EXPECT_EQ(rig.store->state().written, 2u);
  EXPECT_EQ(rig.fields(R"({"collection":"notify"})", "id").size(), 1u);
  EXPECT_NE(rig.diagnostics[0].text.find("has 5.0 MB left. Until it has 25.0 MB, only what"),
            std::string::npos)
      << rig.diagnostics[0].text;
}

TEST(NearlyFullDisk, IsSaidOnceAndTheStoreGoesOnByItself) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  rig.disk = 5 * kMB;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(rig.commit(Collection::Gate, "{}"));
  EXPECT_TRUE(rig.commit(Collection::Notify, "{}"));
  EXPECT_FALSE(rig.heard("recovered"));
  rig.disk = kDiskBytes;
  rig.waitFor("recovered");  // without a row
  EXPECT_TRUE(rig.commit(Collection::Gate, "{}"));
  EXPECT_EQ(countDiagnostics(rig, "nearly-full"), 1u);
  EXPECT_EQ(countDiagnostics(rig, "recovered"), 1u);
  EXPECT_NE(rig.diagnostics.back().text.find("5 were lost"), std::string::npos);
  EXPECT_EQ(rig.fields(R"({"collection":"diagnostic"})", "id").size(), 2u);
}

TEST(NearlyFullDisk, TheOldestRowsGoDownToWhatTheStoreKeeps) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  fillStore(rig);
  const int64_t before = fileSize(folder.file());
  EXPECT_GT(before, 12 * kMB);
  rig.disk = 5 * kMB;
  rig.append(Collection::Gate, body());
  rig.run([&] { return fileSize(folder.file()) < 4 * kMB + kMB / 2; });
  EXPECT_GT(rig.store->state().rows, 2000);
  EXPECT_EQ(rig.fields(R"({"limit":1,"collection":"gate"})", "id"),
            std::vector<std::string>{"12000"});
  rig.disk = kDiskBytes;
  rig.waitFor("recovered");
}

TEST(NearlyFullDisk, RowsGoBeforeAnythingIsLeftOut) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  fillStore(rig);
  rig.disk = 22 * kMB;  // little, but more than the reserve
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(rig.commit(Collection::Gate, body()));
  EXPECT_LT(fileSize(folder.file()), 6 * kMB);
  EXPECT_TRUE(rig.diagnostics.empty());
  EXPECT_EQ(droppedRows(rig, Collection::Gate), 0u);
}

TEST(NearlyFullDisk, AFileThatShrinksIsWhole) {
  const TemporaryFolder folder;
  RecordFile file(folder.file(), {}, findFileSystem, milliseconds(200));
  ASSERT_EQ(file.open().state, Opening::State::Ready);
  RowQueue queue;
  Row row;
  row.collection = Collection::Gate;
  row.body = body();
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(queue.push(row));
  while (file.write(queue, 5000).rows > 0) {
  }
  while (file.shrink(200'000, 500'000)) {
  }
  EXPECT_LE(file.usedBytes(), 700'000);
  EXPECT_GE(file.usedBytes(), 300'000);
  EXPECT_FALSE(file.shrink(200'000, 500'000));
  EXPECT_FALSE(file.isDamaged());
}

TEST(NearlyFullDisk, ABatchOfLargeRowsIsCut) {
  const TemporaryFolder folder;
  RecordFile file(folder.file(), {}, findFileSystem, milliseconds(200));
  ASSERT_EQ(file.open().state, Opening::State::Ready);
  RowQueue queue;
  Row row;
  row.collection = Collection::Gate;
  row.body = body();
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(queue.push(row));
  const Batch batch = file.write(queue, 5000);
  EXPECT_GT(batch.rows, 900u);
  EXPECT_LT(batch.rows, 1100u);
}

#if defined(__linux__)

TEST(NearlyFullDisk, ASmallOneKeepsAQuarterFreeWhateverIsRecorded) {
  const TemporaryFolder folder;
  if (mount("none", folder.path().c_str(), "tmpfs", 0, "size=8m") != 0)
    GTEST_SKIP() << "this process may not mount a file system";
  {
    StoreRig rig(folder.file());
    rig.disk = -1;
    int64_t least = INT64_MAX;
    for (int i = 0; i < 40; ++i) {
      for (int j = 0; j < 500; ++j) rig.append(Collection::Gate, body());
      rig.flush();
      least = std::min(least, readDiskSpace(folder.file())->freeBytes);
    }
    EXPECT_GT(least, 1'000'000);
    EXPECT_EQ(rig.store->state().written, 20'000u) << "the store itself drops no rows";
    // Others take the rest, and give it back.
    std::ofstream(folder.file("ballast"), std::ios::binary)
        << std::string(static_cast<size_t>(least) - 300'000, 'x');
    rig.append(Collection::Gate, "{}");
    rig.flush();
    fs::remove(folder.file("ballast"));
    std::this_thread::sleep_for(milliseconds(20));
    rig.run([&] { return rig.commit(Collection::Gate, "{}"); });
    EXPECT_GT(readDiskSpace(folder.file())->freeBytes, 2'000'000);
  }
  umount2(folder.path().c_str(), MNT_DETACH);
}

#endif

}  // namespace
}  // namespace tap::records::test
