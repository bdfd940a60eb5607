// Groups of tools: a session has the tools of a group only while it is on (docs/architecture.md,
// "Tool groups"); and a tools.update whose ack waits until the session has the tools.
#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

std::string grouped(const std::string& name, const std::string& group) {
  return tool(name, R"(,"group":)" + quote(group));
}
std::string list(const std::vector<std::string>& parts) {
  std::string out = "[";
  for (const std::string& part : parts) out += (out.size() > 1 ? "," : "") + part;
  return out + "]";
}

struct ToolGroups : testing::Test {
  Harness tap;
  std::string token = tap.featureToken();
  PeerId records = tap.boundFeature(
      token, "tap-records",
      list({tool("always"), grouped("query", "records"), grouped("stats", "records")}));
  PeerId session = tap.session("s");

  // The names that the session would get with this provider's tools, as a text.
  std::string desired(const std::string& provider = "tap-records", const std::string& id = "s") {
    std::string names;
    for (const std::string& definition : tap.state().providers.definitions(id, provider)) {
      names += Message(definition).get("name") + " ";
    }
    return names;
  }
};

TEST_F(ToolGroups, AreLeftOutUntilTheyAreOn) {
  EXPECT_EQ(desired(), "always ");
  EXPECT_EQ(tap.state().providers.toolCount("s"), 1U);
  tap.openGroups("s", {"records"});
  const auto change = tap.expect<protocol::Tools>(session);
  ASSERT_EQ(change.set.size(), 1U);
  EXPECT_EQ(change.set[0].definitions.size(), 3U);
  EXPECT_EQ(change.set[0].definitions[1].find("group"), std::string::npos) << "not for the model";
  EXPECT_EQ(tap.opened(), "none") << "the session has not confirmed them";
  tap.send(session, protocol::Synced{change.revision});
  EXPECT_EQ(tap.opened(), "yes query stats");
  EXPECT_EQ(tap.expect<protocol::Groups>(session).names, std::vector<std::string>{"records"});
}

TEST_F(ToolGroups, AreOpenedWithoutADebounceAlsoRightAfterASwap) {
  tap.openGroups("s", {"records"});
  EXPECT_TRUE(tap.confirmTools(session));
  EXPECT_EQ(tap.opened(), "yes query stats");
  tap.boundFeature(token, "tap-plans", list({grouped("plan", "plans")}));
  tap.openGroups("s", {"plans"});
  EXPECT_TRUE(tap.confirmTools(session)) << "at once";
  EXPECT_EQ(tap.opened(), "yes plan");
}

TEST_F(ToolGroups, ThatAreOnAreInForceAtOnce) {
  tap.openGroups("s", {"records"});
  (void)tap.confirmTools(session);
  (void)tap.opened();
  tap.clear();
  tap.openGroups("s", {"records"});
  EXPECT_EQ(tap.opened(), "yes query stats");
  EXPECT_TRUE(tap.quiet(session));
}

TEST_F(ToolGroups, WaitForTheChangeThatIsInFlight) {
  tap.boundFeature(token, "tap-plans", list({tool("other"), grouped("plan", "plans")}));
  tap.advance(300);
  const auto before = tap.expect<protocol::Tools>(session);  // with "other"
  tap.openGroups("s", {"plans"});
  EXPECT_EQ(tap.count<protocol::Tools>(session), 0U) << "a single change at a time";
  tap.send(session, protocol::Synced{before.revision});
  EXPECT_EQ(tap.opened(), "none");
  tap.advance(1);
  EXPECT_TRUE(tap.confirmTools(session));
  EXPECT_EQ(tap.opened(), "yes plan");
}

TEST_F(ToolGroups, ThatTheSessionCannotTakeSaySo) {
  tap.openGroups("s", {"records"});
  const auto change = tap.expect<protocol::Tools>(session);
  tap.send(session, protocol::SyncFailed{change.revision, "the CLI said no", {}});
  EXPECT_EQ(tap.opened(), "no query stats: the CLI said no");
  tap.openGroups("s", {"records"});
  EXPECT_TRUE(tap.confirmTools(session)) << "a further call tries again";
  EXPECT_EQ(tap.opened(), "yes query stats");
}

TEST_F(ToolGroups, AreWaitedForTwoSeconds) {
  tap.openGroups("s", {"records"});
  tap.advance(1999);
  EXPECT_EQ(tap.opened(), "none");
  tap.advance(1);
  EXPECT_EQ(tap.opened(), "no query stats: the session has not confirmed its tools within 2000 ms");
  EXPECT_TRUE(tap.confirmTools(session));
  EXPECT_EQ(tap.opened(), "none") << "answered once";
}

TEST_F(ToolGroups, OfASessionThatReloadsComeLater) {
  const PeerId reloading = tap.session("r", [](auto& r) { r.mode = protocol::SyncMode::Reload; });
  tap.send(reloading, protocol::ActivityChanged{protocol::Activity::Busy});
  tap.openGroups("r", {"records"});
  tap.advance(2000);
  EXPECT_EQ(tap.opened(),
            "no query stats: this session changes its tools by a reload, which waits until no call "
            "runs");
}

TEST_F(ToolGroups, OfNoSessionCannotBeOpened) {
  tap.openGroups("nobody", {"records"});
  EXPECT_EQ(tap.opened(), "no: there is no session of that id");
  tap.openGroups("s", {"records"});
  tap.send(session, protocol::EndSession{"over"});
  EXPECT_EQ(tap.opened(), "no query stats: the session has ended");
}

TEST_F(ToolGroups, OfTheConfigArePartOfTheFirstTools) {
  tap.configGroups = {"records", "not a name", "plans"};
  const PeerId next = tap.link("t");
  EXPECT_EQ(tap.count<protocol::Welcome>(next), 1U);
  const auto first = tap.expect<protocol::Tools>(next);
  ASSERT_EQ(first.set.size(), 1U);
  EXPECT_EQ(first.set[0].definitions.size(), 3U);
  EXPECT_EQ(tap.expect<protocol::Groups>(next).names,
            (std::vector<std::string>{"plans", "records"}));
  EXPECT_EQ(desired(), "always ") << "the other session has its own";
}

TEST_F(ToolGroups, OutliveTheGatewayWithTheSessionsProcess) {
  const PeerId next = tap.link("t", [](auto& r) { r.groups = {"records"}; });
  EXPECT_EQ(tap.expect<protocol::Tools>(next).set[0].definitions.size(), 3U);
}

TEST_F(ToolGroups, OutliveTheirFeatureAndTheSessionsProcess) {
  tap.openGroups("s", {"records"});
  (void)tap.confirmTools(session);
  tap.lose(records);
  tap.advance(6'300);
  EXPECT_EQ(tap.confirmTools(session)->drop, std::vector<std::string>{"tap-records"});
  records = tap.boundFeature(token, "tap-records", list({grouped("query", "records")}));
  tap.advance(300);
  EXPECT_EQ(tap.confirmTools(session)->set[0].definitions.size(), 1U);
  tap.cut(session);
  const PeerId again = tap.link("s", [](auto& r) { r.joined = false; });
  EXPECT_EQ(tap.expect<protocol::Tools>(again).set[0].definitions.size(), 1U);
}

TEST_F(ToolGroups, AreNotThereAfterTheSession) {
  tap.openGroups("s", {"records"});
  (void)tap.confirmTools(session);
  tap.send(session, protocol::EndSession{"cleared"});
  tap.say(records, R"({"type":"shutdown.ready","sessionId":"s"})");
  const PeerId again = tap.link("s");
  EXPECT_EQ(tap.expect<protocol::Tools>(again).set[0].definitions.size(), 1U);
}

TEST_F(ToolGroups, KeepTheirNames) {
  const PeerId other = tap.authed();
  tap.say(other, hello("p", "s", tools({"query"})));
  EXPECT_EQ(tap.errorCode(other), "TOOL_CONFLICT");
}

TEST_F(ToolGroups, AreForTapsOwnFeaturesOnly) {
  const PeerId other = tap.boundWith("p", "s", list({grouped("mine", "records")}));
  EXPECT_EQ(desired("p"), "mine ");
  tap.say(other, update(list({tool("next", R"(,"group":{"any":"thing"})")})));
  EXPECT_TRUE(tap.quiet(other)) << "an unknown field";
  EXPECT_EQ(desired("p"), "next ");
  EXPECT_EQ(tap.inspect().get("sessions.0.groups.0.tools"), "2");
}

TEST_F(ToolGroups, AreBoundedInNumber) {
  std::vector<std::string> many;
  for (int i = 0; i < 100; ++i) many.push_back("g" + std::to_string(i));
  tap.addGroups("s", many);
  EXPECT_EQ(tap.expect<protocol::Groups>(session).names.size(), 64U);
  tap.addGroups("s", {"one-more"});
  EXPECT_EQ(tap.count<protocol::Groups>(session), 0U);
}

TEST_F(ToolGroups, SayWhatTheyCost) {
  tap.openGroups("s", {"plans"});
  const Message seen = tap.inspect();
  EXPECT_EQ(seen.get("sessions.0.groups.0.name") + seen.get("sessions.0.groups.0.on"), "planstrue");
  EXPECT_EQ(seen.get("sessions.0.groups.0.characters"), "0");
  EXPECT_EQ(seen.get("sessions.0.groups.1.name") + seen.get("sessions.0.groups.1.on"),
            "recordsfalse");
  size_t size = 0;
  for (const auto& one : tap.state().providers.find(records)->in("s")->tools) {
    if (!one.group.empty()) size += one.json.size();
  }
  EXPECT_EQ(seen.get("sessions.0.groups.1.characters"), std::to_string(size));
}

struct InForceUpdates : testing::Test {
  Harness tap;
  PeerId session = tap.session("s");
  PeerId peer = tap.bound("p", "s", {"a"});

  InForceUpdates() {
    tap.advance(300);
    (void)tap.confirmTools(session);
    tap.clear();
  }
  void change(const std::string& name, const std::string& id = "r1") {
    tap.say(peer, R"({"type":"tools.update","inForce":true,"remove":[],"requestId":)" + quote(id) +
                      R"(,"tools":)" + tools({name}) + "}");
  }
};

// shows: P-UPDATE-10
TEST_F(InForceUpdates, AreAcknowledgedOnceTheSessionHasTheTools) {
  change("b");
  EXPECT_TRUE(tap.quiet(peer));
  tap.advance(300);
  EXPECT_TRUE(tap.quiet(peer));
  (void)tap.confirmTools(session);
  const Message ack = tap.take(peer);
  EXPECT_EQ(ack.type() + " " + ack.get("requestId") + " " + ack.get("inForce"), "ack r1 true");
  EXPECT_EQ(ack.get("reason"), kAbsent);
}

// shows: P-UPDATE-10
TEST_F(InForceUpdates, ThatChangeNothingAreAcknowledgedAtOnce) {
  tap.say(peer, R"({"type":"tools.update","inForce":true,"remove":[],"requestId":"r1"})");
  EXPECT_EQ(tap.take(peer).get("inForce"), "true");
  change("b");
  tap.say(peer, R"({"type":"tools.update","remove":["b"],"requestId":"r2"})");
  EXPECT_EQ(tap.take(peer).get("requestId"), "r1") << "undone, so there is no change to wait for";
  EXPECT_EQ(tap.take(peer).get("requestId"), "r2");
}

// shows: P-UPDATE-11
TEST_F(InForceUpdates, ThatDoNotComeInTimeSaySo) {
  change("b");
  tap.advance(2000);
  const Message ack = tap.take(peer);
  EXPECT_EQ(ack.get("inForce"), "false");
  EXPECT_EQ(ack.get("reason"), "the session has not confirmed its tools within 2000 ms");
  tap.confirmTools(session);
  EXPECT_TRUE(tap.quiet(peer)) << "acknowledged once";
}

// shows: P-UPDATE-11
TEST_F(InForceUpdates, ThatTheCliRefusesSaySo) {
  change("b");
  tap.advance(300);
  const auto plan = tap.expect<protocol::Tools>(session);
  tap.send(session, protocol::SyncFailed{plan.revision, "no such tools", {}});
  EXPECT_EQ(tap.take(peer, "ack").get("reason"), "no such tools");
  change("b", "r2");
  EXPECT_EQ(tap.take(peer, "ack").get("inForce"), "false") << "the same set is not tried again";
}

TEST_F(InForceUpdates, OfAProviderThatIsGoneAreForgotten) {
  change("b");
  tap.lose(peer);
  tap.advance(3000);
  const PeerId other = tap.bound("q", "s", {"c"});
  tap.say(other, R"({"type":"tools.update","inForce":true,"remove":[],"requestId":"x"})");
  tap.say(other, kGoodbye);
  tap.advance(3000);
  EXPECT_TRUE(tap.state().sessions.find("s")->toolsWaiters.empty());
}

TEST_F(InForceUpdates, WaitForTheNextProcessOfTheSession) {
  change("b");
  tap.cut(session);
  session = tap.link("s");
  tap.advance(300);
  EXPECT_TRUE(tap.quiet(peer)) << "it has not confirmed them";
  while (tap.confirmTools(session)) tap.advance(300);
  EXPECT_EQ(tap.take(peer, "ack").get("inForce"), "true");
}

// shows: P-UPDATE-10
TEST_F(InForceUpdates, OfAllSessionsAreAcknowledgedForEach) {
  const PeerId other = tap.session("t");
  const PeerId all = tap.bound("everywhere", "all", {"x"});
  tap.advance(300);
  (void)tap.confirmTools(session);
  (void)tap.confirmTools(other);
  tap.clear();
  tap.say(all,
          R"({"type":"tools.update","inForce":true,"remove":["x"],"requestId":"r1","tools":[]})");
  tap.advance(600);
  (void)tap.confirmTools(session);
  EXPECT_EQ(tap.take(all).get("sessionId"), "s");
  EXPECT_TRUE(tap.quiet(all));
  (void)tap.confirmTools(other);
  EXPECT_EQ(tap.take(all).get("sessionId"), "t");
}

}  // namespace
}  // namespace tap::gateway::test
