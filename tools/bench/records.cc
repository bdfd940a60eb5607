// The cost of records: `bench_records [seconds]` writes rows as calls make them, at 100,000 a
// second, and asks for the last 100 of a million. A line of JSON per measurement.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "records/store.h"

namespace {

using namespace tap;
using Clock = std::chrono::steady_clock;
using protocol::Collection;
using protocol::Row;

constexpr int kPerSecond = 100'000;
constexpr int kPerMillisecond = kPerSecond / 1000;
constexpr size_t kMillion = 1'000'000;

[[nodiscard]] int64_t unixNow() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

[[nodiscard]] double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// CPU time of this process or of this thread, in seconds.
[[nodiscard]] double cpu(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Resident memory of this process without pages that are shared with files, in kB.
[[nodiscard]] long privateKb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::atol(line.c_str() + 8);
  }
  return 0;
}

// A row as a call of a tool makes it.
class CallRow {
 public:
  explicit CallRow(bool withSpan) {
    row_.collection = Collection::ToolCall;
    row_.session = "5d1f2a0e-7c7b-4b39-9d1c-1f6a0b8e2c11";
    row_.source = "example-provider";
    row_.body =
        R"({"tool":"roll_die","provider":"dice","callId":"1234567","outcome":"ok","durationMs":3})";
    row_.payloads[0] = {"arguments", Slice::borrow(R"({"sides":20,"times":3,"label":"attack"})")};
    row_.payloads[1] = {"result",
                        Slice::borrow(R"({"rolls":[7,12,19],"total":38,"note":"three dice"})")};
    if (withSpan) {
      row_.span.emplace().name = "execute_tool roll_die";
      row_.span->traceId = {1, 2, 3};
      row_.span->spanId = {4, 5, 6};
    }
  }
  [[nodiscard]] const Row& at(int64_t now) {
    row_.at = now;
    return row_;
  }

 private:
  Row row_;
};

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::current_path() / "bench-records-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file() const { return path_ + "/records.sqlite"; }

 private:
  std::string path_;
};

[[nodiscard]] records::StoreOptions optionsFor(const Folder& folder) {
  records::StoreOptions options;
  options.writer.file = folder.file();
  options.writer.clock = unixNow;
  options.writer.retention.maxBytes = int64_t{1} << 40;
  return options;
}

[[nodiscard]] uint64_t droppedRows(const records::Store& store) {
  uint64_t sum = 0;
  for (const uint64_t count : store.state().dropped) sum += count;
  return sum;
}

// Rows at a steady rate; the loop's thread sleeps between the milliseconds.
void paced(int seconds, bool withSpan) {
  const Folder folder;
  CallRow row(withSpan);
  auto store = std::make_unique<records::Store>(optionsFor(folder));
  (void)store->flush(std::chrono::seconds(5));
  const long before = privateKb();
  long most = before;
  double producer = 0;
  double worst = 0;
  const double cpuBefore = cpu(RUSAGE_SELF);
  const double threadBefore = cpu(RUSAGE_THREAD);
  const auto start = Clock::now();
  for (int ms = 0; ms < seconds * 1000; ++ms) {
    std::this_thread::sleep_until(start + std::chrono::milliseconds(ms));
    const int64_t now = unixNow();
    const auto begun = Clock::now();
    for (int i = 0; i < kPerMillisecond; ++i) store->append(row.at(now));
    const double took = secondsSince(begun);
    producer += took;
    worst = std::max(worst, took);
    if (ms % 100 == 0) most = std::max(most, privateKb());
  }
  const double wall = secondsSince(start);
  (void)store->flush(std::chrono::seconds(60));
  const double writer = cpu(RUSAGE_SELF) - cpuBefore - (cpu(RUSAGE_THREAD) - threadBefore);
  const double rows = static_cast<double>(seconds) * kPerSecond;
  std::printf(
      "{\"name\":\"%s\",\"rows\":%.0f,\"rowsPerSecond\":%.0f,\"dropped\":%llu,"
      "\"producerUs\":%.3f,\"worstMs\":%.3f,\"writerCpuUs\":%.3f,\"bytesPerRow\":%.0f,"
      "\"memoryKb\":%ld}\n",
      withSpan ? "paced-with-spans" : "paced", rows, rows / wall,
      static_cast<unsigned long long>(droppedRows(*store)), producer / rows * 1e6, worst * 1e3,
      writer / rows * 1e6, static_cast<double>(store->state().fileBytes) / rows, most - before);
}

// How long it takes until a row is durable.
void committed() {
  constexpr int kCommits = 500;
  const Folder folder;
  CallRow row(false);
  auto store = std::make_unique<records::Store>(optionsFor(folder));
  (void)store->flush(std::chrono::seconds(5));
  std::vector<double> times;
  for (int i = 0; i < kCommits; ++i) {
    const auto start = Clock::now();
    bool done = false;
    store->commit(row.at(unixNow()), [&done](bool /*durable*/) { done = true; });
    while (!done) {
      (void)store->flush(std::chrono::seconds(5));
      store->deliver();
    }
    times.push_back(secondsSince(start) * 1e3);
  }
  std::sort(times.begin(), times.end());
  std::printf("{\"name\":\"commit\",\"p50Ms\":%.3f,\"p99Ms\":%.3f}\n", times[kCommits / 2],
              times[kCommits * 99 / 100]);
}

// The last 100 of a million.
void queried() {
  const Folder folder;
  CallRow row(false);
  auto store = std::make_unique<records::Store>(optionsFor(folder));
  for (size_t i = 0; i < kMillion; ++i) {
    store->append(row.at(unixNow()));
    if (i % 5000 == 4999) (void)store->flush(std::chrono::seconds(60));
  }
  for (const char* query : {R"({"collection":"tool_call"})", "{}",
                            R"({"where":{"session":"5d1f2a0e-7c7b-4b39-9d1c-1f6a0b8e2c11"}})"}) {
    std::vector<double> times;
    size_t size = 0;
    for (int i = 0; i < 50; ++i) {
      bool done = false;
      const auto start = Clock::now();
      store->query(query, [&](const records::Answer& answer) {
        done = true;
        size = answer.good ? answer.text.size() : 0;
      });
      while (!done) {
        store->deliver();
        std::this_thread::yield();
      }
      times.push_back(secondsSince(start) * 1e3);
    }
    std::sort(times.begin(), times.end());
    std::printf(
        "{\"name\":\"query\",\"asks\":\"%zu bytes\",\"answerBytes\":%zu,\"p50Ms\":%.3f,"
        "\"maxMs\":%.3f}\n",
        std::string_view(query).size(), size, times[25], times.back());
  }
}

// The use of an open store that is idle.
void idle() {
  const Folder folder;
  const long before = privateKb();
  records::Store store(optionsFor(folder));
  CallRow row(false);
  for (int i = 0; i < 1000; ++i) store.append(row.at(unixNow()));
  (void)store.flush(std::chrono::seconds(5));
  std::this_thread::sleep_for(std::chrono::seconds(4));
  rusage first{};
  getrusage(RUSAGE_SELF, &first);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  rusage second{};
  getrusage(RUSAGE_SELF, &second);
  std::printf("{\"name\":\"idle\",\"memoryKb\":%ld,\"wakeups\":%ld}\n", privateKb() - before,
              second.ru_nvcsw - first.ru_nvcsw - 1);
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 10;
  idle();
  paced(seconds, false);
  paced(seconds, true);
  committed();
  queried();
  return 0;
}
