// Lines and filters. An input: the number of patterns, the sizes of pieces, the patterns, each on a
// line, and the bytes. The pieces make no difference, nor does the search over blocks; lines are
// valid UTF-8 without control characters, and limited; so is the memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "lines/filter.h"
#include "lines/ring.h"
#include "lines/splitter.h"
#include "targets.h"

namespace tap::fuzz {

namespace {

using namespace tap::lines;

constexpr size_t kMaxFuzzText = 2 * LineText::kMaxLineBytes;

struct FilteredLine {
  std::string text;
  bool cut = false;
  int32_t rule = -1;
  friend bool operator==(const FilteredLine&, const FilteredLine&) = default;
};

struct Run {
  std::vector<FilteredLine> lines;
  bool isSlow = false;  // a match took too long: the outcomes depend on the machine
};

void expectGood(const FilteredLine& line) {
  ASSERT_TRUE(utf8::isValid(line.text));
  ASSERT_LE(line.text.size(), LineText::kMaxLineBytes + LineText::kMarkRoom);
  const auto isControl = [](char c) { return static_cast<uint8_t>(c) < 0x20 && c != '\t'; };
  ASSERT_FALSE(std::any_of(line.text.begin(), line.text.end(), isControl));
}

Run runSource(const std::vector<Rule>& rules, Search search, std::string_view bytes, size_t piece) {
  LineFilter filter(search);
  LineSplitter splitter;
  LineRing ring({8, 4096});
  Run run;
  EXPECT_FALSE(filter.setRules(rules));
  Line line;
  const auto take = [&] {
    const Decision decision = filter.decide(line, Time());
    run.lines.push_back({std::string(line.text), line.cut, decision.rule});
    expectGood(run.lines.back());
    Entry entry;
    entry.text = line.text;
    ring.append(entry);
  };
  while (!bytes.empty()) {
    // Memory of exactly the piece's size, gone before the next piece comes.
    const std::string now(bytes.substr(0, piece));
    bytes.remove_prefix(now.size());
    splitter.feed(now, Time());
    filter.enter(splitter.block());
    while (splitter.next(line)) take();
    EXPECT_LE(splitter.bytes(), LineText::kMaxLineBytes + 4 * LineText::kMarkRoom);
  }
  while (splitter.end(line)) take();
  EXPECT_LE(ring.bytes(), size_t{4096} + 8 * 64);
  for (size_t i = 0; i < filter.size(); ++i) run.isSlow |= filter.counts(i).tooSlow > 0;
  return run;
}

}  // namespace

void lines(std::string_view input) {
  Bytes bytes(input);
  const uint32_t patterns = bytes.below(4);
  const size_t piece = 1 + bytes.below(64);
  // A few bytes cannot make a line that is cut, so a piece of the input is repeated.
  const size_t repeats = bytes.below(8) == 7 ? 400 : 1;
  std::vector<Rule> rules;
  for (uint32_t i = 0; i < patterns; ++i) {
    Rule rule;
    rule.match = std::string(bytes.until('\n'));
    rule.outcome = static_cast<FilterOutcome>(i);
    LineFilter alone;
    if (!alone.setRules({rule})) rules.push_back(std::move(rule));
  }
  std::string text;
  for (size_t i = 0; i < repeats && text.size() < kMaxFuzzText; ++i) text += bytes.rest();

  const Run whole = runSource(rules, Search::Always, text, text.size() + 1);
  const Run pieces = runSource(rules, Search::Always, text, piece);
  const Run plain = runSource(rules, Search::Never, text, text.size() + 1);
  if (whole.isSlow || pieces.isSlow || plain.isSlow) return;
  ASSERT_TRUE(whole.lines == pieces.lines) << "in pieces of " << piece;
  ASSERT_TRUE(whole.lines == plain.lines) << "without the search";
}

}  // namespace tap::fuzz
