// The cycles of a build or a test run in a program's lines: each begins, and closes as red, green
// or neither, with the failures that its lines name.
//
// No I/O and no clock. Text of a program is data: a program can deceive about itself only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "lines/line_search.h"
#include "lines/matcher.h"
#include "lines/splitter.h"

namespace tap::lines {

// Nothing: it ran no tests. Crash: an exit code that is neither red nor green.
enum class Verdict : uint8_t { Unknown, Green, Red, Nothing, Crash };
enum class CycleEnd : uint8_t { Line, NextBegin, Quiet, Exit };

// From a program: not fenced. Fields that were not found are empty.
struct Failure {
  std::string file;
  std::string line;
  std::string column;
  std::string code;
  std::string name;
  std::string what;
  std::vector<std::string> lines;  // after the first
  uint64_t number = 0;             // of its first line in the run
  bool isLast = false;
};

struct Cycle {
  std::string part;  // of the output; "": all of it
  std::string tool;  // that reads the part
  Verdict verdict = Verdict::Unknown;
  CycleEnd closedBy = CycleEnd::Line;
  bool isGuess = false;  // green because no failure came
  int64_t from = 0;      // Unix ms
  int64_t to = 0;
  uint32_t run = 0;
  uint64_t firstLine = 0;
  uint64_t lastLine = 0;
  std::vector<Failure> failures;
  uint64_t leftOut = 0;  // failures
  uint64_t warnings = 0;
  std::string count;             // as the summary line has it
  std::vector<std::string> ran;  // files and tests that passed, or were loaded again
  uint64_t ranLeftOut = 0;
  bool isRecognized = false;  // a line of it was known
  std::optional<int> exitCode;
};

struct CycleEffects {
  std::optional<int64_t> opened;  // Unix ms; a cycle has begun with a line that says so
  std::vector<Cycle> closed;
  std::vector<std::string> slow;  // fields of the matcher, each once: slow lines do not match
};

class CycleReader {
 public:
  static constexpr size_t kMaxFailures = 50;
  static constexpr size_t kMaxBytes = size_t{64} * 1024;  // of all failures of a cycle
  static constexpr size_t kMaxLineBytes = 480;
  static constexpr size_t kMaxRan = 500;
  static constexpr size_t kMaxRanBytes = size_t{32} * 1024;
  // Without a further line: after a summary; after failures alone; where an end is to follow them.
  static constexpr Millis kSummaryTime{300};
  static constexpr Millis kFailureTime{2000};
  static constexpr Millis kEndTime{10'000};
  // After a begin, where silence means green.
  static constexpr Millis kQuietTime{2000};
  // After a summary or a failure, whatever other lines come.
  static constexpr Millis kMaxWait{10'000};

  explicit CycleReader(Matcher matcher, Search search = Search::Automatic);

  void beginRun(uint32_t run, Now now);
  // The block that the next lines with `inBlock` lie in.
  void enter(std::string_view block) { search_.enter(block); }
  // `number` counts the lines of the run.
  void line(const Line& line, uint64_t number, Now now, CycleEffects& effects);
  // Without an exit code where a signal has ended it.
  void endRun(std::optional<int> exitCode, Now now, CycleEffects& effects);

  // Its program has ended. Where nobody knows its own exit code, failures decide.
  void endWithProgram(Now now, CycleEffects& effects);
  // Failures are read elsewhere; the exit code still counts.
  void ignoreFailures();
  // A line of the program about its parts.
  [[nodiscard]] bool isOmitted(std::string_view text) { return matches(matcher_.omit, text); }

  [[nodiscard]] std::optional<Time> nextDeadline() const;
  void due(Now now, CycleEffects& effects);

  // Memory that it holds, besides itself.
  [[nodiscard]] size_t bytes() const;

 private:
  // A failure whose lines are still coming.
  struct Block {
    FailureRule* rule = nullptr;  // in matcher_
    Failure failure;
    std::vector<bool> isPreferred;  // for each of its lines
    bool isWhatDue = false;
    bool isNameDue = false;
    bool hasPlace = false;
    bool isPlaceInside = false;
    bool isStarted = false;
    bool hasMore = false;
    bool isSkipped = false;
  };

  void findLiterals();
  void open(uint64_t number, Now now);
  void sayBegin(uint64_t number, Now now, CycleEffects& effects);
  void close(CycleEnd by, std::optional<int> exitCode, Now now, CycleEffects& effects);
  void report(CycleEnd by, std::optional<int> exitCode, Now now, CycleEffects& effects);
  [[nodiscard]] Verdict verdictAtEnd(CycleEnd by, std::optional<int> exitCode);
  [[nodiscard]] Verdict verdictAtExit(std::optional<int> exitCode) const;
  void readLine(const Line& line, uint64_t number, Now now, CycleEffects& effects);
  void outside(std::string_view text, uint64_t number, Now now);
  [[nodiscard]] bool inBlock(std::string_view text);
  [[nodiscard]] bool beginBlock(std::string_view text, uint64_t number);
  void addToBlock(std::string_view text);
  void addLine(std::string_view text);
  void readPlace(std::string_view text);
  void endBlock();
  void addFailure(Failure failure);
  void addRan(const FieldPattern& pattern, std::string_view text);
  void remember(std::string_view text);
  void renewBudget(Time now);
  [[nodiscard]] bool readSummary(std::string_view text);
  [[nodiscard]] bool matches(FieldPattern& pattern, std::string_view text);
  [[nodiscard]] bool matches(std::optional<FieldPattern>& pattern, std::string_view text) {
    return pattern && matches(*pattern, text);
  }
  [[nodiscard]] bool isInside(std::string_view file) const;
  [[nodiscard]] Time verdictDeadline() const;
  [[nodiscard]] bool isDue(Time now) const;

  Matcher matcher_;
  LineSearch search_;
  bool allHaveLiterals_ = true;  // of the patterns outside of blocks
  bool hasNoLiteral_ = false;    // the line
  size_t lookBack_ = 0;          // lines that a failure may look at
  Cycle cycle_;
  bool isRunning_ = false;
  bool isOpen_ = false;
  bool isSaid_ = false;     // by a line, and not only by its first one
  bool isTouched_ = false;  // said by `touched`
  bool hasSummary_ = false;
  bool hasRed_ = false;    // a line of `red`
  bool hasOther_ = false;  // a line that is neither begin nor end
  std::optional<Block> block_;
  std::string file_;  // of the heading above
  std::deque<std::string> recent_;
  uint32_t run_ = 0;
  size_t bytes_ = 0;     // of the cycle's failures
  size_t ranBytes_ = 0;  // of what ran
  Time openedAt_;
  Time lastLineAt_;
  Time knownAt_;  // the last summary or failure
  PatternBudget budget_{kBudget};
  Time budgetUntil_;
  std::vector<std::string> slow_;  // for the next effects

  static constexpr std::chrono::nanoseconds kBudget = std::chrono::milliseconds(100);
};

}  // namespace tap::lines
