#include "protocol/target.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace tap::protocol {
namespace {

ToolDefinition tool(const std::string& parameters) {
  return {"shot", {}, R"({"name":"shot","description":"d","parameters":)" + parameters + "}"};
}
std::string findParameters(const std::string& definition) {
  const auto found = json::find({json::Kind::Object, definition}, "parameters");
  return found ? std::string(found->raw) : "none";
}

// shows: P-INST-1
TEST(Target, IsAddedToTheProperties) {
  const std::string text = withTarget(
      tool(R"({"type":"object","properties":{"x":{"type":"number"}},"required":["x"]})"), "web");
  json::Scanner scanner;
  ASSERT_TRUE(scanner.scan(text).ok()) << text;
  EXPECT_EQ(
      findParameters(text),
      R"({"type":"object","required":["x"],"properties":{"x":{"type":"number"},"target":{"type":"string","description":"Which instance to use: an id from list_web_instances. Without it, the most recently active one."}}})");
}

TEST(Target, IsAddedWhereThereAreNoProperties) {
  for (const char* parameters : {R"({"type":"object","properties":{}})", R"({"type":"object"})"}) {
    const std::string text = withTarget(tool(parameters), "web");
    json::Scanner scanner;
    ASSERT_TRUE(scanner.scan(text).ok()) << text;
    EXPECT_EQ(findParameters(text).find(R"({"type":"object","properties":{"target":{)"), 0u)
        << text;
  }
}

TEST(Target, LeavesTheRestOfTheDefinition) {
  ToolDefinition definition = tool("{}");
  definition.json = R"({"name":"shot","description":"d","parameters":{},"timeout":5})";
  const std::string text = withTarget(definition, "web");
  EXPECT_EQ(text.find(R"({"name":"shot","description":"d","timeout":5,"parameters":{)"), 0u);
}

TEST(Target, IsNoticedWhereTheToolHasOneItself) {
  EXPECT_TRUE(declaresTarget(tool(R"({"type":"object","properties":{"target":{}}})")));
  EXPECT_TRUE(declaresTarget(tool(R"({"type":"object","properties":{"t\u0061rget":{}}})")));
  EXPECT_FALSE(declaresTarget(tool(R"({"type":"object","properties":{"x":{"target":1}}})")));
  EXPECT_FALSE(declaresTarget(tool("{}")));
}

// shows: P-INST-3
TEST(Target, IsTakenOutOfTheArguments) {
  const auto taken = [](std::string_view args) {
    const TargetedArgs split = takeTarget(args);
    return split.target + " " + split.args;
  };
  EXPECT_EQ(taken(R"({"a":1,"target":"tab","b":"x"})"), R"(tab {"a":1,"b":"x"})");
  EXPECT_EQ(taken(R"({"t\u0061rget":"tab"})"), "tab {}");
  EXPECT_EQ(taken(R"({"target":"one","target":"two"})"), "two {}");
  EXPECT_EQ(taken(R"({"a":{"target":"inner"}})"), R"( {"a":{"target":"inner"}})");
  EXPECT_EQ(taken(R"({"target":7})"), " {}");
  EXPECT_EQ(taken("{}"), " {}");
  EXPECT_EQ(taken(""), " {}");
}

TEST(Target, TheListsNameIsAToolName) {
  EXPECT_EQ(metaToolName("web"), "list_web_instances");
  EXPECT_EQ(metaToolName("my web.Größe"), "list_my_web_Gr____e_instances");
  EXPECT_LE(metaToolName(std::string(128, 'n')).size(), 64u);
  const std::string text = metaToolJson("we\"b");
  json::Scanner scanner;
  EXPECT_TRUE(scanner.scan(text).ok()) << text;
}

// shows: P-INST-6
TEST(Target, TheListsNameIsReservedWithWhatFollowsIt) {
  for (const char* name : {"list_web", "list_web_instances", "list_web_x", "list_web-x", "List_web",
                           "LIST_WEB_INSTANCES"}) {
    EXPECT_TRUE(isReservedList("web", name)) << name;
  }
  for (const char* name : {"list_webs", "list_we", "list_", "web", ""}) {
    EXPECT_FALSE(isReservedList("web", name)) << name;
  }
}

}  // namespace
}  // namespace tap::protocol
