// What is known of a program's output: where a build or a test run begins and ends, which lines say
// that it is red or green, and how a failure looks. As JSON from js/tools/*.yaml.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/line_pattern.h"
#include "base/result.h"
#include "base/time.h"

namespace tap::lines {

struct FailureRule {
  LinePattern at;  // named groups: file, line, col, code, name, what
  // The lines that belong to it: all that match `more`, or all before the first that matches
  // `until`. Neither: the line alone.
  std::optional<LinePattern> more;
  std::optional<LinePattern> until;
  std::optional<LinePattern> start;   // the useful part begins here
  std::optional<LinePattern> omit;    // lines that are left out
  std::optional<LinePattern> prefer;  // lines that are taken first
  std::optional<LinePattern> where;   // a later line with the place
  std::optional<LinePattern> skip;    // a block with such a line only repeats others
  uint32_t before = 0;                // lines before `at` that are looked at, too
  uint32_t most = 4;                  // lines
  bool whatFollows = false;           // the next line is the message
  bool nameGoesOn = false;            // the next line continues the name
  bool needsMore = false;             // without a further line it is no failure
  bool isLast = false;                // only where there is no other failure
};

struct ExitCodes {
  std::vector<int> green{0};
  std::vector<int> red;
  std::vector<int> none;
  std::vector<int> crash;
};

struct Matcher {
  bool runsOn = false;       // it does not end by itself: a cycle ends by its lines
  bool exitDecides = false;  // nobody knows whether it ends: its exit code counts, too
  bool clearBegins = true;
  bool endIsGreen = false;    // a cycle that ends without a failure is green
  bool quietIsGreen = false;  // a cycle without a failure for some time is green
  std::string root;           // of the project: a place inside wins over one outside
  std::optional<LinePattern> begin;
  std::optional<LinePattern> end;
  std::optional<LinePattern> touched;
  std::optional<LinePattern> ready;
  std::optional<LinePattern> red;
  std::optional<LinePattern> green;
  std::optional<LinePattern> none;
  std::optional<LinePattern> warning;
  std::optional<LinePattern> file;
  std::optional<LinePattern> ran;
  std::optional<LinePattern> omit;
  std::optional<LinePattern> ignored;  // `not`: lines that are no failure
  std::vector<FailureRule> failures;
  ExitCodes exit;
};

struct MatcherError {
  std::string field;    // such as failure[1].until
  std::string message;  // for people
};

inline constexpr uint32_t kMaxFailureLines = 24;
inline constexpr size_t kMaxFailureRules = 60;

// Unknown fields are left out. REQUIRES: the text is UTF-8.
[[nodiscard]] Result<Matcher, MatcherError> readMatcher(std::string_view json);

}  // namespace tap::lines
