#include "protocol/tool_definition.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/utf8.h"

namespace tap::protocol {
namespace {

constexpr std::string_view kEmptySchema = R"({"type":"object","properties":{}})";

struct Read {
  std::vector<ToolDefinition> tools;
  std::string problem;
};

Read read(const std::string& array, const Limits& limits = {}) {
  json::Scanner scanner;
  Problem problem;
  auto root = scanner.scan(array);
  EXPECT_TRUE(root.ok()) << array;
  if (!root) return {};
  return {readTools(root.value(), "hello.tools", limits, problem), problem.text()};
}

// A tool named t with these further fields.
Read readOne(const std::string& more) {
  return read(R"([{"name":"t")" + more + "}]");
}

// shows: P-TOOL-1
TEST(ToolName, HasOneTo64CharactersOfTheHostsSet) {
  EXPECT_TRUE(isToolName("a"));
  EXPECT_TRUE(isToolName("Greet-me_2"));
  EXPECT_TRUE(isToolName(std::string(63, 'a')));
  EXPECT_TRUE(isToolName(std::string(64, 'a')));
  EXPECT_FALSE(isToolName(std::string(65, 'a')));
  EXPECT_FALSE(isToolName(""));
  for (int c = 0; c < 256; ++c) {
    const bool allowed = std::isalnum(c) != 0 || c == '_' || c == '-';
    EXPECT_EQ(isToolName(std::string("x") + static_cast<char>(c)), allowed && c < 128) << c;
  }
}

// shows: P-TOOL-1
TEST(ToolDefinition, IsReadyToBeSentOn) {
  const Read one = read(
      R"([{"name":"greet","description":"Say \"hello\"","timeout":1500,"extra":true,
           "parameters":{"type":"object", "properties":{"name":{"type":"string"}}}}])");
  ASSERT_EQ(one.problem, "");
  ASSERT_EQ(one.tools.size(), 1u);
  EXPECT_EQ(one.tools[0].name, "greet");
  EXPECT_EQ(one.tools[0].timeout, Millis(1500));
  EXPECT_EQ(one.tools[0].json,
            R"({"name":"greet","description":"Say \"hello\"",)"
            R"("parameters":{"type":"object", "properties":{"name":{"type":"string"}}},)"
            R"("timeout":1500})");
}

// shows: P-TOOL-1
TEST(ToolDefinition, MayLeaveOutAllButTheName) {
  const Read one = readOne("");
  ASSERT_EQ(one.problem, "");
  EXPECT_EQ(one.tools[0].json,
            R"({"name":"t","description":"","parameters":)" + std::string(kEmptySchema) + "}");
  EXPECT_FALSE(one.tools[0].timeout);
  EXPECT_EQ(readOne(R"(,"description":null,"parameters":null,"timeout":null)").tools[0].json,
            one.tools[0].json);
}

// shows: P-TOOL-1
TEST(ToolDefinition, RefusesBadNamesAndSaysWhere) {
  EXPECT_EQ(read(R"([{"name":"ok"},{"name":"not ok"}])").problem,
            "hello.tools[1].name: expected 1 to 64 characters from [a-zA-Z0-9_-], got \"not ok\"");
  EXPECT_EQ(read(R"([{}])").problem, "hello.tools[0].name: expected a string, but it is missing");
  EXPECT_EQ(read(R"([{"name":7}])").problem,
            "hello.tools[0].name: expected a string, got a number");
  EXPECT_NE(read(R"([{"name":""}])").problem, "");
  EXPECT_NE(read(R"([{"name":")" + std::string(65, 'a') + "\"}]").problem, "");
  EXPECT_EQ(read(R"([{"name":")" + std::string(64, 'a') + "\"}]").problem, "");
}

// shows: P-TOOL-6
TEST(ToolDefinition, RefusesANameThatStandsTwice) {
  EXPECT_EQ(read(R"([{"name":"a"},{"name":"b"},{"name":"\u0061"}])").problem,
            "hello.tools[2].name: \"a\" stands twice in this list");
}

TEST(ToolDefinition, RefusesElementsThatAreNoObjects) {
  for (const char* element : {"1", "null", "\"greet\"", "[]"}) {
    EXPECT_EQ(read("[" + std::string(element) + "]").problem.substr(0, 36),
              "hello.tools[0]: expected an object, ");
  }
}

// shows: P-TOOL-2
TEST(ToolDefinition, ReplacesAnEmptySchema) {
  EXPECT_NE(readOne(R"(,"parameters":{ })").tools[0].json.find(kEmptySchema), std::string::npos);
}

// shows: P-TOOL-2
TEST(ToolDefinition, TakesObjectSchemasAsTheyAre) {
  for (const char* schema :
       {R"({"type":"object"})", R"({ "type" : "object" , "properties" : { } })",
        R"({"type":"object","properties":{"a":{"type":"string"}},"required":["a"]})",
        R"({"type":"object","additionalProperties":false,"$defs":{}})"}) {
    const Read one = readOne(R"(,"parameters":)" + std::string(schema));
    ASSERT_EQ(one.problem, "") << schema;
    EXPECT_NE(one.tools[0].json.find(schema), std::string::npos);
  }
}

// shows: P-TOOL-2
TEST(ToolDefinition, RefusesAnyOtherSchema) {
  for (const char* schema :
       {"[]", "\"object\"", "1", "true", R"({"properties":{}})", R"({"type":"string"})",
        R"({"type":["object"]})", R"({"type":null})", R"({"oneOf":[]})",
        R"({"type":"object","properties":[]})", R"({"type":"object","required":"a"})"}) {
    const std::string problem = readOne(R"(,"parameters":)" + std::string(schema)).problem;
    EXPECT_EQ(problem.substr(0, 25), "hello.tools[0].parameters") << schema;
  }
}

TEST(ToolDefinition, ComplaintsAreValidTextEvenWhereTheyAreCut) {
  std::string type = "\"";
  for (int i = 0; i < 100; ++i) type += "ü";
  EXPECT_TRUE(utf8::isValid(readOne(R"(,"parameters":{"type":)" + type + "\"}").problem));
  EXPECT_TRUE(utf8::isValid(read(R"([{"name":)" + type + "\"}]").problem));
}

// shows: P-TOOL-3
TEST(ToolDefinition, CutsADescriptionAtTheCapBetweenCharacters) {
  const auto described = [](size_t bytes, const std::string& tail = "") {
    const std::string json =
        readOne(R"(,"description":")" + std::string(bytes, 'd') + tail + "\"").tools[0].json;
    const size_t from = json.find("\"description\":\"") + 15;
    return json.substr(from, json.find('"', from) - from);
  };
  EXPECT_EQ(described(4095).size(), 4095u);
  EXPECT_EQ(described(4096).size(), 4096u);
  EXPECT_EQ(described(4097).size(), 4096u);
  EXPECT_EQ(described(4095, "ü").size(), 4095u);
  EXPECT_EQ(described(4094, "ü").size(), 4096u);
}

TEST(ToolDefinition, RefusesADescriptionThatIsNoText) {
  EXPECT_EQ(readOne(R"(,"description":5)").problem,
            "hello.tools[0].description: expected a string, got a number");
}

// shows: P-TOOL-4
TEST(ToolDefinition, ATimeoutIsAWholeNumberOfMillisecondsUpToAnHour) {
  for (const char* good : {"1", "3600000", "1e3", "2.0"}) {
    EXPECT_EQ(readOne(R"(,"timeout":)" + std::string(good)).problem, "") << good;
  }
  for (const char* bad : {"0", "-1", "3600001", "1.5", "1e999", "\"100\"", "{}"}) {
    EXPECT_NE(readOne(R"(,"timeout":)" + std::string(bad)).problem, "") << bad;
  }
}

}  // namespace
}  // namespace tap::protocol
