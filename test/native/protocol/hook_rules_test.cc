// Hook rules and transforms as providers declare them, and which tool uses a rule is about.
#include "protocol/hook_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tap::protocol {
namespace {

json::Value parse(json::Scanner& scanner, const std::string& text) {
  auto value = scanner.scan(text);
  EXPECT_TRUE(bool(value)) << text;
  return value ? value.value() : json::Value{};
}

HookRule rule(const std::string& text) {
  json::Scanner scanner;
  Problem problem;
  HookRule read = readHookRule(parse(scanner, text), "rule", Limits(), problem);
  EXPECT_FALSE(problem.any()) << problem.text();
  return read;
}

std::string complaint(const std::string& text) {
  json::Scanner scanner;
  Problem problem;
  (void)readHooks(parse(scanner, text), "hooks", Limits(), problem);
  return problem.text();
}

Match judge(const HookRule& rule, const ToolUse& use) {
  PatternBudget time{kRulesTime};
  return matches(rule, use, time);
}

bool isAbout(const std::string& match, std::string_view tool, std::string_view args = "{}",
             std::string_view provider = "") {
  const HookRule read = rule(R"({"match":)" + match + R"(,"action":"deny"})");
  return judge(read, {tool, provider, args, "/code"}) == Match::Yes;
}

// The file as the agent writes it, in JSON, by a session that works in `folder`.
bool isAboutFile(const std::string& glob, const std::string& path,
                 std::string_view folder = "/code") {
  const HookRule read = rule(R"({"match":{"file":")" + glob + R"("},"action":"deny"})");
  return judge(read, {"edit", "", R"({"path":")" + path + R"("})", folder}) == Match::Yes;
}

// shows: P-HOOK-10
TEST(HookRules, ARuleWithoutAMatchIsAboutEveryTool) {
  EXPECT_EQ(judge(rule(R"({"action":"deny"})"), {"bash", "", "{}", ""}), Match::Yes);
  EXPECT_TRUE(isAbout("{}", "anything"));
}

// shows: P-HOOK-5
TEST(HookRules, AToolIsMatchedByItsWholeName) {
  EXPECT_TRUE(isAbout(R"({"tool":"edit"})", "edit"));
  EXPECT_FALSE(isAbout(R"({"tool":"edit"})", "edit2"));
  EXPECT_FALSE(isAbout(R"({"tool":"edit"})", "Edit"));
}

// shows: P-HOOK-5
TEST(HookRules, ShellIsTheClisBashToo) {
  EXPECT_TRUE(isAbout(R"({"tool":"shell"})", "bash"));
  EXPECT_TRUE(isAbout(R"({"tool":"shell"})", "shell"));
  EXPECT_FALSE(isAbout(R"({"tool":"bash"})", "shell"));
}

// shows: P-HOOK-6
TEST(HookRules, ArgsAreMatchedAsJsonText) {
  const std::string match = R"({"tool":"shell","args":"git push"})";
  EXPECT_TRUE(isAbout(match, "bash", R"({"command":"git push origin main"})"));
  EXPECT_FALSE(isAbout(match, "bash", R"({"command":"git pull"})"));
  EXPECT_TRUE(isAbout(R"({"args":"^\\{\"command\":"})", "bash", R"({"command":"x"})"));
}

struct Case {
  const char* args;  // the pattern, or the path and the pattern, as JSON
  const char* given;
  bool fits;
};

void expectEach(std::string_view tool, const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    EXPECT_EQ(isAbout(R"({"args":)" + std::string(one.args) + "}", tool, one.given), one.fits)
        << one.args << " in " << one.given;
  }
}

// shows: P-HOOK-41
TEST(HookRules, ArgsAreMatchedAsStringsAndLinesToo) {
  const char* push = R"("\\bgit\\b.*\\bpush\\b")";
  expectEach("bash", {
                         {push, R"({"command":"cd .\ngit push origin main"})", true},
                         {push, R"({"command":"cd .\r\ngit push"})", true},
                         {push, R"({"command":"cd .\rgit push"})", true},
                         {push, R"({"command":"\tgit\tpush"})", true},
                         {push, R"({"command":"git\npush"})", false},
                         {push, R"({"command":"digit push"})", false},
                         {R"("^git push$")", R"({"command":"git push"})", true},
                         {R"("^git push$")", R"({"command":"ls\ngit push\nls"})", true},
                         {R"("^git push$")", R"({"command":"git push\n"})", true},
                         {R"("^git push$")", R"({"command":"git push -f"})", false},
                         {R"("git\\s+push")", R"({"command":"git\n push"})", true},
                         {R"("say \"no\"")", R"({"command":"say \"no\""})", true},
                         {R"("^C:\\\\a$")", R"({"x":[{"deep":["C:\\a"]}]})", true},
                         {R"("^deep$")", R"({"x":[{"deep":["C:\\a"]}]})", false},
                         {R"("^a$")", R"("a")", true},
                         {R"("^$")", R"({"command":""})", true},
                         {R"("^7$")", R"({"command":7})", false},
                     });
}

// shows: P-HOOK-41
TEST(HookRules, ContinuedLinesOfAShellCommandAreJoined) {
  const char* push = R"("^git push$")";
  const char* joined = R"({"command":"git \\\npush"})";
  expectEach("bash", {{push, joined, true},
                      {push, R"({"command":"gi\\\nt pu\\\nsh"})", true},
                      {push, R"({"command":"echo \\\\\ngit push"})", true},
                      {push, R"({"command":"git push\\"})", false},
                      {push, R"({"other":"git \\\npush"})", false}});
  expectEach("shell", {{push, joined, true}});
  expectEach("edit", {{push, joined, false}});
}

// shows: P-HOOK-42
TEST(HookRules, APathNamesTheArgumentThatIsMatched) {
  const char* command = R"({"path":"/command","pattern":"^git push"})";
  expectEach("bash",
             {
                 {command, R"({"command":"git push"})", true},
                 {command, R"({"command":"ls\ngit push"})", true},
                 {command, R"({"command":"git \\\npush"})", true},
                 {command, R"({"description":"git push"})", false},
                 {command, R"({"command":["git push"]})", true},
                 {command, R"("git push")", false},
                 {R"({"path":"/command","pattern":"\""})", R"({"command":"x"})", false},
                 {R"({"path":"/a/1/b~1c~0d","pattern":"^x$"})", R"({"a":[0,{"b/c~d":"x"}]})", true},
                 {R"({"path":"/a/2","pattern":"."})", R"({"a":[0,1]})", false},
                 {R"({"path":"/a/01","pattern":"."})", R"({"a":[0,1]})", false},
                 {R"({"path":"/a","pattern":"^\\[0,1\\]$"})", R"({"a":[0,1],"b":2})", true},
             });
}

// shows: P-HOOK-41
TEST(HookRules, WhatIsBeyondTheLimitsOfStringsIsUndecided) {
  const HookRule read = rule(R"({"match":{"args":"^evil$"},"action":"deny"})");
  const HookRule named =
      rule(R"({"match":{"args":{"path":"/first","pattern":"^evil$"}},"action":"deny"})");
  const auto given = [](size_t strings, const std::string& last) {
    std::string args = R"({"first":"x","rest":[)";
    for (size_t i = 2; i < strings; ++i) args += "\"\",";
    return args + '"' + last + "\"]}";
  };
  const auto judged = [](const HookRule& one, const std::string& args) {
    return judge(one, {"bash", "", args, ""});
  };
  EXPECT_EQ(judged(read, given(256, "evil")), Match::Yes);
  EXPECT_EQ(judged(read, given(256, "good")), Match::No);
  EXPECT_EQ(judged(read, given(257, "evil")), Match::Unseen);
  EXPECT_EQ(judged(read, R"({"a":"evil","b":")" + std::string(70'000, 'a') + "\"}"), Match::Yes);
  EXPECT_EQ(judged(read, R"({"a":"good","b":")" + std::string(70'000, 'a') + "\"}"), Match::Unseen);
  EXPECT_EQ(judged(named, given(300, "evil")), Match::No) << "its path was found";
}

// shows: P-HOOK-8
TEST(HookRules, AFileIsMatchedByTheToolsPathArgument) {
  const std::string match = R"({"file":"*.sql"})";
  EXPECT_TRUE(isAbout(match, "edit", R"({"path":"/code/db/001.sql","old_str":"a"})"));
  EXPECT_FALSE(isAbout(match, "edit", R"({"path":"/code/db/001.sql.txt"})"));
  EXPECT_FALSE(isAbout(match, "edit", R"({"file":"001.sql"})"));
  EXPECT_FALSE(isAbout(match, "edit", R"({"path":7})"));
  EXPECT_FALSE(isAbout(match, "edit", R"("001.sql")"));
  EXPECT_TRUE(isAbout(R"({"file":"**/db/*.sql"})", "edit", R"({"path":"/code/db/001.sql"})"));
}

// shows: P-HOOK-9
TEST(HookRules, AFileIsMatchedHoweverItIsWritten) {
  for (const char* path :
       {"/etc/hosts", "/tmp/../etc/hosts", "/etc//hosts", "//etc/hosts", "/./etc/./hosts",
        "/../etc/hosts", "../etc/hosts", "../../../etc/hosts", "./../etc/hosts", "/etc/x/../hosts",
        "/code/../etc/hosts", "/etc/hosts/", "/etc/hosts/.", "/tmp/\\n/../../etc/hosts",
        "/tmp/../etc/hosts\\u0000", "/tmp\\\\..\\\\etc\\\\hosts", "\\u002fetc\\u002f/hosts"}) {
    EXPECT_TRUE(isAboutFile("/etc/**", path)) << path;
  }
  for (const char* path :
       {"/tmp/hosts", "/code/../tmp/etc/hosts", "etc/hosts", "~/etc/hosts", ""}) {
    EXPECT_FALSE(isAboutFile("/etc/**", path)) << path;
  }
  EXPECT_TRUE(isAboutFile("/etc/hosts", "/tmp/../etc/hosts/"));
  EXPECT_TRUE(isAboutFile("hosts", "/etc/hosts/x/.."));
  EXPECT_FALSE(isAboutFile("/etc/hosts", "/etc/.../hosts"));
}

// shows: P-HOOK-9
TEST(HookRules, ARelativePatternIsAboutTheSessionsFolder) {
  for (const char* path : {"src/a.ts", "./src/a.ts", "/code/src/a.ts", "../code/src/a.ts",
                           "/tmp/../code//src/a.ts", "lib/../src/a.ts"}) {
    EXPECT_TRUE(isAboutFile("src/*.ts", path)) << path;
    EXPECT_TRUE(isAboutFile("./src/*.ts", path)) << path;
    EXPECT_TRUE(isAboutFile("/code/src/*.ts", path)) << path;
  }
  for (const char* path : {"../src/a.ts", "/src/a.ts", "lib/src/a.ts", "/other/src/a.ts"}) {
    EXPECT_FALSE(isAboutFile("src/*.ts", path)) << path;
  }
  EXPECT_TRUE(isAboutFile("src/*.ts", "src//a.ts", "")) << "a folder that is not known";
  EXPECT_TRUE(isAboutFile("src/**", "x\\\\..\\\\src\\\\a.ts", "C:\\shop"));
  EXPECT_TRUE(isAboutFile("C:/shop/src/**", "src\\\\a.ts", "C:\\shop"));
}

TEST(HookRules, AFileUnderItsOwnNameStaysCaught) {
  EXPECT_TRUE(isAboutFile("**/../**", "/tmp/../etc/hosts")) << "a rule against .. still matches";
  EXPECT_TRUE(isAboutFile("/link/**", "/link/../hosts")) << "which may lie behind a link";
  EXPECT_TRUE(isAboutFile("~/.ssh/**", "~/.ssh/id"));
  EXPECT_FALSE(isAboutFile(".*", "/code")) << "the path has no dot";
}

TEST(HookRules, AFileIsNotHiddenByTheLengthOfItsPath) {
  const auto padded = [](std::string_view with) {
    std::string path = "/etc/";
    while (path.size() < 100'000) path += with;
    return path + "hosts";
  };
  for (const char* with : {"./", "/", "x/../", "../etc/"}) {
    EXPECT_TRUE(isAboutFile("/etc/hosts", padded(with))) << with;
    EXPECT_FALSE(isAboutFile("/etc/passwd", padded(with))) << with;
  }
}

// shows: P-HOOK-7
TEST(HookRules, AProviderScopesARuleToItsTools) {
  EXPECT_TRUE(isAbout(R"({"provider":"ci"})", "deploy", "{}", "ci"));
  EXPECT_FALSE(isAbout(R"({"provider":"ci"})", "deploy", "{}", "other"));
  EXPECT_FALSE(isAbout(R"({"provider":"ci"})", "bash"));
}

// shows: P-HOOK-10
TEST(HookRules, AllThatIsNamedMustMatch) {
  const std::string match = R"({"tool":"edit","args":"DROP","file":"*.sql"})";
  EXPECT_TRUE(isAbout(match, "edit", R"({"path":"a.sql","new_str":"DROP TABLE"})"));
  EXPECT_FALSE(isAbout(match, "edit", R"({"path":"a.sql","new_str":"SELECT"})"));
  EXPECT_FALSE(isAbout(match, "create", R"({"path":"a.sql","new_str":"DROP"})"));
}

// shows: P-HOOK-37
TEST(HookRules, APatternThatRunsOutOfTimeSaysSo) {
  const HookRule slow = rule(R"({"match":{"args":"(a+)+$"},"action":"deny"})");
  const std::string args = R"({"command":")" + std::string(5000, 'a') + R"(!"})";
  EXPECT_EQ(judge(slow, {"bash", "", args, ""}), Match::TimedOut);
}

// shows: P-HOOK-1
TEST(HookRules, MistakesAreNamedWithTheirPlace) {
  EXPECT_EQ(complaint(R"({"onPreToolUse":[{"action":"deny"},{"action":"allow"}]})"),
            "hooks.onPreToolUse[1].action: expected \"deny\", \"context\" or \"gate\", got "
            "\"allow\"");
  EXPECT_NE(complaint(R"({"onPreToolUse":[{"action":"gate"}]})").find(".gateId: expected a string"),
            std::string::npos);
  EXPECT_NE(complaint(R"({"onPreToolUse":[{"action":"context"}]})").find(".content: expected"),
            std::string::npos);
  EXPECT_NE(complaint(R"({"onPreToolUse":[7]})").find("[0]: expected an object, got a number"),
            std::string::npos);
  EXPECT_NE(complaint(R"({"onPreToolUse":{}})").find("hooks.onPreToolUse: expected an array"),
            std::string::npos);
  EXPECT_NE(complaint(R"({"onPreToolUse":[{"match":"x","action":"deny"}]})").find("[0].match:"),
            std::string::npos);
}

// shows: P-HOOK-1
TEST(HookRules, APatternThatCannotCompileIsRefusedWithItsPosition) {
  const std::string text =
      complaint(R"({"onPreToolUse":[{"match":{"args":"ab(c"},"action":"deny"}]})");
  EXPECT_NE(text.find("onPreToolUse[0].match.args: not a regular expression, at character 4"),
            std::string::npos)
      << text;
  for (const char* path : {"command", "/a~2", "/a~"}) {
    EXPECT_NE(complaint(R"({"onPreToolUse":[{"match":{"args":{"path":")" + std::string(path) +
                        R"(","pattern":"a"}},"action":"deny"}]})")
                  .find(".match.args.path: expected a JSON Pointer"),
              std::string::npos)
        << path;
  }
  EXPECT_NE(complaint(R"({"onPreToolUse":[{"match":{"args":{"path":"/a"}},"action":"deny"}]})")
                .find(".match.args.pattern: expected a string"),
            std::string::npos);
  EXPECT_NE(complaint(R"({"onPreToolUse":[{"match":{"file":"[a"},"action":"deny"}]})")
                .find(".match.file: not a glob, at character"),
            std::string::npos);
}

// shows: P-HOOK-31
TEST(HookRules, TransformsAreReadBySection) {
  json::Scanner scanner;
  Problem problem;
  const HooksChange change = readHooks(
      parse(scanner, R"({"transforms":{"custom_instructions":{"action":"append","content":"pnpm"},
                         "code_change_rules":{"action":"callback"},"tone":null}})"),
      "hooks", Limits(), problem);
  ASSERT_FALSE(problem.any()) << problem.text();
  EXPECT_FALSE(change.rules);
  ASSERT_EQ(change.transforms.size(), 3u);
  EXPECT_EQ(change.transforms.at("custom_instructions")->content, "pnpm");
  EXPECT_EQ(change.transforms.at("code_change_rules")->action, TransformAction::Callback);
  EXPECT_FALSE(change.transforms.at("tone"));
}

// shows: P-TEXT-6
TEST(HookRules, ASectionThatDoesNotExistIsRefusedWithThoseThatDo) {
  const std::string text = complaint(R"({"transforms":{"instructions":null}})");
  EXPECT_NE(text.find("no section \"instructions\""), std::string::npos);
  EXPECT_NE(text.find("custom_instructions"), std::string::npos);
}

// shows: P-TEXT-6
TEST(HookRules, ATransformNeedsAnActionAndItsContent) {
  EXPECT_NE(complaint(R"({"transforms":{"tone":{"action":"shout","content":"a"}}})")
                .find("hooks.transforms.tone.action: expected"),
            std::string::npos);
  EXPECT_NE(complaint(R"({"transforms":{"tone":{"action":"append"}}})").find(".tone.content"),
            std::string::npos);
  EXPECT_NE(complaint(R"({"transforms":{"tone":"append"}})").find("expected an object or null"),
            std::string::npos);
}

// shows: P-HOOK-22
TEST(HookRules, TextsAreBounded) {
  const auto withContent = [](size_t bytes) {
    return R"({"onPreToolUse":[{"action":"context","content":")" + std::string(bytes, 'x') +
           R"("}]})";
  };
  EXPECT_EQ(complaint(withContent(65535)), "");
  EXPECT_EQ(complaint(withContent(65536)), "");
  EXPECT_NE(complaint(withContent(65537)).find("at most 65536 bytes"), std::string::npos);
}

}  // namespace
}  // namespace tap::protocol
