// Cycles. An input: how the bytes are cut into pieces, a matcher in a single line, and the bytes;
// after each byte 0x1E time passes. The pieces make no difference, nor does the search for
// literals; a cycle is bounded, and its text is valid UTF-8.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "lines/cycles.h"
#include "lines/splitter.h"
#include "targets.h"

namespace tap::fuzz {
namespace {

using namespace tap::lines;

// Besides the matcher of the input.
constexpr std::string_view kOwnMatcher = R"j({
  "runsOn": true, "begin": "^build", "end": "^waiting", "touched": "^reload (?<file>\\S+)",
  "red": "^(?<count>\\d+) errors", "green": "^passed", "none": "^no tests", "warning": "^warning",
  "file": "^FILE (?<file>\\S+)", "ran": "^ok (?<name>.*)", "omit": "^sub", "not": "fine",
  "failure": [
    {"at": "^FAIL (?<name>\\w+)", "until": "^end|^FAIL", "where": "at (?<file>\\S+):(?<line>\\d+)",
     "prefer": "^E", "start": "^>", "omit": "^#", "skip": "suite", "most": 2, "name": 1},
    {"at": "^(?<file>\\S+):(?<line>\\d+): (?<what>.*)", "more": "^ ", "what": 1, "needsMore": true},
    {"at": "error (?<code>E\\d+)", "before": 2, "where": "^at (?<file>\\w+)", "last": true}]
})j";

struct CycleRun {
  std::vector<std::string> cycles;
  bool isSlow = false;  // a match took too long: the outcome depends on the machine
};

std::string describe(const Cycle& cycle) {
  std::string text;
  const auto add = [&text](std::string_view part) {
    EXPECT_TRUE(utf8::isValid(part));
    EXPECT_LE(part.size(), CycleReader::kMaxLineBytes);
    text.append(part).push_back('\n');
  };
  for (const uint64_t number :
       {static_cast<uint64_t>(cycle.verdict), static_cast<uint64_t>(cycle.closedBy),
        static_cast<uint64_t>(cycle.isGuess), static_cast<uint64_t>(cycle.isRecognized),
        static_cast<uint64_t>(cycle.from), static_cast<uint64_t>(cycle.to), cycle.firstLine,
        cycle.lastLine, cycle.leftOut, cycle.ranLeftOut, cycle.warnings}) {
    add(std::to_string(number));
  }
  add(cycle.count);
  for (const std::string& name : cycle.ran) add(name);
  for (const Failure& one : cycle.failures) {
    for (const auto& part : {one.file, one.line, one.column, one.code, one.name, one.what})
      add(part);
    for (const std::string& line : one.lines) add(line);
    EXPECT_LE(one.lines.size(), kMaxFailureLines);
  }
  EXPECT_LE(cycle.failures.size(), CycleReader::kMaxFailures);
  EXPECT_LE(cycle.ran.size(), CycleReader::kMaxRan);
  EXPECT_LE(cycle.firstLine, cycle.lastLine);
  EXPECT_LE(cycle.from, cycle.to);
  return text;
}

CycleRun runCycles(std::string_view matcher, Search search, std::string_view bytes, size_t piece) {
  CycleReader reader(std::move(readMatcher(matcher).value()), search);
  LineSplitter splitter;
  CycleEffects effects;
  uint64_t number = 0;
  int64_t ms = 0;
  const auto now = [&ms] { return Now{Time(Millis(ms)), ms}; };
  Line line;
  reader.beginRun(1, now());
  while (!bytes.empty()) {
    std::string_view section = bytes.substr(0, bytes.find('\x1E'));
    bytes.remove_prefix(std::min(section.size() + 1, bytes.size()));
    while (!section.empty()) {
      // Memory of exactly the piece's size, gone before the next piece comes.
      const std::string part(section.substr(0, piece));
      section.remove_prefix(part.size());
      splitter.feed(part, now().steady);
      reader.enter(splitter.block());
      while (splitter.next(line)) reader.line(line, ++number, now(), effects);
    }
    ms += 350;
    reader.due(now(), effects);
  }
  while (splitter.end(line)) reader.line(line, ++number, now(), effects);
  reader.endRun(1, now(), effects);
  EXPECT_FALSE(reader.nextDeadline());
  CycleRun run;
  run.isSlow = !effects.slow.empty();
  for (const Cycle& cycle : effects.closed) run.cycles.push_back(describe(cycle));
  return run;
}

}  // namespace

void cycles(std::string_view input) {
  Bytes bytes(input);
  const size_t piece = 1 + bytes.below(64);
  const std::string_view given = bytes.until('\n');
  const bool isUsable = utf8::isValid(given) && readMatcher(given);
  const std::string_view matcher = isUsable ? given : kOwnMatcher;
  const std::string_view text = bytes.rest();
  const CycleRun whole = runCycles(matcher, Search::Always, text, text.size() + 1);
  const CycleRun pieces = runCycles(matcher, Search::Always, text, piece);
  const CycleRun plain = runCycles(matcher, Search::Never, text, text.size() + 1);
  if (whole.isSlow || pieces.isSlow || plain.isSlow) return;
  ASSERT_EQ(whole.cycles, pieces.cycles) << "in pieces of " << piece;
  ASSERT_EQ(whole.cycles, plain.cycles) << "without the search";
}

}  // namespace tap::fuzz
