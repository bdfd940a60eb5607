// The parts of a program's output: the tools that it runs, each with cycles of its own. A prefix
// names the part of a line; without one, tools are recognized by their first lines, and each reads
// all lines.
//
// No I/O and no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/line_pattern.h"
#include "base/time.h"
#include "lines/cycles.h"
#include "lines/matcher.h"
#include "lines/splitter.h"

namespace tap::lines {

class PartReader {
 public:
  static constexpr size_t kMaxParts = 50;  // one more has all others
  static constexpr std::string_view kOthers = "others";
  // In which a tool is recognized.
  static constexpr size_t kFirstLines = 50;
  static constexpr size_t kMaxNameBytes = 60;

  explicit PartReader(Matcher matcher);

  // As those of CycleReader. Cycles have the name of their part; that of the program itself is "".
  void beginRun(uint32_t run, Now now);
  void enter(std::string_view block);
  void line(const Line& line, uint64_t number, Now now, CycleEffects& effects);
  void endRun(std::optional<int> exitCode, Now now, CycleEffects& effects);
  [[nodiscard]] std::optional<Time> nextDeadline() const;
  void due(Now now, CycleEffects& effects);
  [[nodiscard]] size_t bytes() const;

 private:
  // Lines that were read before their tool was known.
  struct FirstLine {
    std::string text;
    uint64_t number = 0;
    bool cleared = false;
  };
  struct Part {
    std::string name;
    std::string tool;
    std::unique_ptr<CycleReader> reader;
    bool isRunning = false;
    bool isRecognized = false;
    std::vector<FirstLine> first;
  };

  void partLine(std::string_view who, const Line& line, uint64_t number, Now now,
                CycleEffects& effects);
  [[nodiscard]] bool endPart(std::string_view who, std::string_view text, Now now,
                             CycleEffects& effects);
  void recognizeLine(const Line& line, uint64_t number, Now now, CycleEffects& effects);
  [[nodiscard]] const InnerTool* recognize(std::string_view text);
  [[nodiscard]] Part& findPart(std::string_view who, Now now);
  [[nodiscard]] bool start(Part& part, const InnerTool& tool, Now now);
  void begin(Part& part, Now now);
  static void replay(Part& part, const std::vector<FirstLine>& lines, Now now,
                     CycleEffects& effects);
  template <class Work>
  static void withName(const Part& part, CycleEffects& effects, Work work);

  std::optional<FieldPattern> prefix_;
  std::optional<FieldPattern> exitLine_;
  std::shared_ptr<std::vector<InnerTool>> inner_;
  bool runsOn_;
  std::string root_;
  CycleReader own_;
  std::vector<Part> parts_;
  std::vector<FirstLine> first_;  // without a prefix
  uint32_t run_ = 0;
  PatternBudget budget_{kBudget};
  Time budgetUntil_;

  static constexpr std::chrono::nanoseconds kBudget = std::chrono::milliseconds(100);
};

}  // namespace tap::lines
