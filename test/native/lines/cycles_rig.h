// A program whose output is read as cycles, with a clock.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lines/source.h"

namespace tap::lines {

// A compiler that watches: it says when it begins and ends.
inline constexpr std::string_view kCompiler = R"j({
  "runsOn": true, "begin": "^build$", "end": "^waiting$", "red": "^(?<count>[1-9]\\d*) errors?$",
  "green": "^0 errors$", "none": "^no files$", "warning": "^warning: ",
  "failure": [{"at": "^(?<file>\\S+):(?<line>\\d+):(?<col>\\d+): (?<code>E\\d+) (?<what>.*)"}]
})j";
// Tests that say neither: a heading for each file, a line for each test, and a summary.
inline constexpr std::string_view kTests = R"j({
  "runsOn": true, "file": "^FILE (?<file>\\S+)", "ran": "^ok (?<name>.*)",
  "failure": [{"at": "^not ok (?<name>.*)"}], "red": "^failed: (?<count>\\d+)",
  "green": "^passed", "none": "^no tests", "ready": "^serving"
})j";

class Program {
 public:
  explicit Program(std::string_view matcher) {
    auto read = readMatcher(matcher);
    if (read) {
      source_.setMatcher(std::move(read.value()));
    } else {
      ADD_FAILURE() << read.error().field << ": " << read.error().message;
    }
    begin();
  }

  [[nodiscard]] Now now() const { return {Time(Millis(ms_)), 1'000'000 + ms_}; }
  void begin() {
    source_.setRun(++run_);
    source_.beginRun(now(), effects_);
  }
  void feed(std::string_view bytes, Source from = Source::Stdout) {
    source_.feed(bytes, from, now(), effects_);
  }
  void lines(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) feed(line + "\n");
  }
  // Lets time pass, with all that is due on the way.
  void pass(int64_t ms) {
    const int64_t until = ms_ + ms;
    for (auto next = source_.nextDeadline(); next && next->time_since_epoch().count() <= until;
         next = source_.nextDeadline()) {
      ms_ = std::max<int64_t>(ms_, next->time_since_epoch().count());
      source_.due(now(), effects_);
    }
    ms_ = until;
  }
  void passLate(int64_t ms) { ms_ += ms; }
  void exit(std::optional<int> code) {
    RunEnd end;
    end.exitCode = code;
    end.isExpected = true;
    source_.endRun(end, now(), effects_);
  }

  [[nodiscard]] const std::vector<Cycle>& closed() const { return effects_.cycles.closed; }
  [[nodiscard]] const CycleEffects& effects() const { return effects_.cycles; }
  [[nodiscard]] const LineSource& source() const { return source_; }
  // The last cycle: no other is new.
  Cycle take() {
    std::vector<Cycle> all = std::exchange(effects_.cycles.closed, {});
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Cycle{} : std::move(all.back());
  }

 private:
  LineSource source_;
  SourceEffects effects_;
  int64_t ms_ = 0;
  uint32_t run_ = 0;
};

inline std::string_view verdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::Unknown:
      return "unknown";
    case Verdict::Green:
      return "green";
    case Verdict::Red:
      return "red";
    case Verdict::Nothing:
      return "none";
    case Verdict::Crash:
      return "crash";
  }
  return "";
}

inline std::string_view endName(CycleEnd end) {
  switch (end) {
    case CycleEnd::Line:
      return "line";
    case CycleEnd::NextBegin:
      return "begin";
    case CycleEnd::Quiet:
      return "quiet";
    case CycleEnd::Exit:
      return "exit";
  }
  return "";
}

// file:line:column code [name] what | lines; absent parts are left out
inline std::string failureText(const Failure& failure) {
  std::string text = failure.file;
  const auto add = [&text](std::string_view before, const std::string& part) {
    if (!part.empty()) text.append(text.empty() ? "" : before).append(part);
  };
  add(":", failure.line);
  add(":", failure.column);
  add(" ", failure.code);
  add(" ", failure.name.empty() ? "" : "[" + failure.name + "]");
  add(" ", failure.what);
  for (const std::string& line : failure.lines) text += " | " + line;
  return text;
}

// verdict by end: failures
inline std::string cycleText(const Cycle& cycle) {
  std::string text(verdictName(cycle.verdict));
  if (cycle.isGuess) text += "?";
  text.append(" ").append(endName(cycle.closedBy));
  for (const Failure& failure : cycle.failures) text += "\n" + failureText(failure);
  return text;
}

}  // namespace tap::lines
