// Slash commands: the host runs them, and each is answered once (docs/session-link.md,
// "command.run").
#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

struct SlashCommand : testing::Test {
  explicit SlashCommand(const Limits& limits = {}) : tap(limits) {}

  Harness tap;
  PeerId session = tap.session("s");

  void run(const std::string& id, const std::string& name = "tap", const std::string& args = "") {
    tap.send(session, protocol::RunCommand{id, name, args});
  }
  std::string text() {
    const auto result = tap.find<protocol::CommandResult>(session);
    return result ? result->commandId + ": " + result->text : "none";
  }
};

struct FewSlashCommands : SlashCommand {
  FewSlashCommands() : SlashCommand(limits()) {}
  static Limits limits() {
    Limits few;
    few.set(Limit::CommandsPerSession, 2);
    few.set(Limit::CommandTextBytes, 20);
    return few;
  }
};

TEST_F(SlashCommand, GoesToTheHostWithItsSessionAndComesBackAsText) {
  run("c1", "tap-doctor", "get_weather");
  ASSERT_EQ(tap.commands().size(), 1u);
  const HostCommand& command = tap.commands().front();
  EXPECT_EQ(command.sessionId + " " + command.cwd + " " + command.name + " " + command.arguments,
            "s /code/s tap-doctor get_weather");
  EXPECT_EQ(text(), "none");
  tap.finishCommand(command.number, "all is well\nreally");
  EXPECT_EQ(text(), "c1: all is well\nreally");
}

TEST_F(SlashCommand, IsAnsweredOnceHoweverOftenTheHostFinishesIt) {
  run("c1");
  const CommandNumber number = tap.commands().front().number;
  tap.finishCommand(number, "first");
  tap.finishCommand(number, "second");
  tap.finishCommand(CommandNumber{4711}, "nobody's");
  EXPECT_EQ(text(), "c1: first");
  EXPECT_EQ(text(), "none");
}

TEST_F(SlashCommand, ThatTheHostDoesNotFinishIsAnsweredInTime) {
  run("c1");
  tap.advance(29'999);
  EXPECT_EQ(text(), "none");
  tap.advance(1);
  EXPECT_EQ(text(), "c1: tap: the command did not finish within 30 s");
  tap.finishCommand(tap.commands().front().number, "late");
  EXPECT_EQ(text(), "none");
}

TEST_F(SlashCommand, WithAHostileNameNeverReachesTheHost) {
  for (const char* name : {"../tap", "__proto__", "Tap", "tap pair", "tap\x1b[2J", "t\xc3\xa4p"}) {
    run("c1", name);
    EXPECT_EQ(text().rfind("c1: tap: there is no command \"", 0), 0u) << name;
  }
  EXPECT_TRUE(tap.commands().empty());
}

TEST_F(SlashCommand, WhoseTextHidesSomethingShowsIt) {
  run("c1");
  tap.finishCommand(tap.commands().front().number, "a\x1b[2Jb");
  EXPECT_EQ(text(), "c1: a\\x1b[2Jb");
}

TEST_F(SlashCommand, OfALinkThatHasEndedIsForgotten) {
  run("c1");
  tap.cut(session);
  tap.finishCommand(tap.commands().front().number, "too late");
  EXPECT_TRUE(tap.state().commands.empty());
  tap.advance(60'000);
}

TEST_F(SlashCommand, OfASessionThatHasEndedSaysSo) {
  tap.send(session, protocol::EndSession{"over"});
  run("c1");
  EXPECT_EQ(text(), "c1: tap: this session has ended");
  EXPECT_TRUE(tap.commands().empty());
}

TEST_F(SlashCommand, ThatCannotBeReadIsAnsweredAtOnce) {
  tap.linkText(session, R"({"type":"command.run","commandId":"c1","name":5})");
  EXPECT_EQ(text().rfind("c1: tap: the command cannot be read: ", 0), 0u);
  const std::string most(protocol::kMaxCommandArguments, 'x');
  for (const char* more : {"", "x"}) {
    tap.linkText(session, R"({"type":"command.run","commandId":"c2","name":"tap","arguments":")" +
                              most + more + R"("})");
  }
  EXPECT_EQ(tap.commands().size(), 1u);
  EXPECT_EQ(text().rfind("c2: tap: the command cannot be read: command.run.arguments", 0), 0u);
}

TEST_F(FewSlashCommands, BeyondTheLimitAreRefusedUntilOneHasFinished) {
  const PeerId other = tap.session("t");
  run("c1");
  run("c2");
  run("c3", "tap-doctor");
  EXPECT_EQ(text().rfind("c3: tap: /tap-doctor", 0), 0u);
  tap.send(other, protocol::RunCommand{"c1", "tap", ""});
  EXPECT_EQ(tap.commands().size(), 3u) << "each session has its own";
  tap.finishCommand(tap.commands().front().number, "done");
  EXPECT_EQ(text(), "c1: done");
  run("c4");
  EXPECT_EQ(tap.commands().size(), 4u);
}

TEST_F(FewSlashCommands, WithALongTextAreCut) {
  run("c1");
  tap.finishCommand(tap.commands().front().number, std::string(100, 'x'));
  EXPECT_EQ(text(), "c1: " + std::string(17, 'x') + "…");
}

}  // namespace
}  // namespace tap::gateway::test
