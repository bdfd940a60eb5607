// What is known of a program's output: where a build or a test run begins and ends, which lines say
// that it is red or green, and how a failure looks. As JSON from js/tools/*.yaml.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/line_pattern.h"
#include "base/result.h"
#include "base/time.h"

namespace tap::lines {

// A pattern and the field that it stands in.
struct FieldPattern {
  LinePattern pattern;
  std::string field;         // such as failure[1].until
  bool hasLiterals = false;  // the reader searches for them
  bool wasSlow = false;      // a line took too long: it counts as not matched
};

struct FailureRule {
  FieldPattern at;  // named groups: file, line, col, code, name, what
  // The lines that belong to it: all that match `more`, or all before the first that matches
  // `until`. Neither: the line alone.
  std::optional<FieldPattern> more;
  std::optional<FieldPattern> until;
  std::optional<FieldPattern> start;   // the useful part begins with the first such line
  std::optional<FieldPattern> omit;    // lines that are left out
  std::optional<FieldPattern> prefer;  // lines that are taken first
  std::optional<FieldPattern> where;   // a later line with the place
  std::optional<FieldPattern> skip;    // a block with such a line only repeats others
  uint32_t before = 0;  // lines before `at` that belong to it; with `where` only their place does
  uint32_t most = 4;    // lines
  bool whatFollows = false;  // the next line is the message
  bool nameGoesOn = false;   // the next line continues the name
  bool needsMore = false;    // without a further line it is no failure
  bool isLast = false;       // only where there is no other failure
};

// Other codes than these are red, or a crash where `red` names some.
struct ExitCodes {
  std::vector<int> green{0};
  std::vector<int> red;
  std::vector<int> none;
  std::vector<int> crash;
};

// A tool that a program may run, with the matcher for its part of the output.
struct InnerTool {
  std::string name;
  std::optional<FieldPattern> first;  // a line that shows that it runs; none: any other tool
  std::string matcher;                // JSON, read when the tool is there
  bool isGiven = false;               // the command names it
};

struct Matcher {
  bool runsOn = false;       // it does not end by itself: a cycle ends by its lines
  bool exitDecides = false;  // nobody knows whether it ends: its exit code counts, too
  bool clearBegins = true;
  bool endIsGreen = false;    // a cycle that ends without a failure is green
  bool quietIsGreen = false;  // a cycle without a failure for some time is green
  std::string root;           // of the project: a place inside wins over one outside
  std::optional<FieldPattern> begin;
  std::optional<FieldPattern> end;
  std::optional<FieldPattern> touched;
  std::optional<FieldPattern> ready;
  std::optional<FieldPattern> red;
  std::optional<FieldPattern> green;
  std::optional<FieldPattern> none;
  std::optional<FieldPattern> warning;
  std::optional<FieldPattern> file;
  std::optional<FieldPattern> ran;
  std::optional<FieldPattern> omit;
  std::optional<FieldPattern> ignored;   // `not`: lines that are no failure
  std::optional<FieldPattern> prefix;    // groups `who`: the part of the line; `rest`: its text
  std::optional<FieldPattern> exitLine;  // a part has ended; groups `code`, `who`
  // Tools that it may run. Several programs may share them.
  std::shared_ptr<std::vector<InnerTool>> inner;
  std::vector<FailureRule> failures;
  ExitCodes exit;
};

struct MatcherError {
  std::string field;    // such as failure[1].until
  std::string message;  // for people
};

// A JSON list of tools.
[[nodiscard]] Result<std::vector<InnerTool>, MatcherError> readInnerTools(std::string_view json);

inline constexpr uint32_t kMaxFailureLines = 24;
inline constexpr size_t kMaxFailureRules = 60;
inline constexpr size_t kMaxInnerTools = 200;

// Unknown fields are left out. REQUIRES: the text is UTF-8.
[[nodiscard]] Result<Matcher, MatcherError> readMatcher(std::string_view json);

}  // namespace tap::lines
