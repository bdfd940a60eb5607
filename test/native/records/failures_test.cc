// The table of failures in docs/records.md: the effect of each on the store, with real files.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>

#if !defined(_WIN32)
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#endif

#include "store_rig.h"

namespace tap::records::test {
namespace {

namespace fs = std::filesystem;

void writeFile(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

std::string readFile(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The renamed damaged file; empty if there is none.
std::string findAside(const TemporaryFolder& folder) {
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (entry.path().filename().string().starts_with("records.sqlite.corrupt-"))
      return entry.path().string();
  }
  return {};
}

void runSql(const std::string& file, const char* sql) {
  Database database = Database::open(file, Database::Access::ReadWrite);
  ASSERT_TRUE(database.run(sql)) << database.problem();
}

TEST(Failures, AFileOfGarbageIsSetAside) {
  const TemporaryFolder folder;
  writeFile(folder.file(),
            "this is not a database, and it is longer than a header " + std::string(1000, 'x'));
  StoreRig rig(folder.file());
  EXPECT_TRUE(rig.commit(Collection::Notify, "{}"));
  rig.waitFor("corrupt");
  EXPECT_TRUE(readFile(findAside(folder)).starts_with("this is not a database"));
  EXPECT_EQ(findAside(folder), folder.file() + ".corrupt-20260101T000000Z");
  EXPECT_EQ(rig.fields(R"({"collection":"diagnostic"})", "source"),
            (std::vector<std::string>{"\"records\""}));
}

TEST(Failures, ADamagedFileIsSetAsideWhileItIsOpen) {
  const TemporaryFolder folder;
  {
    StoreRig filled(folder.file());
    for (int i = 0; i < 3000; ++i) filled.append(Collection::Gate, R"({"text":"some text"})");
  }  // closed, it has everything in the file itself
  StoreRig rig(folder.file());
  EXPECT_TRUE(rig.commit(Collection::Gate, "{}"));
  {
    std::fstream file(folder.file(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(4096);
    file << std::string(200'000, '\xAB');
  }
  // The reader sees the damage, and has the writer look.
  (void)rig.query("{}");
  rig.waitFor("corrupt");
  EXPECT_TRUE(rig.commit(Collection::Notify, "{}"));
  EXPECT_FALSE(findAside(folder).empty());
}

TEST(Failures, OnlyOneDamagedFileIsKept) {
  const TemporaryFolder folder;
  writeFile(folder.file("records.sqlite.corrupt-20250101T000000Z"), "old");
  writeFile(folder.file(), std::string(2000, 'x'));
  StoreRig rig(folder.file());
  rig.waitFor("corrupt");
  EXPECT_EQ(readFile(findAside(folder)), std::string(2000, 'x'));
}

TEST(Failures, AFileOfANewerVersionIsLeftAlone) {
  const TemporaryFolder folder;
  runSql(folder.file(), "CREATE TABLE future (x); PRAGMA user_version = 99");
  const std::string before = readFile(folder.file());
  {
    StoreRig rig(folder.file());
    rig.waitFor("newer");
    EXPECT_FALSE(rig.commit(Collection::Notify, "{}"));
    EXPECT_NE(rig.diagnostics[0].text.find("written by a newer version of tap (schema 99, this "
                                           "version knows 1)"),
              std::string::npos);
    EXPECT_EQ(rig.store->state().dropped[static_cast<size_t>(Collection::Notify)], 1u);
  }
  EXPECT_EQ(readFile(folder.file()), before);
}

TEST(Failures, ALockedFileIsTriedAgain) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  EXPECT_TRUE(rig.commit(Collection::Notify, "{}"));
  Database other = Database::open(folder.file(), Database::Access::ReadWrite);
  ASSERT_TRUE(other.run("BEGIN EXCLUSIVE"));
  EXPECT_FALSE(rig.commit(Collection::Notify, "{}"));
  rig.waitFor("locked");
  ASSERT_TRUE(other.run("COMMIT"));
  std::this_thread::sleep_for(milliseconds(60));
  EXPECT_TRUE(rig.commit(Collection::Notify, "{}"));
  rig.waitFor("recovered");
  EXPECT_EQ(rig.fields(R"({"collection":"diagnostic"})", "id").size(), 2u);
}

TEST(Failures, AFileThatWasDeletedIsBegunAgain) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  EXPECT_TRUE(rig.commit(Collection::Gate, "{}"));
  fs::remove(folder.file());
  std::this_thread::sleep_for(milliseconds(1100));
  EXPECT_TRUE(rig.commit(Collection::Push, "{}"));
  rig.waitFor("replaced");
  EXPECT_EQ(rig.fields(R"({"collection":"push"})", "id").size(), 1u);
  EXPECT_EQ(rig.fields(R"({"collection":"gate"})", "id").size(), 0u);
}

TEST(Failures, AFileWhoseFolderWasDeletedIsBegunAgain) {
  const TemporaryFolder folder;
  const std::string inner = folder.file("tap");
  fs::create_directory(inner);
  StoreRig rig(inner + "/records.sqlite");
  EXPECT_TRUE(rig.commit(Collection::Gate, "{}"));
  fs::remove_all(inner);
  std::this_thread::sleep_for(milliseconds(1100));
  EXPECT_TRUE(rig.commit(Collection::Push, "{}"));
  rig.waitFor("replaced");
  EXPECT_EQ(rig.fields(R"({"collection":"push"})", "id").size(), 1u);
#if !defined(_WIN32)
  EXPECT_EQ(fs::status(inner).permissions(), fs::perms::owner_all);
#endif
}

TEST(Failures, AFileThatWasReplacedIsUsed) {
  const TemporaryFolder folder;
  {
    StoreRig other(folder.file("other.sqlite"));
    EXPECT_TRUE(other.commit(Collection::Plan, "{}"));
  }
  StoreRig rig(folder.file());
  EXPECT_TRUE(rig.commit(Collection::Gate, "{}"));
  fs::rename(folder.file("other.sqlite"), folder.file());
  std::this_thread::sleep_for(milliseconds(1100));
  EXPECT_TRUE(rig.commit(Collection::Push, "{}"));
  rig.waitFor("replaced");
  EXPECT_EQ(rig.fields(R"({"collection":"plan"})", "id").size(), 1u);
}

TEST(Failures, AClockThatGoesBackIsSaid) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  EXPECT_TRUE(rig.commit(Collection::Gate, "{}"));
  rig.now = kStart - 3'600'000;
  EXPECT_TRUE(rig.commit(Collection::Gate, "{}", "s1", kStart - 3'600'000));
  rig.waitFor("clock");
  EXPECT_EQ(rig.fields(R"({"collection":"gate"})", "id"), (std::vector<std::string>{"1", "2"}))
      << "in the order of their times";
}

TEST(Failures, ANetworkFileSystemIsRefused) {
  const TemporaryFolder folder;
  {
    StoreRig rig(folder.file(), {}, FileSystem::Network);
    EXPECT_FALSE(rig.commit(Collection::Notify, "{}"));
    rig.waitFor("network");
  }
  EXPECT_FALSE(fs::exists(folder.file()));
}

TEST(Failures, WithoutSharedMemoryThereIsNoWriteAheadLog) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file(), {}, FileSystem::NoSharedMemory);
  EXPECT_TRUE(rig.commit(Collection::Notify, "{}"));
  EXPECT_EQ(rig.store->state().journal, Journal::Rollback);
  EXPECT_EQ(rig.store->state().rollbackReason,
            hasSafeWal() ? RollbackReason::FileSystem : RollbackReason::OldSqlite);
}

TEST(Failures, WithoutAFolderNothingIsKept) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file("missing/tap/records.sqlite"));
  EXPECT_FALSE(rig.commit(Collection::Notify, "{}"));
  rig.waitFor("read-only");
  EXPECT_FALSE(rig.query("{}").good);
  fs::create_directory(folder.path() + "/missing");
  std::this_thread::sleep_for(milliseconds(60));
  EXPECT_TRUE(rig.commit(Collection::Notify, "{}"));
  rig.waitFor("recovered");
}

#if defined(__linux__)

// A small disk for a test; unavailable if this process may not mount it.
class Disk {
 public:
  explicit Disk(const char* options) {
    fs::create_directory(folder_.path() + "/disk");
    mounted_ = mount("none", path().c_str(), "tmpfs", 0, options) == 0;
  }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  ~Disk() {
    if (mounted_) umount2(path().c_str(), MNT_DETACH);
  }
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] std::string path() const { return folder_.path() + "/disk"; }
  [[nodiscard]] std::string file() const { return path() + "/records.sqlite"; }
  [[nodiscard]] bool makeReadOnly(bool readOnly) const {
    const unsigned long flags = MS_REMOUNT | (readOnly ? MS_RDONLY : 0);
    return mount("none", path().c_str(), "tmpfs", flags, "size=400k") == 0;
  }

 private:
  TemporaryFolder folder_;
  bool mounted_ = false;
};

// Appends until rows are lost.
void fill(StoreRig& rig) {
  const std::string body = "{\"text\":\"" + std::string(3000, 'x') + "\"}";
  rig.run([&] {
    for (int i = 0; i < 20; ++i) rig.append(Collection::Gate, body);
    rig.flush();
    return rig.heard("full");
  });
}

TEST(Failures, AFullDiskLosesRowsUntilThereIsRoom) {
  const Disk disk("size=400k");
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount a file system";
  const std::string ballast = disk.path() + "/ballast";
  writeFile(ballast, std::string(150'000, 'x'));
  StoreRig rig(disk.file());
  fill(rig);
  EXPECT_GT(rig.store->state().dropped[static_cast<size_t>(Collection::Gate)], 0u);
  EXPECT_TRUE(rig.query("{}").good) << "written rows can be read";
  fs::remove(ballast);
  std::this_thread::sleep_for(milliseconds(60));
  EXPECT_TRUE(rig.commit(Collection::Notify, "{}"));
  rig.waitFor("recovered");
}

TEST(Failures, ADiskThatCannotBeWrittenIsTriedAgain) {
  const Disk disk("size=400k");
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount a file system";
  ASSERT_TRUE(disk.makeReadOnly(true));
  {
    StoreRig rig(disk.file());
    EXPECT_FALSE(rig.commit(Collection::Notify, "{}"));
    rig.waitFor("read-only");
    ASSERT_TRUE(disk.makeReadOnly(false));
    std::this_thread::sleep_for(milliseconds(60));
    EXPECT_TRUE(rig.commit(Collection::Notify, "{}"));
    rig.waitFor("recovered");
  }
}

TEST(Failures, TheLimitOfAFilesSizeIsAFullDisk) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  EXPECT_TRUE(rig.commit(Collection::Notify, "{}"));
  const auto former = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit limited = before;
  limited.rlim_cur = 200'000;
  setrlimit(RLIMIT_FSIZE, &limited);
  fill(rig);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, former);
  std::this_thread::sleep_for(milliseconds(60));
  EXPECT_TRUE(rig.commit(Collection::Notify, "{}"));
}

#endif

TEST(Files, TellNetworkFileSystemsFromOthers) {
  EXPECT_EQ(findFileSystem("/tmp/records.sqlite"), FileSystem::Local);
#if defined(__linux__)
  EXPECT_EQ(fileSystemFromMagic(0x6969), FileSystem::Network);
  EXPECT_EQ(fileSystemFromMagic(0xFF534D42), FileSystem::Network);
  EXPECT_EQ(fileSystemFromMagic(0x01021997), FileSystem::Network);
  EXPECT_EQ(fileSystemFromMagic(0x65735546), FileSystem::NoSharedMemory);
  EXPECT_EQ(fileSystemFromMagic(0xEF53), FileSystem::Local);
#endif
}

#if !defined(_WIN32)
TEST(Files, AreForTheUserAlone) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  EXPECT_TRUE(rig.commit(Collection::Gate, "{}"));
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    struct stat about {};
    ASSERT_EQ(stat(entry.path().c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u) << entry.path();
  }
}

TEST(RecordFailures, AFileThatOthersCanReadIsMadePrivate) {
  const TemporaryFolder folder;
  {
    StoreRig rig(folder.file());
    rig.append(Collection::Gate, R"({"n":1})");
    EXPECT_EQ(rig.records("{}").size(), 1u);
  }
  ASSERT_EQ(chmod(folder.file().c_str(), 0666), 0);
  const TemporaryFolder other;
  ASSERT_EQ(symlink(other.file("away").c_str(), folder.file("link").c_str()), 0);
  for (const char* name : {"records.sqlite", "link"}) {
    StoreRig rig(folder.file(name));
    rig.append(Collection::Gate, R"({"n":2})");
    EXPECT_FALSE(rig.records("{}").empty()) << name;
    struct stat about {};
    ASSERT_EQ(stat(folder.file(name).c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u) << name;
  }
}

TEST(RecordFailures, APipeInThePlaceOfTheFileKeepsNobodyWaiting) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.file().c_str(), 0600), 0);
  StoreRig rig(folder.file());
  rig.append(Collection::Gate, R"({"n":1})");
  EXPECT_FALSE(rig.query("{}").good);
}
#endif

TEST(SafeWal, IsThatOfTheVersionsWithTheFix) {
  for (const int good : {3051003, 3052000, 3053002, 3050007, 3044006}) {
    EXPECT_TRUE(hasSafeWal(good)) << good;
  }
  for (const int bad : {3040001, 3051002, 3051000, 3050006, 3049001, 3045000, 3044005}) {
    EXPECT_FALSE(hasSafeWal(bad)) << bad;
  }
}

}  // namespace
}  // namespace tap::records::test
