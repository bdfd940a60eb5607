#include "lines/matcher.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tap::lines {
namespace {

// The wrong field; "none" if all are right.
std::string wrongField(std::string_view json) {
  const auto matcher = readMatcher(json);
  if (matcher) return "none";
  EXPECT_FALSE(matcher.error().message.empty());
  return matcher.error().field;
}

TEST(CyclesMatcher, ReadsItsFields) {
  const auto read = readMatcher(R"({
    "runsOn": true, "endMeans": "green", "root": "/p", "begin": "b", "green": "", "unknown": [1],
    "failure": [{"at": "a", "until": "u", "most": 24, "before": 3, "what": 1, "last": true}],
    "exit": {"none": [5], "crash": [2, 255]}})");
  ASSERT_TRUE(read);
  const Matcher& matcher = read.value();
  EXPECT_TRUE(matcher.runsOn);
  EXPECT_TRUE(matcher.clearBegins);
  EXPECT_TRUE(matcher.endIsGreen);
  EXPECT_FALSE(matcher.quietIsGreen);
  EXPECT_EQ(matcher.root, "/p");
  EXPECT_TRUE(matcher.begin);
  EXPECT_FALSE(matcher.green) << "an empty pattern counts as absent";
  ASSERT_EQ(matcher.failures.size(), 1U);
  const FailureRule& rule = matcher.failures[0];
  EXPECT_EQ(rule.until->field, "failure[0].until");
  EXPECT_EQ(rule.most, 24U);
  EXPECT_EQ(rule.before, 3U);
  EXPECT_TRUE(rule.whatFollows);
  EXPECT_FALSE(rule.nameGoesOn);
  EXPECT_TRUE(rule.isLast);
  EXPECT_EQ(matcher.exit.green, std::vector<int>{0});
  EXPECT_EQ(matcher.exit.crash, (std::vector<int>{2, 255}));
}

TEST(CyclesMatcher, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(wrongField("{}"), "none");
  EXPECT_EQ(wrongField("[]"), "");
  EXPECT_EQ(wrongField("{"), "");
  EXPECT_EQ(wrongField(R"({"begin": 1})"), "begin");
  EXPECT_EQ(wrongField(R"({"red": "("})"), "red");
  EXPECT_EQ(wrongField(R"({"runsOn": "yes"})"), "runsOn");
  EXPECT_EQ(wrongField(R"({"endMeans": "red"})"), "endMeans");
  EXPECT_EQ(wrongField(R"({"failure": {}})"), "failure");
  EXPECT_EQ(wrongField(R"({"failure": [1]})"), "failure[0].at");
  EXPECT_EQ(wrongField(R"({"failure": [{"at": "a"}, {"until": "b"}]})"), "failure[1].at");
  EXPECT_EQ(wrongField(R"({"failure": [{"at": "a"}, {"at": "a", "until": "("}]})"),
            "failure[1].until");
  EXPECT_EQ(wrongField(R"({"failure": [{"at": "a", "most": 25}]})"), "failure[0].most");
  EXPECT_EQ(wrongField(R"({"failure": [{"at": "a", "before": 1.5}]})"), "failure[0].before");
  EXPECT_EQ(wrongField(R"({"exit": []})"), "exit");
  EXPECT_EQ(wrongField(R"({"exit": {"red": 1}})"), "exit.red");
  EXPECT_EQ(wrongField(R"({"exit": {"red": [256]}})"), "exit.red");
  EXPECT_EQ(wrongField(R"({"red": "(", "failure": 1})"), "red") << "the first mistake";
}

TEST(CyclesMatcher, BoundsItsLists) {
  std::string rules = R"({"at": "a"})";
  for (size_t i = 1; i < kMaxFailureRules; ++i) rules += R"(, {"at": "a"})";
  EXPECT_EQ(wrongField("{\"failure\": [" + rules + "]}"), "none");
  EXPECT_EQ(wrongField("{\"failure\": [" + rules + R"(, {"at": "a"}]})"), "failure");
  std::string codes = "1";
  for (int i = 2; i <= 21; ++i) codes += ", " + std::to_string(i);
  EXPECT_EQ(wrongField(R"({"exit": {"red": [)" + codes + "]}}"), "exit.red");
}

}  // namespace
}  // namespace tap::lines
