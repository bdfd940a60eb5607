#include "base/limits.h"

#include <gtest/gtest.h>

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

TEST(Limits, TheSpecifiedOnesHaveTheirValues) {
  const Limits limits;
  EXPECT_EQ(limits.bytes(Limit::ResultBytes), 5u * 1024 * 1024);
  EXPECT_EQ(limits.bytes(Limit::MessageBytes), 2u * 1024 * 1024);
  EXPECT_EQ(limits.count(Limit::ToolsPerProvider), 100u);
  EXPECT_EQ(limits.time(Limit::DebounceMs), Millis(200));
  EXPECT_EQ(limits.time(Limit::ShutdownMs), Millis(10'000));
}

TEST(Limits, EachRowHasTheNameOfItsEnumerator) {
  EXPECT_EQ(kLimitTable[static_cast<size_t>(Limit::ResultBytes)].name, "result-bytes");
  EXPECT_EQ(kLimitTable[static_cast<size_t>(Limit::NameBytes)].name, "name-bytes");
  EXPECT_EQ(kLimitTable[static_cast<size_t>(Limit::CallTimeoutMs)].name, "call-timeout-ms");
  EXPECT_EQ(kLimitTable[static_cast<size_t>(Limit::ReloadFloorMaxMs)].name, "reload-floor-max-ms");
  EXPECT_EQ(kLimitTable[static_cast<size_t>(Limit::LinkDeadMs)].name, "link-dead-ms");
}

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
  EXPECT_EQ(with({{"TAP_GRACE_MS", "1099511627776"}}).limits.get(Limit::GraceMs), int64_t{1} << 40);
  EXPECT_EQ(with({{"TAP_GRACE_MS", "1099511627777"}}).limits.get(Limit::GraceMs), 30'000);
  const auto result = [](const char* bytes) { return with({{"TAP_MAX_RESULT_BYTES", bytes}}); };
  EXPECT_EQ(result("268435456").limits.get(Limit::ResultBytes), 256 * kMegabyte);
  EXPECT_EQ(result("99999999999999999999999").limits.get(Limit::ResultBytes), 5 * kMegabyte);
  const Overridden tooMuch = result("268435457");
  EXPECT_EQ(tooMuch.limits.get(Limit::ResultBytes), 5 * kMegabyte);
  ASSERT_EQ(tooMuch.complaints.size(), 1u);
  EXPECT_NE(tooMuch.complaints[0].find("which is more than 268435456; using 5242880 bytes"),
            std::string::npos);
}

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

TEST(Limits, AnEmptyVariableIsNone) {
  const Overridden result = with({{"TAP_GRACE_MS", ""}});
  EXPECT_TRUE(result.complaints.empty());
  EXPECT_EQ(result.limits.get(Limit::GraceMs), 30'000);
}

}  // namespace
}  // namespace tap
