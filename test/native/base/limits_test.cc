#include "base/limits.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tap {
namespace {

struct Overridden {
  Limits limits;
  std::vector<std::string> complaints;
};

Overridden with(const std::map<std::string, std::string, std::less<>>& environment) {
  Overridden result;
  result.limits = Limits::withOverrides(
      [&](std::string_view name) -> std::optional<std::string> {
        const auto at = environment.find(name);
        return at == environment.end() ? std::nullopt : std::optional(at->second);
      },
      result.complaints);
  return result;
}

// shows: P-LIMIT-13
TEST(Limits, EveryRowIsCompleteAndUnique) {
  std::set<std::string_view> names;
  std::set<std::string_view> variables;
  for (const LimitRow& row : kLimitTable) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(variables.insert(row.env).second) << row.env;
    EXPECT_EQ(row.env.substr(0, 4), "TAP_");
    EXPECT_GE(row.value, row.least) << row.name;
    EXPECT_FALSE(row.why.empty()) << row.name;
    EXPECT_TRUE(row.unit == "bytes" || row.unit == "ms" || row.unit == "count") << row.name;
  }
}

// shows: P-LIMIT-1
TEST(Limits, TheSpecifiedOnesHaveTheirValues) {
  const Limits limits;
  EXPECT_EQ(limits.bytes(Limit::ResultBytes), 5u * 1024 * 1024);
  EXPECT_EQ(limits.bytes(Limit::MessageBytes), 2u * 1024 * 1024);
  EXPECT_EQ(limits.count(Limit::ToolsPerProvider), 100u);
  EXPECT_EQ(limits.time(Limit::DebounceMs), Millis(200));
  EXPECT_EQ(limits.time(Limit::LiveDebounceMs), Millis(20));
  EXPECT_EQ(limits.time(Limit::LiveGatherMs), Millis(250));
  EXPECT_EQ(limits.time(Limit::ShutdownMs), Millis(10'000));
}

struct NumberedRow {
  int id;
};
using NumberedTable = std::array<NumberedRow, 3>;
static_assert(idsAreIndices(NumberedTable{{{0}, {1}, {2}}}));
static_assert(!idsAreIndices(NumberedTable{{{0}, {2}, {1}}}), "two rows are swapped");
static_assert(!idsAreIndices(NumberedTable{{{0}, {2}}}), "a row is missing");
static_assert(!idsAreIndices(NumberedTable{{{0}, {1}}}), "the last row is missing");

// shows: P-LIMIT-13
TEST(Limits, TheEnvironmentOverridesEachOfThem) {
  for (size_t i = 0; i < kLimitTable.size(); ++i) {
    const int64_t wanted = kLimitTable[i].value + 1;
    const Overridden result = with({{std::string(kLimitTable[i].env), std::to_string(wanted)}});
    EXPECT_TRUE(result.complaints.empty());
    for (size_t j = 0; j < kLimitTable.size(); ++j) {
      EXPECT_EQ(result.limits.get(static_cast<Limit>(j)), i == j ? wanted : kLimitTable[j].value);
    }
  }
}

TEST(Limits, AnOverrideIsAtLeastTheRowsLeast) {
  EXPECT_EQ(with({{"TAP_MAX_RESULT_BYTES", "1023"}}).limits.get(Limit::ResultBytes), 5 * kMegabyte);
  EXPECT_EQ(with({{"TAP_MAX_RESULT_BYTES", "1024"}}).limits.get(Limit::ResultBytes), 1024);
  EXPECT_EQ(with({{"TAP_MAX_RESULT_BYTES", "1025"}}).limits.get(Limit::ResultBytes), 1025);
  EXPECT_EQ(with({{"TAP_RELOAD_DEBOUNCE_MS", "0"}}).limits.get(Limit::DebounceMs), 0);
}

TEST(Limits, AnOverrideIsBoundedAbove) {
  EXPECT_EQ(with({{"TAP_GRACE_MS", "2000000000"}}).limits.get(Limit::GraceMs), 2'000'000'000);
  EXPECT_EQ(with({{"TAP_GRACE_MS", "2000000001"}}).limits.get(Limit::GraceMs), 30'000);
  EXPECT_EQ(with({{"TAP_MAX_CALLS", "1000000"}}).limits.get(Limit::CallsPerSession), 1'000'000);
  EXPECT_EQ(with({{"TAP_MAX_CALLS", "1000001"}}).limits.get(Limit::CallsPerSession), 1024);
  const auto result = [](const char* bytes) { return with({{"TAP_MAX_RESULT_BYTES", bytes}}); };
  EXPECT_EQ(result("268435456").limits.get(Limit::ResultBytes), 256 * kMegabyte);
  EXPECT_EQ(result("99999999999999999999999").limits.get(Limit::ResultBytes), 5 * kMegabyte);
  const Overridden tooMuch = result("268435457");
  EXPECT_EQ(tooMuch.limits.get(Limit::ResultBytes), 5 * kMegabyte);
  ASSERT_EQ(tooMuch.complaints.size(), 1u);
  EXPECT_NE(tooMuch.complaints[0].find("which is more than 268435456; using 5242880 bytes"),
            std::string::npos);
}

// shows: P-LIMIT-13
TEST(Limits, ComplainsAboutNonsenseAndGoesOn) {
  for (const char* text :
       {"many", "-1", "1.5", "10 ", " 10", "1e3", "0x10", "+5", "-99999999999999999999999"}) {
    const Overridden result = with({{"TAP_GRACE_MS", text}});
    EXPECT_EQ(result.limits.get(Limit::GraceMs), 30'000) << text;
    ASSERT_EQ(result.complaints.size(), 1u) << text;
    EXPECT_NE(result.complaints[0].find("TAP_GRACE_MS is \"" + std::string(text) + "\""),
              std::string::npos);
    EXPECT_NE(result.complaints[0].find("using 30000 ms"), std::string::npos);
  }
}

constexpr std::array kNoNumbers{"10s",
                                "-1",
                                "1e3",
                                "1.0",
                                " 5",
                                "5 ",
                                "0x10",
                                "NaN",
                                "nan",
                                "Infinity",
                                "-Infinity",
                                "+5",
                                "1_000",
                                "1,000",
                                "ten",
                                " ",
                                "\t",
                                "5\n",
                                "--5",
                                "\u0663",
                                "\xff",
                                "null",
                                "true",
                                "4294967296",
                                "1099511627776",
                                "9223372036854775807",
                                "9223372036854775808",
                                "18446744073709551616",
                                "99999999999999999999999999"};

// Every sort of value for every row: the result is the given number, or the default with a
// complaint, and never beyond the range of timers and sums.
// shows: P-LIMIT-13
TEST(Limits, EveryRowTakesOrRefusesEverySortOfValue) {
  constexpr int64_t kMaxTimer = (int64_t{1} << 31) - 1;
  for (size_t i = 0; i < kLimitTable.size(); ++i) {
    const LimitRow& row = kLimitTable[i];
    const auto inForce = [&](const std::string& text, size_t complaints) {
      const Overridden result = with({{std::string(row.env), text}});
      EXPECT_EQ(result.complaints.size(), complaints) << row.env << "=" << text;
      const LimitReading reading = readLimit(row, text);
      EXPECT_EQ(reading.wrong.empty(), complaints == 0);
      const int64_t value = result.limits.get(static_cast<Limit>(i));
      EXPECT_EQ(value, reading.value);
      EXPECT_GE(value, row.least);
      EXPECT_LE(value, row.unit == "ms" ? kMaxTimer - 100'000 : maxOverride(row));
      return value;
    };
    for (const char* text : kNoNumbers) {
      EXPECT_EQ(inForce(text, 1), row.value) << row.env << "=" << text;
    }
    EXPECT_EQ(inForce(std::string(100'000, '9'), 1), row.value);
    EXPECT_EQ(inForce(std::string("5\0", 2), 1), row.value);
    EXPECT_EQ(inForce("", 0), row.value);
    EXPECT_EQ(inForce(std::to_string(row.least), 0), row.least);
    EXPECT_EQ(inForce("000" + std::to_string(row.least), 0), row.least);
    EXPECT_EQ(inForce(std::to_string(maxOverride(row)), 0), maxOverride(row));
    EXPECT_EQ(inForce(std::to_string(maxOverride(row) + 1), 1), row.value);
    if (row.least == 0) continue;
    EXPECT_EQ(inForce(std::to_string(row.least - 1), 1), row.value);
  }
}

TEST(Limits, AComplaintShowsWhatItQuotes) {
  const Overridden result = with({{"TAP_GRACE_MS", "\x1b[2J" + std::string(500, 'x')}});
  ASSERT_EQ(result.complaints.size(), 1u);
  EXPECT_EQ(result.complaints[0].find(''), std::string::npos);
  EXPECT_LT(result.complaints[0].size(), 200u);
}

TEST(Limits, AnEmptyVariableIsNone) {
  const Overridden result = with({{"TAP_GRACE_MS", ""}});
  EXPECT_TRUE(result.complaints.empty());
  EXPECT_EQ(result.limits.get(Limit::GraceMs), 30'000);
}

}  // namespace
}  // namespace tap
