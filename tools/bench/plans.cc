// The times of the engine of plans, by the clock. stdout: an object of JSON.
//
//   bench_plans text <nodes>                    the plan's text, for rivals
//   bench_plans read <nodes> <times>            ms of each: JSON text to a checked plan
//   bench_plans run <nodes>                     ns of an input, from the plan's beginning to its
//   end bench_plans journal <file> <group> <entries> <sync>   entries/s, each group after the one
//   before bench_plans memory <nodes> <succeeded>      bytes of the heap, once so many have
//   succeeded
#include <malloc.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "plan_rig.h"
#include "records/plan_journal.h"

namespace tap::bench {
namespace {

using Clock = std::chrono::steady_clock;

double nanosSince(Clock::time_point began) {
  return std::chrono::duration<double, std::nano>(Clock::now() - began).count();
}

void read(size_t nodes, int times) {
  const std::string text = benchPlanText(nodes);
  std::printf("{\"bytes\":%zu,\"ms\":[", text.size());
  for (int i = 0; i < times; ++i) {
    plan::Problems problems;
    const auto began = Clock::now();
    const auto made = plan::Plan::make(text, "{}", 0, problems);
    const double nanos = nanosSince(began);
    if (!made) std::exit(1);
    std::printf("%s%.3f", i > 0 ? "," : "", nanos / 1e6);
  }
  std::printf("]}\n");
}

void run(size_t nodes) {
  PlanHost host(nodes);
  size_t steps = 0;
  size_t entries = 0;
  const auto began = Clock::now();
  while (host.step()) {
    ++steps;
    entries += host.batch().entries.size();
  }
  const double nanos = nanosSince(began);
  if (!host.plan().ended()) std::exit(1);
  std::printf("{\"inputs\":%zu,\"entries\":%zu,\"ns\":%.1f}\n", steps, entries,
              nanos / static_cast<double>(steps));
}

// The loop of a host: deliver() reports the writes.
class Journal {
 public:
  explicit Journal(const std::string& file) {
    records::PlanJournal::Options options;
    options.file = file;
    options.wake = [this] {
      const std::lock_guard lock(mutex_);
      woken_ = true;
      changed_.notify_one();
    };
    options.onTrouble = [](const std::string& why) {
      if (!why.empty()) std::exit(1);
    };
    journal_ = std::make_unique<records::PlanJournal>(std::move(options));
    if (!journal_->open().empty()) std::exit(1);
  }

  // Until all of them are written.
  void append(std::vector<records::JournalLine> lines, bool sync) {
    bool isWritten = false;
    journal_->append(std::move(lines), sync, [&isWritten] { isWritten = true; });
    while (!isWritten) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return woken_; });
        woken_ = false;
      }
      (void)journal_->deliver();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  std::unique_ptr<records::PlanJournal> journal_;
};

void journal(const std::string& file, size_t group, size_t entries, bool sync) {
  PlanHost host(entries / 3);
  std::vector<std::string> texts;
  while (texts.size() < entries && host.step()) {
    for (const plan::Batch::Line& line : host.batch().entries) texts.push_back(line.text);
  }
  Journal journal(file);
  const auto began = Clock::now();
  for (size_t at = 0; at < texts.size(); at += group) {
    std::vector<records::JournalLine> lines;
    for (size_t i = at; i < std::min(at + group, texts.size()); ++i) {
      lines.push_back({std::string(kPlan), texts[i]});
    }
    journal.append(std::move(lines), sync);
  }
  std::printf("{\"perSecond\":%.0f}\n",
              static_cast<double>(texts.size()) * 1e9 / nanosSince(began));
}

size_t heapBytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

void memory(size_t nodes, size_t succeeded) {
  const size_t before = heapBytes();
  const PlanHost* const leaked = [&] {
    auto* const host = new PlanHost(nodes);
    while (host->plan().count(plan::NodeStatus::Succeeded) < succeeded && host->step()) {
    }
    return host;
  }();
  std::printf("{\"bytes\":%zu}\n", heapBytes() - before);
  (void)leaked;
}

int measure(const std::vector<std::string>& args) {
  const auto number = [&args](size_t at) { return std::strtoul(args[at].c_str(), nullptr, 10); };
  if (args.size() == 2 && args[0] == "text") {
    std::printf("%s\n", benchPlanText(number(1)).c_str());
  } else if (args.size() == 3 && args[0] == "read") {
    read(number(1), static_cast<int>(number(2)));
  } else if (args.size() == 2 && args[0] == "run") {
    run(number(1));
  } else if (args.size() == 5 && args[0] == "journal") {
    journal(args[1], number(2), number(3), number(4) > 0);
  } else if (args.size() == 3 && args[0] == "memory") {
    memory(number(1), number(2));
  } else {
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace tap::bench

int main(int argc, char** argv) {
  return tap::bench::measure(std::vector<std::string>(argv + 1, argv + argc));
}
