// The cost of lines: `bench_lines write <MB>` writes a log to stdout, `bench_lines pour <lines>` so
// many lines of it each second until the reader ends, and `bench_lines tap|cycles|getline <set>`
// reads it from stdin and holds it to the patterns of the set: as rules, or as the patterns of a
// build. `bench_lines source <file>` reads it as an emitter; the file has the matcher of a watcher
// and its tools, a line each, or an empty line and the patterns of rules. A line of JSON: bytes,
// hits, own CPU seconds. tools/bench/lines-node.mjs is the same in Node.js.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/json_writer.h"
#include "lines/cycles.h"
#include "lines/filter.h"
#include "lines/ring.h"
#include "lines/source.h"
#include "lines/splitter.h"

namespace {

using namespace tap;
using namespace tap::lines;

constexpr size_t kBuffer = size_t{64} * 1024;
constexpr size_t kLineSize = 99;

[[nodiscard]] double cpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// --- the log ---

constexpr std::array<std::string_view, 10> kHits{
    "ERROR in handler",           "FATAL: cannot go on",
    "panic: pointer was nil",     "Traceback (most recent",
    "connection refused",         "out of memory",
    "status=503 from peer",       "timed out after 30 s",
    "permission denied for root", "build failed"};
constexpr std::array<std::string_view, 8> kWords{
    "GET /api/v1/items", "POST /api/v1/carts", "cache warm", "user logged in",
    "job scheduled",     "config loaded",      "heartbeat",  "GET /health/live"};
constexpr std::array<std::string_view, 4> kForeign{
    "caf\u00E9", "\u041C\u043E\u0441\u043A\u0432\u0430", "na\u00EFve", "\u6771\u4EAC"};

class Log {
 public:
  void appendLine(std::string& block) {
    std::string line = "2026-11-22T10:15:" + std::to_string(10 + below(50)) + "." +
                       std::to_string(100 + below(900)) + "Z INFO [worker-" +
                       std::to_string(10 + below(90)) + "] ";
    if (below(100) == 0) line.append(kHits[below(kHits.size())]).append(" ");
    if (below(50) == 0) line.append(kForeign[below(kForeign.size())]).append(" ");
    line.append(kWords[below(kWords.size())])
        .append(" id=")
        .append(std::to_string(below(1'000'000)));
    while (line.size() < kLineSize - 1)
      line += line.size() % 8 == 0 ? ' ' : static_cast<char>('a' + below(20));
    line.resize(kLineSize - 1);
    while ((static_cast<uint8_t>(line.back()) & 0x80) != 0) line.back() = '.';
    block.append(line).append("\n");
  }

 private:
  [[nodiscard]] uint32_t below(uint32_t bound) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<uint32_t>(state_ >> 33) % bound;
  }
  uint64_t state_ = 42;
};

void writeLog(size_t megabytes) {
  Log log;
  std::string block;
  for (uint64_t left = uint64_t{megabytes} * 1'000'000; left >= kLineSize; left -= kLineSize) {
    log.appendLine(block);
    if (block.size() < kBuffer) continue;
    std::fwrite(block.data(), 1, block.size(), stdout);
    block.clear();
  }
  std::fwrite(block.data(), 1, block.size(), stdout);
}

// So many lines each second, in equal pieces, of a log that was made before: it takes little CPU.
void pourLog(size_t linesPerSecond) {
  constexpr size_t kPieces = 200;  // of a second
  const size_t lines = std::max<size_t>(linesPerSecond / kPieces, 1);
  Log log;
  std::array<std::string, kPieces> pieces;
  for (std::string& piece : pieces) {
    for (size_t i = 0; i < lines; ++i) log.appendLine(piece);
  }
  auto next = std::chrono::steady_clock::now();
  for (size_t i = 0;; i = (i + 1) % kPieces) {
    const std::string& piece = pieces[i];
    if (std::fwrite(piece.data(), 1, piece.size(), stdout) < piece.size()) return;
    if (std::fflush(stdout) != 0) return;
    next += std::chrono::microseconds(1'000'000 / kPieces);
    std::this_thread::sleep_until(next);
  }
}

// --- the rules: a file with a pattern in each line ---

[[nodiscard]] std::vector<std::string> readPatterns(const char* file) {
  std::ifstream in(file);
  std::vector<std::string> patterns;
  for (std::string line; std::getline(in, line);) patterns.push_back(line);
  if (patterns.empty()) std::abort();
  return patterns;
}

void report(uint64_t bytes, uint64_t lines, uint64_t hits) {
  std::printf("{\"bytes\":%llu,\"lines\":%llu,\"hits\":%llu,\"cpuSeconds\":%.6f}\n",
              static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(lines),
              static_cast<unsigned long long>(hits), cpuSeconds());
}

void withTap(const std::vector<std::string>& patterns) {
  std::vector<Rule> rules;
  for (const std::string& pattern : patterns) {
    Rule rule;
    rule.match = pattern;
    rules.push_back(rule);
  }
  Rule others;
  others.outcome = FilterOutcome::Drop;
  rules.push_back(others);
  LineFilter filter;
  if (filter.setRules(rules)) std::abort();
  LineSplitter splitter;
  LineRing ring;
  uint64_t bytes = 0;
  uint64_t lines = 0;
  static std::array<char, kBuffer> buffer;
  Line line;
  const auto take = [&] {
    ++lines;
    const Decision decision = filter.decide(line, Time());
    if (decision.outcome == FilterOutcome::Drop) return;
    Entry entry;
    entry.text = line.text;
    ring.append(entry);
  };
  for (ssize_t size = 0; (size = read(STDIN_FILENO, buffer.data(), buffer.size())) > 0;) {
    bytes += static_cast<uint64_t>(size);
    splitter.feed({buffer.data(), static_cast<size_t>(size)}, Time());
    filter.enter(splitter.block());
    while (splitter.next(line)) take();
  }
  if (splitter.end(line)) take();
  report(bytes, lines, ring.newest());
}

// The first patterns say where a build begins and the like; the others are failures.
constexpr std::array<std::string_view, 10> kFields{"begin",   "end",  "red", "green", "none",
                                                   "warning", "file", "ran", "omit",  "not"};

[[nodiscard]] Matcher matcherWith(const std::vector<std::string>& patterns) {
  std::string text;
  json::Writer writer(text);
  writer.beginObject();
  for (size_t i = 0; i < kFields.size(); ++i) {
    writer.key(kFields[i]).string(patterns.at(i));
  }
  writer.key("failure").beginArray();
  for (size_t i = kFields.size(); i < patterns.size(); ++i) {
    writer.beginObject().key("at").string("(?:" + patterns[i] + ")(?<what>.*)").endObject();
  }
  writer.endArray().endObject();
  auto matcher = readMatcher(text);
  if (!matcher) std::abort();
  return std::move(matcher.value());
}

void withCycles(const std::vector<std::string>& patterns) {
  CycleReader reader(matcherWith(patterns));
  LineSplitter splitter;
  CycleEffects effects;
  uint64_t bytes = 0;
  uint64_t lines = 0;
  static std::array<char, kBuffer> buffer;
  Line line;
  reader.beginRun(1, {});
  for (ssize_t size = 0; (size = read(STDIN_FILENO, buffer.data(), buffer.size())) > 0;) {
    bytes += static_cast<uint64_t>(size);
    splitter.feed({buffer.data(), static_cast<size_t>(size)}, Time());
    reader.enter(splitter.block());
    while (splitter.next(line)) reader.line(line, ++lines, {}, effects);
  }
  while (splitter.end(line)) reader.line(line, ++lines, {}, effects);
  reader.endRun(1, {}, effects);
  const Cycle& cycle = effects.closed.at(0);
  report(bytes, lines, cycle.failures.size() + cycle.leftOut);
}

// An emitter as a whole, and its rows, which are dropped.
void withSource(const char* file) {
  std::ifstream in(file);
  std::string matcher;
  std::string tools;
  LineSource source;
  SourceEffects effects;
  std::getline(in, matcher);
  if (matcher.empty()) {
    std::vector<Rule> rules;
    for (Rule rule; std::getline(in, rule.match);) {
      rule.outcome = FilterOutcome::Surface;
      rules.push_back(rule);
    }
    if (source.setRules(rules, {}, effects)) std::abort();
  } else if (std::getline(in, tools)) {
    auto read = readMatcher(matcher);
    auto inner = readInnerTools(tools);
    if (!read || !inner) std::abort();
    read.value().inner = std::make_shared<std::vector<InnerTool>>(std::move(inner.value()));
    source.setMatcher(std::move(read.value()));
  }
  static std::array<char, kBuffer> buffer;
  source.setRun(1);
  source.beginRun({}, effects);
  for (ssize_t size = 0; (size = read(STDIN_FILENO, buffer.data(), buffer.size())) > 0;) {
    source.feed({buffer.data(), static_cast<size_t>(size)}, Source::Stdout, {}, effects);
    effects = {};
  }
  source.endRun({0, {}, true, false}, {}, effects);
  report(source.counters().bytes, source.counters().lines, source.counters().kept);
}

// The simplest way to write it.
void withGetline(const std::vector<std::string>& patterns) {
  std::vector<pcre2_code*> codes;
  for (const std::string& pattern : patterns) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    codes.push_back(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                  PCRE2_UTF, &error, &offset, nullptr));
    if (codes.back() == nullptr) std::abort();
    pcre2_jit_compile(codes.back(), PCRE2_JIT_COMPLETE);
  }
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  std::ios::sync_with_stdio(false);
  uint64_t bytes = 0;
  uint64_t lines = 0;
  std::vector<std::string> hits;
  for (std::string line; std::getline(std::cin, line);) {
    bytes += line.size() + 1;
    ++lines;
    const auto matches = [&](const pcre2_code* code) {
      return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(line.data()), line.size(), 0, 0, data,
                         nullptr) >= 0;
    };
    if (std::ranges::any_of(codes, matches)) hits.push_back(line);
  }
  report(bytes, lines, hits.size());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 2 ? argv[1] : "";
  if (how == "write") {
    writeLog(static_cast<size_t>(std::atoi(argv[2])));
  } else if (how == "pour") {
    pourLog(static_cast<size_t>(std::atoi(argv[2])));
  } else if (how == "tap") {
    withTap(readPatterns(argv[2]));
  } else if (how == "cycles") {
    withCycles(readPatterns(argv[2]));
  } else if (how == "source") {
    withSource(argv[2]);
  } else if (how == "getline") {
    withGetline(readPatterns(argv[2]));
  } else {
    return 2;
  }
  return 0;
}
