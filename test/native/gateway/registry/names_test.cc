// Names of providers, tools and askers that could be taken for others.
#include "base/names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "base/encoding.h"
#include "base/utf8.h"
#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

// "hello.ack", or the code of the refusal.
std::string answer(Harness& tap, PeerId peer, const std::string& text) {
  tap.say(peer, text);
  const Message first = tap.take(peer);
  const std::string answer = first.type() == "error" ? first.get("code") : first.type();
  tap.clear();
  return answer;
}

// shows: P-ID-7
TEST(LookAlikes, WithWhatIsNotSeenAreRefusedInEveryName) {
  Harness tap;
  tap.session("s");
  tap.bound("docs", "s");
  for (const char* name :
       {"docs\u200B", "docs\u2060", "docs\uFEFF", "docs\u00AD", "docs\U000E0041", "docs\uFE0F",
        "docs\u3164", "docs\u034F", "docs ", "docs\u00A0", "\u200B", " "}) {
    EXPECT_EQ(answer(tap, tap.authed(), hello(name, "s")), "INVALID_JSON") << name;
    EXPECT_EQ(answer(tap, tap.authed(), helloWith("x", "s", "\"instance\":" + quote(name))),
              "INVALID_JSON");
    const PeerId page = tap.open("https://page.example");
    tap.say(page, R"({"type":"auth","mode":"pair","name":)" + quote(name) + "}");
    EXPECT_EQ(tap.count(page, "auth.pairing"), 0U) << name;
  }
  const PeerId peer = tap.bound("p", "s");
  tap.say(peer, push("keep", "x", R"(,"stream":"a\u200b")"));
  EXPECT_EQ(tap.errorCode(peer), "INVALID_JSON");
}

// shows: P-ID-8
TEST(LookAlikes, OfAConnectedProviderAreRefusedAndNamed) {
  Harness tap;
  tap.session("s");
  tap.session("t");
  const PeerId first = tap.bound("docs", "s");
  for (const char* name : {"Docs", "d0cs", "DOCS"}) {
    const PeerId other = tap.authed();
    tap.say(other, hello(name, "s"));
    const Message error = tap.take(other, "error");
    EXPECT_EQ(error.get("code"), "DUPLICATE_INSTANCE") << name;
    EXPECT_NE(error.get("message").find("looks like \"docs\""), std::string::npos);
    EXPECT_EQ(answer(tap, other, hello(name, "t")), "hello.ack") << "a different session";
    tap.lose(other);
    tap.advance(31'000);
  }
  EXPECT_FALSE(tap.closed(first));
}

// shows: P-ID-8
TEST(LookAlikes, OfAProviderThatMayComeBackAreRefused) {
  Harness tap;
  tap.session("s");
  tap.lose(tap.bound("docs", "s"));
  const PeerId other = tap.authed();
  EXPECT_EQ(answer(tap, other, hello("Docs", "s")), "DUPLICATE_INSTANCE");
  EXPECT_EQ(answer(tap, tap.authed(), hello("docs", "s")), "hello.ack") << "its own name";
  tap.advance(1);
  Harness later;
  later.session("s");
  later.lose(later.bound("docs", "s"));
  later.advance(31'000);
  EXPECT_EQ(answer(later, later.authed(), hello("Docs", "s")), "hello.ack");
}

// shows: P-ID-8
TEST(LookAlikes, AreNotOnesOwnFormerNameNorAnInstance) {
  Harness tap;
  tap.session("s");
  const PeerId peer = tap.bound("docs", "s");
  EXPECT_EQ(answer(tap, peer, hello("Docs", "s")), "hello.ack") << "it renames itself";
  tap.say(peer, kGoodbye);
  const std::string one = helloWith("tabs", "s", R"("instance":"a","tools":[])");
  const std::string two = helloWith("tabs", "s", R"("instance":"A","tools":[])");
  EXPECT_EQ(answer(tap, tap.authed(), one), "hello.ack");
  EXPECT_EQ(answer(tap, tap.authed(), two), "hello.ack");
  const PeerId again = tap.authed();
  EXPECT_EQ(answer(tap, again, hello("docs", "s")), "hello.ack") << "it has sent goodbye";
}

// shows: P-ID-8
TEST(LookAlikes, OfASessionThatComesLaterAreRefusedThere) {
  Harness tap;
  tap.session("s");
  const PeerId all = tap.authed();
  EXPECT_EQ(answer(tap, all, hello("docs", "all")), "hello.ack");
  tap.session("t");
  tap.bound("Docs", "t");
  tap.clear();
  tap.say(all, R"({"type":"session.ready","sessionId":"t"})");
  EXPECT_EQ(tap.errorCode(all), "DUPLICATE_INSTANCE");
}

struct PairedLookAlikes : testing::Test {
  Harness tap;
  PeerId session = tap.session("s");

  PeerId pairedPage(const std::string& origin, const std::string& name) {
    const PeerId page = tap.open(origin);
    tap.say(page, R"({"type":"auth","mode":"pair","session":"s","name":)" + quote(name) + "}");
    const std::string line = tap.timeline(session);
    const std::string code = line.substr(line.find("code: ") + 6, 6);
    tap.say(page, R"({"type":"auth.confirm","code":)" + quote(code) + "}");
    tap.clear();
    return page;
  }
};

// shows: P-ID-8
TEST_F(PairedLookAlikes, OfAPairedNameAreForItsPageOnly) {
  const PeerId good = pairedPage("https://good.example", "Notes");
  const PeerId evil = pairedPage("https://evil.example", "other");
  EXPECT_EQ(answer(tap, evil, hello("n0tes", "s")), "DUPLICATE_INSTANCE");
  EXPECT_EQ(answer(tap, evil, hello("Notes", "s")), "DUPLICATE_INSTANCE");
  EXPECT_EQ(answer(tap, good, hello("notes", "s")), "hello.ack");
  EXPECT_EQ(answer(tap, evil, hello("mine", "s")), "hello.ack");
}

// shows: P-ID-15
TEST_F(PairedLookAlikes, HaveNamesOfAscii) {
  const PeerId page = tap.open("https://page.example");
  const std::string pair = R"({"type":"auth","mode":"pair","session":"s","name":"n\u043Etes"})";
  EXPECT_EQ(answer(tap, page, pair), "INVALID_JSON");
  EXPECT_EQ(tap.count(page, "auth.pairing"), 0U);
  const PeerId paired = pairedPage("https://good.example", "Notes");
  EXPECT_EQ(answer(tap, paired, hello("n\u043Etes", "s")), "INVALID_JSON");
  EXPECT_EQ(answer(tap, tap.authed(), hello("n\u043Etes", "s")), "hello.ack") << "the user's own";
}

// shows: P-ID-8
TEST_F(PairedLookAlikes, ThatHaveLeftDoNotKeepAProgramOfTheUsersOut) {
  const PeerId page = pairedPage("https://page.example", "other");
  EXPECT_EQ(answer(tap, page, hello("Docs", "s")), "hello.ack");
  const PeerId program = tap.authed();
  EXPECT_EQ(answer(tap, program, hello("docs", "s")), "DUPLICATE_INSTANCE") << "it is connected";
  tap.lose(page);
  EXPECT_EQ(answer(tap, program, hello("docs", "s")), "hello.ack");
}

TEST_F(PairedLookAlikes, AreAskedForByOriginFirstAndInQuotes) {
  const std::string name = R"(x", of "https://bank.example)";
  const PeerId page =
      tap.open(R"(https://evil.example" asks. A web page of "https://bank.example)");
  tap.say(page, R"({"type":"auth","mode":"pair","session":"s","name":)" + quote(name) + "}");
  const std::string line = tap.timeline(session);
  EXPECT_TRUE(line.starts_with(R"(tap: a web page of "https://evil.example\" asks. A web page of )"
                               R"(\"https://bank.example", by the name "x\", of )"
                               R"(\"https://bank.example", asks to connect)"))
      << line;
}

TEST_F(PairedLookAlikes, AreShownShortWithTheEndOfTheirOrigin) {
  const std::string origin = "https://bank.example." + std::string(7000, 'a') + ".evil.example";
  const PeerId page = tap.open(origin);
  tap.say(page, R"({"type":"auth","mode":"pair","session":"s","name":)" +
                    quote(std::string(128, 'n')) + "}");
  const std::string line = tap.timeline(session);
  EXPECT_LT(line.size(), 500U);
  EXPECT_NE(line.find("a.evil.example\""), std::string::npos) << line;
  EXPECT_EQ(line.find("bank"), std::string::npos) << line;
  const PeerId program = tap.open();
  tap.say(program, R"({"type":"auth","mode":"pair","session":"s","name":"https://bank.example"})");
  EXPECT_TRUE(tap.timeline(session).starts_with(
      R"(tap: a program on this machine, by the name "https://bank.example",)"));
}

// shows: P-TOOL-7
TEST(ToolCase, DoesNotTellTheClisToolsApart) {
  Harness tap;
  const PeerId session = tap.session("s");
  tap.send(session, protocol::Update{{}, {}, {}, std::vector<std::string>{"bash", "Task"}});
  const PeerId peer = tap.authed();
  for (const char* name : {"Bash", "BASH", "task", "Tap_status", "TAP_STATUS"}) {
    EXPECT_EQ(answer(tap, peer, hello("p", "s", tools({name}))), "TOOL_CONFLICT") << name;
  }
  tap.say(peer, hello("p", "s", tools({"Bash"})));
  EXPECT_EQ(
      tap.take(peer, "error").get("message"),
      "\"Bash\" differs only in case from \"bash\", a tool of the CLI itself; rename yours and "
      "send hello again");
}

// shows: P-TOOL-7
TEST(ToolCase, DoesNotTellTheToolsOfProvidersApart) {
  Harness tap;
  tap.session("s");
  const PeerId p = tap.bound("p", "s", {"greet"});
  const PeerId q = tap.authed();
  EXPECT_EQ(answer(tap, q, hello("q", "s", tools({"Greet"}))), "TOOL_CONFLICT");
  EXPECT_EQ(answer(tap, q, hello("q", "s", tools({"other"}))), "hello.ack");
  tap.say(q, update(tools({"GREET"})));
  EXPECT_EQ(tap.errorCode(q), "TOOL_CONFLICT");
  tap.say(p, update(tools({"Greet"})));
  EXPECT_TRUE(tap.quiet(p)) << "its own may be written otherwise";
  tap.say(p, kGoodbye);
  tap.say(q, update(tools({"GREET"})));
  EXPECT_TRUE(tap.quiet(q));
}

// shows: P-TOOL-8
TEST(ToolCase, OfTheClisToolsThatAreKnownLate) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"Bash", "greet"});
  tap.clear();
  tap.send(session, protocol::Update{{}, {}, {}, std::vector<std::string>{"bash"}});
  const Message error = tap.take(peer, "error");
  EXPECT_EQ(error.get("code"), "TOOL_CONFLICT");
  EXPECT_NE(error.get("message").find("\"Bash\""), std::string::npos);
  tap.call(session, "1", "Bash");
  EXPECT_EQ(tap.outcome(session), "1 DISCONNECTED");
}

// shows: P-INST-6
TEST(ToolCase, OfTheListsOfInstances) {
  Harness tap;
  tap.session("s");
  EXPECT_EQ(answer(tap, tap.authed(), helloWith("tabs", "s", R"("instance":"1","tools":[])")),
            "hello.ack");
  const PeerId other = tap.authed();
  for (const char* name : {"List_tabs_instances", "LIST_TABS_INSTANCES", "List_Tabs"}) {
    EXPECT_EQ(answer(tap, other, hello("q", "s", tools({name}))), "TOOL_CONFLICT") << name;
  }
}

// Characters of all planes, and often those that are drawn like the letters of "docs 1".
std::string randomName(std::mt19937& random) {
  static const std::u32string kAlike =
      U"docsDOCS10lI \u043E\u0441\u0455\u03BF\u0501\u00F6\u0301\u200B"
      U"\uFF44\U000E0041\u2060-\u2010";
  std::string name;
  for (size_t left = 1 + random() % 4; left > 0; --left) {
    char32_t point = random() % 10 == 0 ? random() % 0x110000 : kAlike[random() % kAlike.size()];
    if (point >= 0xD800 && point <= 0xDFFF) point = 'x';
    name += utf8::encode(point).view();
  }
  return name;
}

// Whatever is let in: no two names of a session are shown alike, or look alike.
TEST(NamesProperty, OfOneSessionAreToldApart) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    Harness tap;
    tap.session("s");
    std::map<std::string, std::string> shown;
    std::vector<std::string> names;
    for (int i = 0; i < 40; ++i) {
      const std::string name = randomName(random);
      const PeerId peer = tap.authed();
      if (answer(tap, peer, hello(name, "s")) != "hello.ack") {
        tap.lose(peer);
        continue;
      }
      const auto [one, isNew] = shown.emplace(visible(name, false), name);
      EXPECT_EQ(one->second, name) << "seed " << seed;
      for (const std::string& other : names) {
        EXPECT_TRUE(other == name || !looksLike(other, name)) << "seed " << seed;
      }
      names.push_back(name);
      EXPECT_EQ(nameProblem(name), "");
    }
    EXPECT_GT(names.size(), 3U);
  }
}

}  // namespace
}  // namespace tap::gateway::test
