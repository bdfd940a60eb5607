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
  std::vector<std::string> ran;  // files and tests that passed
  bool isRecognized = false;     // a line of it was known
  std::optional<int> exitCode;
};

struct CycleEffects {
  std::optional<int64_t> opened;  // Unix ms; a cycle has begun with a line that says so
  std::vector<Cycle> closed;
  std::vector<std::string> slow;  // fields of the matcher, each once
};

class CycleReader {
 public:
  static constexpr size_t kMaxFailures = 50;
  static constexpr size_t kMaxBytes = size_t{64} * 1024;  // of all failures of a cycle
  static constexpr size_t kMaxLineBytes = 480;
  static constexpr size_t kMaxRan = 500;
  // Without a further line: after a summary; after failures alone; after a begin, where silence
  // means green.
  static constexpr Millis kSummaryTime{300};
  static constexpr Millis kFailureTime{2000};
  static constexpr Millis kQuietTime{2000};

  explicit CycleReader(Matcher matcher);

  void beginRun(uint32_t run, Now now);
  // `number` counts the lines of the run.
  void line(const Line& line, uint64_t number, Now now, CycleEffects& effects);
  // Without an exit code where a signal has ended it.
  void endRun(std::optional<int> exitCode, Now now, CycleEffects& effects);

  [[nodiscard]] std::optional<Time> nextDeadline() const;
  void due(Now now, CycleEffects& effects);

  // Memory that it holds, besides itself and its patterns.
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  // A failure whose lines are still coming.
  struct Block {
    FailureRule* rule = nullptr;  // in matcher_
    Failure failure;
    std::vector<bool> isPreferred;  // for each of its lines
    bool isWhatDue = false;
    bool isNameDue = false;
    bool isPlaceInside = false;
    bool hasMore = false;
    bool isSkipped = false;
  };

  void open(uint64_t number, bool isSaid, Now now, CycleEffects& effects);
  void close(CycleEnd by, std::optional<int> exitCode, Now now, CycleEffects& effects);
  [[nodiscard]] Verdict verdictAtEnd(CycleEnd by, std::optional<int> exitCode);
  void outside(std::string_view text, uint64_t number, Now now, CycleEffects& effects);
  [[nodiscard]] bool inBlock(std::string_view text);
  [[nodiscard]] bool beginBlock(std::string_view text, uint64_t number);
  void addToBlock(std::string_view text);
  void addLine(std::string_view text);
  void readPlace(std::string_view text);
  void endBlock();
  void remember(std::string_view text);
  void renewBudget(Time now);
  [[nodiscard]] bool readSummary(std::string_view text);
  [[nodiscard]] bool matches(std::optional<LinePattern>& pattern, std::string_view text);
  [[nodiscard]] bool isInside(std::string_view file) const;
  [[nodiscard]] std::optional<Time> quietDeadline() const;

  Matcher matcher_;
  bool looksBack_;
  Cycle cycle_;
  bool isOpen_ = false;
  bool isSaid_ = false;  // by a line, and not only by its first one
  bool hasSummary_ = false;
  bool hasOther_ = false;  // a line that is neither begin nor end
  std::optional<Block> block_;
  std::string file_;  // of the heading above
  std::deque<std::string> recent_;
  uint32_t run_ = 0;
  size_t bytes_ = 0;
  Time openedAt_;
  Time lastLineAt_;
  PatternBudget budget_{kBudget};
  Time budgetUntil_;
  bool isBudgetSpent_ = false;

  static constexpr std::chrono::nanoseconds kBudget = std::chrono::milliseconds(100);
};

}  // namespace tap::lines
