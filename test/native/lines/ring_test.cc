#include "lines/ring.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "lines/lines_rig.h"

namespace tap::lines {
namespace {

using protocol::FilterOutcome;

Entry makeEntry(std::string_view text, FilterOutcome outcome = FilterOutcome::Keep) {
  Entry entry;
  entry.text = text;
  entry.outcome = outcome;
  return entry;
}

std::vector<std::string> texts(const LineRing& ring, const LineRing::Query& query = {}) {
  std::vector<std::string> all;
  for (const Entry& entry : ring.query(query)) all.emplace_back(entry.text);
  return all;
}

TEST(LineRing, KeepsEntriesAsTheyAre) {
  LineRing ring;
  Entry entry = makeEntry("text", FilterOutcome::Inject);
  entry.metadata = "{}";
  entry.unixMillis = 5;
  entry.line = 7;
  entry.run = 2;
  entry.rule = 3;
  entry.source = Source::Stderr;
  EXPECT_EQ(ring.append(entry), 1U);
  EXPECT_EQ(ring.append(makeEntry("")), 2U);
  const auto entries = ring.query({});
  ASSERT_EQ(entries.size(), 2U);
  const Entry& kept = entries.front();
  EXPECT_EQ(kept.text, "text");
  EXPECT_EQ(kept.metadata, "{}");
  EXPECT_EQ(kept.number, 1U);
  EXPECT_EQ(kept.unixMillis, 5);
  EXPECT_EQ(kept.line, 7U);
  EXPECT_EQ(kept.run, 2U);
  EXPECT_EQ(kept.rule, 3);
  EXPECT_EQ(kept.source, Source::Stderr);
  EXPECT_EQ(kept.outcome, FilterOutcome::Inject);
}

TEST(LineRing, GivesTheLastSinceAndByOutcome) {
  LineRing ring;
  for (const auto* text : {"a", "b", "c", "d"}) {
    ring.append(makeEntry(text, text[0] == 'b' ? FilterOutcome::Inject : FilterOutcome::Keep));
  }
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts(ring), (Texts{"a", "b", "c", "d"}));
  EXPECT_EQ(texts(ring, {2, 0, FilterOutcome::Keep}), (Texts{"c", "d"}));
  EXPECT_EQ(texts(ring, {100, 3, FilterOutcome::Keep}), Texts{"d"});
  EXPECT_EQ(texts(ring, {100, 4, FilterOutcome::Keep}), Texts{});
  EXPECT_EQ(texts(ring, {1, 0, FilterOutcome::Surface}), Texts{"b"});
  EXPECT_EQ(ring.newest(), 4U);
}

TEST(LineRing, IsBoundedInEntries) {
  LineRing ring({3, 1000});
  for (int i = 1; i <= 5; ++i) ring.append(makeEntry(std::to_string(i)));
  EXPECT_EQ(texts(ring), (std::vector<std::string>{"3", "4", "5"}));
  EXPECT_EQ(ring.gone(), 2U);
}

TEST(LineRing, IsBoundedInBytes) {
  LineRing ring({1000, 10});
  for (const auto* text : {"aaaa", "bbbb", "cccc"}) ring.append(makeEntry(text));
  EXPECT_EQ(texts(ring), (std::vector<std::string>{"bbbb", "cccc"}));
  ring.append(makeEntry("dddddddddd"));
  EXPECT_EQ(texts(ring), std::vector<std::string>{"dddddddddd"});
  ring.append(makeEntry("eeeeeeeeeee"));
  EXPECT_EQ(texts(ring), std::vector<std::string>{""});
}

TEST(LineRing, TakesMemoryOnlyAsItIsNeeded) {
  LineRing ring;
  EXPECT_EQ(ring.bytes(), 0U);
  ring.append(makeEntry("a"));
  EXPECT_LE(ring.bytes(), 1024U);
  for (int i = 0; i < 100'000; ++i) ring.append(makeEntry(std::string(300, 'x')));
  EXPECT_LE(ring.bytes(), size_t{256} * 1024 + 1000 * 64);
}

// Against a plain list with the same bounds in number; in bytes it may keep fewer, never more.
TEST(LineRing, KeepsTheNewestWhateverTheirSizes) {
  Choices choices(3);
  for (int round = 0; round < 200; ++round) {
    const RingLimits limits{1 + choices.below(20), 1 + choices.below(20'000)};
    LineRing ring(limits);
    std::deque<std::string> all;
    for (int i = 0; i < 300; ++i) {
      const size_t most = choices.below(10) == 0 ? 6000 : 100;
      std::string text(choices.below(static_cast<uint32_t>(most)),
                       static_cast<char>('a' + choices.below(26)));
      ring.append(makeEntry(text));
      all.push_back(text.size() > limits.bytes ? "" : text);
      const auto kept = texts(ring, {1000, 0, FilterOutcome::Keep});
      ASSERT_GE(kept.size(), 1U);
      ASSERT_LE(kept.size(), limits.entries);
      ASSERT_TRUE(std::equal(kept.rbegin(), kept.rend(), all.rbegin()));
      size_t bytes = 0;
      for (const std::string& one : kept) bytes += one.size();
      ASSERT_LE(bytes, limits.bytes);
    }
  }
}

}  // namespace
}  // namespace tap::lines
