#include "plan/plan_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "plan/graph.h"
#include "plan/plan.h"
#include "plan/plan_rig.h"

namespace tap::plan {
namespace {

// All problems, each on a line.
std::string listProblems(std::string_view text) {
  Problems problems;
  (void)Plan::make(text, "{}", 0, problems);
  std::string out;
  for (const Problem& problem : problems.list()) {
    out += (out.empty() ? "" : "\n") + problem.path + ": " + problem.message;
  }
  return out;
}

std::string problemOfNode(std::string_view members) {
  return listProblems(planText({R"({"id":"a",)" + std::string(members) + "}"}));
}

TEST(ReadPlan, TakesEveryFieldOfTheFormat) {
  constexpr std::string_view kText = R"({
    "name": "split the parser", "repo": ".", "baseBranch": "main", "targetBranch": "feature/parser",
    "maxParallel": 8, "cleanUpSuccessfulWork": false, "startPaused": true,
    "budget": {"aiCredits": 300.5, "tokens": 2000000}, "env": {"CI": "1"}, "fetch": true,
    "copy": [".env"], "link": ["node_modules"], "setup": "npm ci", "gitignore": true,
    "sandbox": "on", "allowedFolders": ["out", "/data"], "readFolders": ["a/../b"],
    "allowedUrls": ["example.com", "*.Example.org", "xn--bcher-kva.example"],
    "caches": ["npm", "pnpm", "yarn", "pip", "uv", "cargo", "go", "maven", "gradle", "ccache"],
    "nodes": [{
      "id": "lexer", "name": "Split the lexer", "group": "parser/front", "dependencies": [],
      "prechecks": "npm run typecheck",
      "work": {"type": "agent", "instructions": "Task", "model": "gpt-5", "maxTurns": 40,
               "allowedFolders": ["../f"], "allowedUrls": ["docs.example.com"], "tools": ["t"]},
      "postchecks": {"type": "shell", "command": "npm test", "shell": "bash"},
      "expectsNoChanges": true, "timeout": "30m", "retry": {"max": 1, "from": "start"},
      "cwd": "./packages//web/",
      "sandbox": "off", "allowedFolders": [], "allowedUrls": ["*"], "caches": null
    }, {"id": "b", "work": {"type": "process", "executable": "make", "args": ["-j"], "env": {"A": "b"}}},
    {"id": "c", "work": {"type": "tool", "tool": "x", "args": {"y": 1}}, "timeout": 90}]})";
  Problems problems;
  const PlanSpec plan = readPlan(kText, problems);
  EXPECT_EQ(problems.json(), R"({"problems":[]})");
  EXPECT_EQ(plan.name, "split the parser");
  EXPECT_EQ(plan.targetBranch, "feature/parser");
  EXPECT_EQ(plan.maxParallel, 8);
  EXPECT_TRUE(plan.startPaused);
  EXPECT_EQ(plan.budget.aiCredits, 300.5);
  EXPECT_EQ(plan.budget.tokens, 2000000);
  EXPECT_EQ(plan.head.find("nodes\":"), std::string::npos);
  ASSERT_EQ(plan.nodes.size(), 3U);
  const NodeSpec& node = plan.nodes[0];
  EXPECT_EQ(node.name, "Split the lexer");
  EXPECT_EQ(node.group, "parser/front");
  EXPECT_EQ(node.prechecks.json, R"({"type":"shell","command":"npm run typecheck"})");
  EXPECT_EQ(node.work.kind, WorkKind::Agent);
  EXPECT_EQ(node.postchecks.kind, WorkKind::Shell);
  EXPECT_TRUE(node.expectsNoChanges);
  EXPECT_EQ(node.timeout, Millis(30 * 60'000));
  EXPECT_EQ(node.maxRetries, 1U);
  EXPECT_TRUE(node.retriesFromStart);
  EXPECT_EQ(node.cwd, "packages/web");
  EXPECT_EQ(node.sandbox, (SandboxSpec{"\"off\"", "[]", "", R"(["*"])", ""}));
  EXPECT_NE(plan.head.find(R"("allowedFolders":["out", "/data"])"), std::string::npos);
  EXPECT_EQ(plan.nodes[1].name, "b") << "the id stands for a name";
  EXPECT_EQ(plan.nodes[2].timeout, Millis(90'000));
}

TEST(ReadPlan, ATextIsACommandOrWhatAnAgentDoes) {
  Problems problems;
  const PlanSpec plan = readPlan(planText({nodeText("a", {}, R"("work":"@agent fix \"it\"")"),
                                           nodeText("b", {}, R"("work":"@agents are not meant")")}),
                                 problems);
  ASSERT_FALSE(problems.any());
  EXPECT_EQ(plan.nodes[0].work.json, R"({"type":"agent","instructions":"fix \"it\""})");
  EXPECT_EQ(plan.nodes[1].work.kind, WorkKind::Shell);
}

TEST(ReadPlan, AnUnknownFieldComesWithASuggestion) {
  EXPECT_EQ(problemOfNode(R"("dependancies":["b"])").substr(0, 75),
            "nodes[0].dependancies: is not a field here. Did you mean \"dependencies\"? Th");
  EXPECT_EQ(listProblems(R"({"name":"x","maxParalel":2,"nodes":[{"id":"a"}]})").substr(0, 65),
            "maxParalel: is not a field here. Did you mean \"maxParallel\"? Ther");
}

TEST(ReadPlan, AFieldOfAnotherToolComesWithOurs) {
  for (const std::string_view field : {"needs", "depends_on", "dependsOn", "after"}) {
    EXPECT_NE(problemOfNode("\"" + std::string(field) + "\":[\"b\"]").find("mean \"dependencies\""),
              std::string::npos)
        << field;
  }
  for (const std::string_view field : {"run", "script", "command", "cmd", "steps"}) {
    EXPECT_NE(problemOfNode("\"" + std::string(field) + "\":\"true\"").find("mean \"work\""),
              std::string::npos)
        << field;
  }
  EXPECT_NE(problemOfNode(R"("work":{"type":"shell","run":"true"})").find("mean \"command\""),
            std::string::npos);
}

TEST(ReadPlan, SaysAllThatIsWrongAtOnce) {
  EXPECT_EQ(listProblems(R"({"maxParallel":65,"nodes":[{"id":"a b"},{"work":7},)"
                         R"({"id":"c","dependencies":["d"]}]})"),
            "name: is missing: the purpose of the plan, in a few words\n"
            "maxParallel: expected a whole number from 1 to 64\n"
            "nodes[0].id: expected 1 to 64 letters, digits, - and _\n"
            "nodes[1].id: is missing: a short name, unique in the plan, such as \"lexer\"\n"
            "nodes[1].work: expected a command line or an object with a type, got 7; put quotes "
            "around a command\n"
            "nodes[2].dependencies[0]: there is no node \"d\". Did you mean \"c\"?");
}

TEST(ReadPlan, RefusesNulsWhereAProgramIsGivenThem) {
  constexpr std::string_view kWhy = "has a NUL character, which no program can be given";
  for (const auto& [members, place] : std::vector<std::pair<std::string, std::string>>{
           {R"("work":"echo a\u0000b")", "work"},
           {R"("work":{"type":"shell","command":"a\u0000"})", "work.command"},
           {R"("work":{"type":"process","executable":"a\u0000"})", "work.executable"},
           {R"("work":{"type":"process","executable":"a","args":["b","\u0000"]})", "work.args[1]"},
           {R"("work":{"type":"process","executable":"a","env":{"A":"\u0000"}})", "work.env.A"}}) {
    EXPECT_EQ(problemOfNode(members), "nodes[0]." + place + ": " + std::string(kWhy));
  }
  EXPECT_EQ(listProblems(R"({"name":"x","setup":"a\u0000","nodes":[{"id":"a","work":"a"}]})"),
            "setup: " + std::string(kWhy));
}

struct BadNode {
  const char* members;
  const char* problem;
};

TEST(ReadPlan, RefusesEachBadFieldOfANode) {
  const std::vector<BadNode> nodes{
      {R"("work":{"type":"bash"})", "nodes[0].work.type: expected process, shell, agent or tool"},
      {R"("work":{"command":"x"})", "nodes[0].work.type: expected process, shell, agent or tool"},
      {R"("work":{"type":"none"})", "nodes[0].work.type: expected process, shell, agent or tool"},
      {R"("work":{"type":"shell"})", "nodes[0].work.command: is missing: the command line to run"},
      {R"("work":{"type":"shell","command":"x","shell":"zsh"})",
       "nodes[0].work.shell: expected bash, sh, pwsh or cmd"},
      {R"("work":{"type":"process","executable":"x","args":[1]})",
       "nodes[0].work.args[0]: expected a text, got a number"},
      {R"("work":{"type":"process","executable":"x","env":{"A=B":"1"}})",
       "nodes[0].work.env.A=B: is not the name of a variable"},
      {R"("work":{"type":"process","executable":"x","env":{"A":1}})",
       "nodes[0].work.env.A: expected a text, got a number; put it in quotes"},
      {R"("work":{"type":"agent"})",
       "nodes[0].work.instructions: is missing: the task of the agent"},
      {R"("work":{"type":"agent","instructions":"x","maxTurns":0})",
       "nodes[0].work.maxTurns: expected a whole number from 1 to 10000"},
      {R"("work":{"type":"tool","args":{}})",
       "nodes[0].work.tool: is missing: the name of a provider's tool"},
      {R"("work":"  ")", "nodes[0].work: must not be empty; leave the field out instead"},
      {R"("work":"@agent")", "nodes[0].work: has no instructions: write them after \"@agent \""},
      {R"("group":"a//b")",
       "nodes[0].group: expected names of 1 to 64 bytes with / between them, such as "
       "\"parser/front\""},
      {R"("group":"../b")",
       "nodes[0].group: expected names of 1 to 64 bytes with / between them, such as "
       "\"parser/front\""},
      {R"("group":"a")", "nodes[0].group: \"a\" is the id of a node, too: choose another group"},
      {R"("group":"a/b")", "nodes[0].group: \"a\" is the id of a node, too: choose another group"},
      {R"("timeout":"0s")",
       "nodes[0].timeout: expected 1s to 7d, such as \"30m\", or a number of seconds"},
      {R"("timeout":"soon")",
       "nodes[0].timeout: expected 1s to 7d, such as \"30m\", or a number of seconds"},
      {R"("retry":{"max":11})", "nodes[0].retry.max: expected a whole number from 0 to 10"},
      {R"("retry":{"from":"work"})", "nodes[0].retry.from: expected failed-phase or start"},
      {R"("dependencies":["a"])", "nodes[0].dependencies[0]: a node cannot depend on itself"},
      {R"("name":"a\nb")", "nodes[0].name: must be a single line without control characters"},
      {R"("cwd":"/srv")", "nodes[0].cwd: is absolute: name a folder from the root of the worktree"},
      {R"("cwd":"a\\..\\b")",
       "nodes[0].cwd: must not have .. in it: name a folder below the root of the worktree"},
      {R"("cwd":"a/.Git/b")", "nodes[0].cwd: leads into git's own folder"},
      {R"("cwd":"a\nb")", "nodes[0].cwd: must be a single line without control characters"},
      {R"("expectsNoChanges":"no")",
       "nodes[0].expectsNoChanges: expected true or false, got a text"},
  };
  for (const BadNode& node : nodes) EXPECT_EQ(problemOfNode(node.members), node.problem);
}

TEST(ReadPlan, RefusesEachBadFieldOfThePlan) {
  const auto headProblem = [](std::string_view more) {
    return listProblems(planText({nodeText("a")}, more));
  };
  EXPECT_EQ(headProblem(R"("targetBranch":"--force",)"),
            "targetBranch: is not the name of a branch");
  EXPECT_EQ(headProblem(R"("baseBranch":"a b",)"), "baseBranch: is not the name of a branch");
  EXPECT_EQ(headProblem(R"("budget":{"aiCredits":0},)"),
            "budget.aiCredits: expected a number above 0");
  EXPECT_EQ(headProblem(R"("budget":{"tokens":1.5},)").substr(0, 44),
            "budget.tokens: expected a whole number from ");
  EXPECT_EQ(headProblem(R"("env":[],)"), "env: expected an object, got a list");
  EXPECT_EQ(listProblems(R"({"name":"x","nodes":[]})"), "nodes: must have a node");
  EXPECT_EQ(listProblems(R"({"name":"x"})"), "nodes: is missing: a list of nodes");
  EXPECT_EQ(listProblems("[]"), ": expected an object, got a list");
  EXPECT_EQ(listProblems("{").substr(0, 25), ": is not JSON at byte 1: ");
}

TEST(ReadPlan, RefusesEachBadFieldOfTheSandbox) {
  const std::string url = "is a URL: name its host only, such as example.com";
  const std::string address = "is an address: name a host, such as example.com";
  const std::string host = "is not a host, such as example.com";
  const std::string star =
      "may have * only as its first part, such as *.example.com, or be * alone";
  const std::string local = "is always the node itself: leave it out";
  const std::string leaves = "leads out of the checkout: name an absolute folder";
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"("sandbox":true)", "sandbox: expected a text, got true or false"},
      {R"("sandbox":"none")", "sandbox: expected on or off"},
      {R"("sandbox":"")", "sandbox: must not be empty"},
      {R"("allowedFolders":"a")", "allowedFolders: expected a list, got a text"},
      {R"("allowedFolders":[1])", "allowedFolders[0]: expected a text, got a number"},
      {R"("allowedFolders":["a",""])", "allowedFolders[1]: must not be empty"},
      {R"("allowedFolders":[".."])", "allowedFolders[0]: " + leaves},
      {R"("allowedFolders":["a/../../b"])", "allowedFolders[0]: " + leaves},
      {R"("allowedFolders":["..\\b"])", "allowedFolders[0]: " + leaves},
      {R"("readFolders":["~/x"])",
       "readFolders[0]: begins with ~, which stands for no folder here: write it out"},
      {R"("readFolders":["a\u0000"])",
       "readFolders[0]: has a NUL character, which no program can be given"},
      {R"("readFolders":["a\ud800"])", "readFolders[0]: has a character that is not UTF-8"},
      {R"("readFolders":["a\nb"])",
       "readFolders[0]: must be a single line without control characters"},
      {R"("readFolders":["a/b","./a//b/"])", "readFolders[1]: is a duplicate"},
      {R"("readFolders":["/a","/a/."])", "readFolders[1]: is a duplicate"},
      {R"("allowedUrls":"*")", "allowedUrls: expected a list, got a text"},
      {R"("allowedUrls":["https://example.com"])", "allowedUrls[0]: " + url},
      {R"("allowedUrls":["example.com/a"])", "allowedUrls[0]: has a path: name the host only"},
      {R"("allowedUrls":["example.com:443"])", "allowedUrls[0]: has a port: name the host only"},
      {R"("allowedUrls":["10.0.0.1"])", "allowedUrls[0]: " + address},
      {R"("allowedUrls":["127.1"])", "allowedUrls[0]: " + address},
      {R"("allowedUrls":["0X7F000001"])", "allowedUrls[0]: " + address},
      {R"("allowedUrls":["::1"])", "allowedUrls[0]: " + address},
      {R"("allowedUrls":["[::1]"])", "allowedUrls[0]: " + address},
      {R"("allowedUrls":["a.*.com"])", "allowedUrls[0]: " + star},
      {R"("allowedUrls":["*example.com"])", "allowedUrls[0]: " + star},
      {R"("allowedUrls":["*.*.com"])", "allowedUrls[0]: " + star},
      {R"("allowedUrls":["*."])", "allowedUrls[0]: " + host},
      {R"("allowedUrls":["example.com."])", "allowedUrls[0]: " + host},
      {R"("allowedUrls":["-a.com"])", "allowedUrls[0]: " + host},
      {R"("allowedUrls":["me@example.com"])", "allowedUrls[0]: " + host},
      {R"("allowedUrls":[""])", "allowedUrls[0]: " + host},
      {R"("allowedUrls":["LocalHost"])", "allowedUrls[0]: " + local},
      {R"("allowedUrls":["*.localhost"])", "allowedUrls[0]: " + local},
      {R"("allowedUrls":["bücher.example"])",
       "allowedUrls[0]: has letters that are not ASCII: write it in punycode, such as "
       "xn--bcher-kva.example"},
      {R"("allowedUrls":["example.com","Example.com"])", "allowedUrls[1]: is a duplicate"},
      {R"("caches":["nmp"])",
       "caches[0]: is no cache that tap knows. Did you mean \"npm\"? There are: npm, pnpm, yarn, "
       "pip, uv, cargo, go, maven, gradle, ccache"},
      {R"("caches":["npm","npm"])", "caches[1]: is a duplicate"},
  };
  for (const auto& [members, problem] : cases) {
    EXPECT_EQ(problemOfNode(members), "nodes[0]." + problem);
    EXPECT_EQ(listProblems(planText({nodeText("a")}, members + ",")), problem);
    if (!members.starts_with(R"("allowedUrls")")) continue;
    EXPECT_EQ(problemOfNode(R"("postchecks":{"type":"agent","instructions":"x",)" + members + "}"),
              "nodes[0].postchecks." + problem);
  }
  const auto long_host = [](size_t labels) {
    std::string text;
    for (size_t i = 0; i < labels; ++i) text += "abcdefg.";
    return problemOfNode(R"("allowedUrls":[")" + text + "com\"]");
  };
  EXPECT_EQ(long_host(31), "");
  EXPECT_EQ(long_host(32), "nodes[0].allowedUrls[0]: is longer than 253 bytes");
  EXPECT_EQ(problemOfNode(R"("allowedUrls":[")" + std::string(64, 'a') + ".com\"]"),
            "nodes[0].allowedUrls[0]: " + host);
  EXPECT_EQ(problemOfNode(R"("readFolders":["/)" + std::string(4096, 'a') + "\"]"),
            "nodes[0].readFolders[0]: is longer than 4096 bytes");
}

TEST(ReadPlan, HasAtMostAThousandHostsAndAHundredFolders) {
  const auto problem = [](std::string_view field, std::string_view before, size_t count) {
    std::string list;
    for (size_t i = 0; i < count; ++i) {
      list += (i == 0 ? "\"" : ",\"") + std::string(before) + std::to_string(i) + "\"";
    }
    return problemOfNode("\"" + std::string(field) + "\":[" + list + "]");
  };
  EXPECT_EQ(problem("allowedUrls", "h", 1000), "");
  EXPECT_EQ(problem("allowedUrls", "h", 1001), "nodes[0].allowedUrls: has more than 1000 entries");
  EXPECT_EQ(problem("readFolders", "f", 100), "");
  EXPECT_EQ(problem("readFolders", "f", 101), "nodes[0].readFolders: has more than 100 entries");
}

TEST(ReadPlan, RefusesDuplicatesAndShowsACycle) {
  EXPECT_EQ(listProblems(planText({nodeText("a"), nodeText("a")})),
            "nodes[1].id: \"a\" is the id of nodes[0], too");
  EXPECT_EQ(listProblems(planText({nodeText("a"), nodeText("b", {"a", "a"})})),
            "nodes[1].dependencies[1]: \"a\" is a duplicate");
  EXPECT_EQ(listProblems(planText({nodeText("r"), nodeText("a", {"c", "r"}), nodeText("b", {"a"}),
                                   nodeText("c", {"b"}), nodeText("d", {"c"})})),
            "nodes[1].dependencies: a cycle, each waiting for the next: a → c → b → a");
  EXPECT_EQ(listProblems(planText({nodeText("a", {"b"}), nodeText("b", {"a"})})),
            "nodes[0].dependencies: a cycle, each waiting for the next: a → b → a\n"
            "nodes: there is no root: every node has dependencies");
  EXPECT_EQ(
      listProblems(planText({nodeText("r"), nodeText("a", {"b", "x"}), nodeText("b", {"a"})})),
      "nodes[1].dependencies[1]: there is no node \"x\". Did you mean \"a\"?\n"
      "nodes[1].dependencies: a cycle, each waiting for the next: a → b → a");
}

TEST(ReadPlan, RefusesMoreNodesThanThereMayBe) {
  std::vector<std::string> nodes;
  for (size_t i = 0; i <= kMaxNodes; ++i) nodes.push_back(nodeText("n" + std::to_string(i)));
  EXPECT_EQ(listProblems(planText(nodes)), "nodes: a plan has at most 10000 nodes");
  nodes.pop_back();
  EXPECT_EQ(listProblems(planText(nodes)), "");
}

TEST(ReadPlan, AThousandMistakesAreCountedNotListed) {
  std::vector<std::string> nodes;
  for (size_t i = 0; i < 1000; ++i) nodes.push_back(nodeText("n" + std::to_string(i), {"none"}));
  Problems problems;
  EXPECT_FALSE(Plan::make(planText(nodes), "{}", 0, problems));
  EXPECT_EQ(problems.list().size(), Problems::kMaxProblems);
  EXPECT_EQ(problems.more(), 1000 - Problems::kMaxProblems);
  EXPECT_NE(problems.json().find("\"more\":950"), std::string::npos);
}

TEST(ReadPlan, AddedNodesMustFitThePlan) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a"), nodeText("b", {"a"}, R"("group":"g")")})), "");
  EXPECT_NE(rig.add("[" + nodeText("a") + "]").find("a node that the plan has already"),
            std::string::npos);
  EXPECT_NE(rig.add("[" + nodeText("x", {"y"}) + "," + nodeText("y", {"x"}) + "]").find("a cycle"),
            std::string::npos);
  EXPECT_EQ(rig.plan().size(), 2U);
  EXPECT_EQ(rig.plan().graph().dependents(0).size(), 1U);
  EXPECT_EQ(rig.add("[" + nodeText("x", {"b"}) + "]"), "") << "the refused additions left no nodes";
}

TEST(ReadPlan, AnIdThatAGroupOfThePlanHasIsRefusedForAnAddedNode) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a", {}, R"("group":"g/front")")})), "");
  EXPECT_NE(rig.add("[" + nodeText("g") + "]")
                .find(R"("nodes[0].id","message":"\"g\" is a group of the plan, too)"),
            std::string::npos);
  EXPECT_NE(rig.add("[" + nodeText("b", {}, R"("group":"a/x")") + "]").find("id of a node, too"),
            std::string::npos);
  EXPECT_EQ(rig.add("[" + nodeText("front") + "," + nodeText("b", {}, R"("group":"g")") + "]"), "");
}

// Journals of an earlier version have such nodes, and must stay readable.
TEST(ReadPlan, AJournalWhoseAddedNodeHasTheIdOfAGroupIsRead) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a", {}, R"("group":"g/front")")})), "");
  rig.journal["p"].push_back(R"({"kind":"nodes-added","at":1,"detail":[)" + nodeText("g", {"a"}) +
                             "," + nodeText("x", {}, R"("group":"g")") + "]}");
  Engine engine({});
  const std::vector<std::string_view> lines(rig.journal["p"].begin(), rig.journal["p"].end());
  ASSERT_EQ(engine.replay("p", lines, {}).value_or(""), "");
  ASSERT_EQ(engine.find("p")->size(), 3U);
  EXPECT_EQ(engine.find("p")->find("g"), 1U);
  EXPECT_NE(groupsJson(*engine.find("p")).find(R"({"group":"g","status":"running")"),
            std::string::npos);
  Problems problems;
  EXPECT_TRUE(engine.checkNodes("p", "[" + nodeText("g") + "]", problems));
}

TEST(ReadPlan, AddedNodesHaveAllTheirMistakesNamedAndACheckAddsNothing) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("a")})), "");
  const std::string nodes = "[" + nodeText("x", {}, R"("wrok":"true")") + "," +
                            nodeText("y", {"z"}) + "," + nodeText("v", {"w"}) + "," +
                            nodeText("w", {"v"}) + "]";
  const std::string all = rig.add(nodes);
  for (const char* part : {"nodes[0].wrok", "nodes[1].dependencies[0]", "a cycle"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part;
  }
  Problems problems;
  EXPECT_TRUE(rig.engine().checkNodes("p", nodes, problems));
  EXPECT_EQ(problems.json(), all);
  Problems none;
  EXPECT_FALSE(rig.engine().checkNodes("p", "[" + nodeText("b", {"a"}) + "]", none));
  EXPECT_EQ(rig.plan().size(), 1U);
}

TEST(ReadPlan, ANameIsNotBlank) {
  EXPECT_EQ(problemOfNode(R"("name":"  ")"), "nodes[0].name: must not be blank");
  EXPECT_EQ(listProblems(R"({"name":" ","nodes":[{"id":"a"}]})"), "name: must not be blank");
}

TEST(ReadDuration, TakesUnitsAndSeconds) {
  EXPECT_EQ(readDuration("250ms"), Millis(250));
  EXPECT_EQ(readDuration("90"), Millis(90'000));
  EXPECT_EQ(readDuration("1.5h"), Millis(5'400'000));
  EXPECT_EQ(readDuration("2d"), Millis(172'800'000));
  for (const char* bad : {"", "s", "-1s", "1x", "1 s", "nan", "inf", "1e400s", "99999999999999d"}) {
    EXPECT_FALSE(readDuration(bad)) << bad;
  }
}

}  // namespace
}  // namespace tap::plan
