// The user looks at the paired providers, and revokes them (docs/session-link.md, "paired.list").
#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

constexpr const char* kApp = "https://app.example.com";

struct Paired : testing::Test {
  Harness tap{Limits{}, "s3cret"};
  PeerId session = tap.session("s", [](auto& r) { r.secret = "s3cret"; });
  PeerId command = tap.newPeer();

  // A web page that the user has let in.
  PeerId pairedPage(const std::string& name) {
    const PeerId page = tap.open(kApp);
    tap.say(page, R"({"type":"auth","mode":"pair","session":"s","name":)" + quote(name) + "}");
    const std::string line = tap.timeline(session);
    const std::string code = line.substr(line.find("code: ") + 6, 6);
    tap.say(page, R"({"type":"auth.confirm","code":)" + quote(code) + "}");
    token = tap.take(page, "sessions").get("token");
    return page;
  }
  std::vector<std::string> answer() {
    std::vector<std::string> names;
    for (const auto& one : tap.expect<protocol::Paired>(command).providers) {
      EXPECT_EQ(one.sessionId, "s");
      EXPECT_EQ(one.label, "label of s");
      EXPECT_EQ(one.origin, kApp);
      names.push_back(one.name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string token;
};

// shows: P-PAIR-8
TEST_F(Paired, AreListedWithoutASession) {
  tap.send(command, protocol::ListPaired{"s3cret"});
  EXPECT_TRUE(answer().empty());
  pairedPage("one");
  pairedPage("two");
  tap.send(command, protocol::ListPaired{"s3cret"});
  EXPECT_EQ(answer(), (std::vector<std::string>{"one", "two"}));
  EXPECT_FALSE(tap.closed(command));
}

// shows: P-PAIR-8
TEST_F(Paired, AreRevokedByNameAndDisconnected) {
  const PeerId first = pairedPage("browser");
  const std::string firstToken = token;
  const PeerId second = pairedPage("browser");
  const PeerId other = pairedPage("other");
  tap.say(first, hello("page", "s", tools({"title"})));
  tap.take(first, "hello.ack");
  tap.send(command, protocol::RevokePaired{"s3cret", "browser"});
  EXPECT_EQ(answer(), (std::vector<std::string>{"browser", "browser"}));
  for (const PeerId page : {first, second}) {
    EXPECT_EQ(tap.errorCode(page), "AUTH_FAILED");
    EXPECT_EQ(tap.closeCode(page), 1008);
  }
  EXPECT_FALSE(tap.closed(other));
  const PeerId back = tap.open(kApp);
  tap.say(back, auth(firstToken));
  EXPECT_EQ(tap.errorCode(back), "AUTH_FAILED");
  tap.send(command, protocol::ListPaired{"s3cret"});
  EXPECT_EQ(answer(), std::vector<std::string>{"other"});
  EXPECT_EQ(tap.logged().find(firstToken), std::string::npos);
}

TEST_F(Paired, WithoutTheNameNobodyIsRevoked) {
  const PeerId page = pairedPage("browser");
  tap.send(command, protocol::RevokePaired{"s3cret", "brows"});
  EXPECT_TRUE(answer().empty());
  EXPECT_FALSE(tap.closed(page));
}

// shows: P-PAIR-8
TEST_F(Paired, AreNobodysBusinessWithoutTheSecret) {
  const PeerId page = pairedPage("browser");
  const std::vector<protocol::LinkMessage> guesses{protocol::ListPaired{""},
                                                   protocol::ListPaired{"s3crex"},
                                                   protocol::RevokePaired{"s3crex", "browser"}};
  for (const protocol::LinkMessage& guess : guesses) {
    const PeerId stranger = tap.newPeer();
    tap.send(stranger, guess);
    EXPECT_EQ(tap.expect<protocol::Refused>(stranger).code, "SECRET");
    EXPECT_TRUE(tap.closed(stranger));
    EXPECT_EQ(tap.count<protocol::Paired>(stranger), 0u);
  }
  EXPECT_FALSE(tap.closed(page));
}

TEST_F(Paired, ASessionMayAskToo) {
  tap.send(session, protocol::ListPaired{"s3cret"});
  EXPECT_TRUE(tap.expect<protocol::Paired>(session).providers.empty());
}

}  // namespace
}  // namespace tap::gateway::test
