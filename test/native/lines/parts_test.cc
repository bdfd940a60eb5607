// The parts of a program's output: each has cycles of its own.

#include "lines/parts.h"

#include <map>

#include "base/json_writer.h"
#include "cycles_rig.h"
#include "lines_rig.h"

namespace tap::lines {
namespace {

using Texts = std::vector<std::string>;

constexpr std::string_view kWords = R"j({"exitDecides": true, "runsOn": true,
  "failure": [{"at": "^error: (?<what>.*)"}]})j";

// A program with its tools: `head` are its other fields, such as the prefix.
std::string programWith(std::string_view head, bool isGiven = false) {
  std::string text = "{" + std::string(head) + R"(, "inner": [)";
  const auto add = [&](std::string_view tool, std::string_view first, std::string_view matcher) {
    if (text.back() != '[') text += ',';
    json::Writer writer(text);
    writer.beginObject().field("tool", tool).field("matcher", matcher);
    if (!first.empty()) writer.field("first", first);
    if (isGiven) writer.field("given", true);
    writer.endObject();
  };
  add("compiler", "^build$", kCompiler);
  add("tests", "^(?:FILE|passed|failed)", kTests);
  if (!isGiven) add("words", "", kWords);
  return text + "]}";
}

const std::string kMany = programWith(
    R"("runsOn": true, "prefix": "^\\[(?<who>\\w+)\\] ?", "exitLine": "exited with code (?<code>\\w+)$")");

// part tool: verdict by end: failures
Texts partTexts(const std::vector<Cycle>& closed) {
  Texts texts;
  for (const Cycle& one : closed)
    texts.push_back(one.part + " " + one.tool + ": " + cycleText(one));
  return texts;
}

TEST(Parts, EachHasCyclesOfItsOwn) {
  Program program(kMany);
  program.lines({"[web] build", "[unit] FILE a.test", "[web] src/a:1:2: E1 bad",
                 "[unit] not ok adds", "[web] 1 error", "[unit] passed", "[web] waiting"});
  program.pass(400);
  EXPECT_EQ(partTexts(program.closed()), (Texts{"web compiler: red line\nsrc/a:1:2 E1 bad",
                                                "unit tests: green quiet\na.test [adds]"}));
}

TEST(Parts, AToolIsRecognizedByALaterLineAndReadsThoseBefore) {
  Program program(kMany);
  program.lines({"[a] > npm run test", "[a] not ok adds", "[a] failed: 1"});
  program.pass(400);
  EXPECT_EQ(partTexts(program.closed()), Texts{"a tests: red quiet\n[adds]"});
}

TEST(Parts, AnUnknownToolIsReadForWords) {
  Program program(kMany);
  program.lines({"[api] listening", "[api] error: no port"});
  program.pass(3000);
  EXPECT_EQ(partTexts(program.closed()), Texts{"api words: red quiet\nno port"});
}

TEST(Parts, OneCanEndBeforeTheOthers) {
  Program program(kMany);
  program.lines({"[a] hello", "[b] hello", "[a] sh -c a exited with code 0",
                 "[b] sh -c b exited with code 3", "[c] x", "[c] c exited with code SIGTERM"});
  EXPECT_EQ(partTexts(program.closed()),
            (Texts{"a words: green exit", "b words: red exit", "c words: crash exit"}));
}

TEST(Parts, OfACommandThatEndsFailuresDecide) {
  Program program(programWith(R"("prefix": "^(?<who>\\w+): ", "omit": "^npm")"));
  program.lines({"a: build", "a: src/a:1:2: E1 bad", "b: npm error: x", "b: fine", "plain"});
  program.exit(2);
  EXPECT_EQ(partTexts(program.closed()), (Texts{"a compiler: red exit\nsrc/a:1:2 E1 bad",
                                                "b words: green? exit", " : red exit"}));
}

TEST(Parts, ThoseBeyondTheMostAreOne) {
  Program program(kMany);
  for (int i = 0; i < 100; ++i) program.lines({"[p" + std::to_string(i) + "] error: x"});
  program.pass(3000);
  EXPECT_EQ(program.closed().size(), PartReader::kMaxParts + 1);
  EXPECT_EQ(program.closed().back().part, PartReader::kOthers);
}

TEST(Parts, WithoutAPrefixToolsAreRecognizedByTheirLines) {
  std::string words(kWords);
  words.back() = ' ';
  Program program(programWith(words.substr(1)));
  program.lines(
      {"error: of a script", "build", "src/a:1:2: E1 bad", "1 error", "waiting", "passed"});
  program.pass(5000);
  program.exit(1);
  EXPECT_EQ(partTexts(program.closed()), (Texts{"compiler compiler: red line\nsrc/a:1:2 E1 bad",
                                                "tests tests: green quiet", " : red exit"}));
}

TEST(Parts, ToolsThatTheCommandNamesReadAllLines) {
  Program program(programWith(R"("runsOn": true)", true));
  program.lines({"build", "passed", "src/a:1:2: E1 bad", "1 error", "waiting"});
  program.pass(400);
  EXPECT_EQ(partTexts(program.closed()),
            (Texts{"compiler compiler: red line\nsrc/a:1:2 E1 bad", "tests tests: green quiet"}));
}

// The same lines of each part, in any order among the parts, give each the same cycles.
TEST(Parts, AnyOrderAmongThePartsGivesTheSame) {
  const std::map<std::string, Texts> scripts{
      {"a", {"build", "src/a:1:2: E1 bad", "1 error", "waiting", "build", "0 errors", "waiting"}},
      {"b",
       {"build", "0 errors", "waiting", "build", "src/b:9:9: E2 worse", "3 errors", "waiting"}},
      {"c", {"npm start", "error: x", "c exited with code 1", "again", "c exited with code 0"}},
  };
  const auto partsOf = [](const Texts& texts, const std::string& name) {
    Texts own;
    for (const std::string& text : texts) {
      if (text.starts_with(name + " ")) own.push_back(text);
    }
    return own;
  };
  Texts expected;
  for (const auto& [name, script] : scripts) {
    Program program(kMany);
    for (const std::string& line : script) program.lines({"[" + name + "] " + line});
    for (std::string& text : partTexts(program.closed())) expected.push_back(std::move(text));
  }
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Choices choices(seed);
    Program program(kMany);
    std::map<std::string, size_t> at;
    const Texts names{"a", "b", "c"};
    for (size_t left = 19; left > 0;) {
      const std::string& name = choices.of(names);
      const Texts& script = scripts.at(name);
      if (at[name] == script.size()) continue;
      program.lines({"[" + name + "] " + script[at[name]++]});
      --left;
    }
    const Texts texts = partTexts(program.closed());
    for (const std::string& name : names) {
      ASSERT_EQ(partsOf(texts, name), partsOf(expected, name)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace tap::lines
