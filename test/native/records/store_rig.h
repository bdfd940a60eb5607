// A store on a real file in a folder of its own, and a loop in its place.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "records/store.h"

namespace tap::records::test {

using std::chrono::milliseconds;

// 2026-01-01T00:00:00Z.
inline constexpr int64_t kStart = 1'767'225'600'000;
// Of a rig's disk: 20 MB of it are to stay free.
inline constexpr int64_t kDiskBytes = 2'000'000'000;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tap-records-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code problem;
    std::filesystem::remove_all(path_, problem);
  }
  [[nodiscard]] std::string file(const std::string& name = "records.sqlite") const {
    return path_ + "/" + name;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A store, and the loop that it calls back on. For a single thread.
class StoreRig {
  // Before the store: its thread may still wake the loop while the store is being destroyed.
  std::mutex mutex_;
  std::condition_variable wakes_;
  bool awake_ = false;

 public:
  explicit StoreRig(std::string file, Retention retention = {},
                    FileSystem system = FileSystem::Local) {
    StoreOptions options;
    options.writer.fileSystem = [system](const std::string& /*file*/) { return system; };
    options.writer.diskSpace = [this](const std::string& file) {
      while (stalled.load()) std::this_thread::sleep_for(milliseconds(1));
      return disk.load() < 0 ? readDiskSpace(file) : DiskSpace{disk.load(), kDiskBytes};
    };
    options.writer.diskCheckInterval = milliseconds(5);
    options.writer.file = std::move(file);
    options.writer.retention = retention;
    options.writer.clock = [this] { return now.load(); };
    options.writer.gather = milliseconds(2);
    options.writer.pause = milliseconds(50);
    options.writer.busy = milliseconds(200);
    options.readerIdle = milliseconds(50);
    options.wake = [this] {
      const std::lock_guard lock(mutex_);
      awake_ = true;
      wakes_.notify_one();
    };
    options.onDiagnostic = [this](const Diagnostic& one) { diagnostics.push_back(one); };
    store = std::make_unique<Store>(std::move(options));
  }

  void append(Collection collection, const std::string& body, const std::string& session = "s1",
              int64_t at = kStart) const {
    store->append(makeRow(collection, body, session, at));
  }
  // Whether it is durable.
  [[nodiscard]] bool commit(Collection collection, const std::string& body,
                            const std::string& session = "s1", int64_t at = kStart) {
    bool done = false;
    bool durable = false;
    store->commit(makeRow(collection, body, session, at), [&](bool is) {
      done = true;
      durable = is;
    });
    run([&] { return done; });
    return durable;
  }
  [[nodiscard]] Answer query(const std::string& json) {
    return ask([&](Store::Answered done) { store->query(json, std::move(done)); });
  }
  [[nodiscard]] Answer sql(const std::string& statement) {
    return ask([&](Store::Answered done) { store->sql(statement, std::move(done)); });
  }
  // Of a query that is answered: the records' texts, newest first.
  [[nodiscard]] std::vector<std::string> records(const std::string& json) {
    const Answer answer = query(json);
    EXPECT_TRUE(answer.good) << answer.text;
    std::vector<std::string> list;
    json::Scanner scanner;
    const auto root = scanner.scan(answer.text);
    if (!root) return list;
    const auto found = json::find(root.value(), "records");
    if (!found) return list;
    json::Elements elements(*found);
    for (json::Value one; elements.next(one);) list.emplace_back(one.raw);
    return list;
  }
  // The JSON text of a field in each of these records.
  [[nodiscard]] std::vector<std::string> fields(const std::string& json, const char* name) {
    std::vector<std::string> list;
    for (const std::string& record : records(json)) {
      const auto field = json::find({json::Kind::Object, record}, name);
      list.emplace_back(field ? field->raw : "");
    }
    return list;
  }
  void flush() const { EXPECT_TRUE(store->flush(milliseconds(20'000))); }
  // Delivers until it holds.
  void run(const std::function<bool()>& holds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds()) {
      {
        std::unique_lock lock(mutex_);
        wakes_.wait_for(lock, milliseconds(5), [this] { return awake_; });
        awake_ = false;
      }
      store->deliver();
      ASSERT_LT(std::chrono::steady_clock::now(), until);
    }
  }
  [[nodiscard]] bool heard(const std::string& code) {
    store->deliver();
    for (const Diagnostic& one : diagnostics) {
      if (one.code == code) return true;
    }
    return false;
  }
  void waitFor(const std::string& code) {
    run([&] { return heard(code); });
  }

  std::atomic<int64_t> now{kStart};
  // Free bytes of the disk; negative: the real value.
  std::atomic<int64_t> disk{kDiskBytes};
  // A disk that does not answer.
  std::atomic<bool> stalled{false};
  std::vector<Diagnostic> diagnostics;
  std::unique_ptr<Store> store;

 private:
  [[nodiscard]] static Row makeRow(Collection collection, const std::string& body,
                                   const std::string& session, int64_t at) {
    Row row;
    row.collection = collection;
    row.at = at;
    row.session = session;
    row.source = "test";
    row.body = body;
    return row;
  }
  template <class Asked>
  Answer ask(Asked asked) {
    (void)store->flush(milliseconds(20'000));
    bool done = false;
    Answer answer;
    asked([&](const Answer& given) {
      done = true;
      answer = given;
    });
    run([&] { return done; });
    return answer;
  }
};

}  // namespace tap::records::test
