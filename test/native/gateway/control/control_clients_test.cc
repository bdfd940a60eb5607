// A control client inspects the gateway and calls tools, without a model (docs/session-link.md,
// "control.open").
#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

struct ControlClient : testing::Test {
  explicit ControlClient(const Limits& limits = {}) : tap(limits, "s3cret") {}

  Harness tap;
  PeerId session = tap.session("s", [](auto& r) { r.secret = "s3cret"; });

  PeerId control(const std::string& sessionId = "") {
    const PeerId link = tap.newPeer();
    tap.send(link, protocol::OpenControl{"s3cret", sessionId});
    EXPECT_EQ(tap.expect<protocol::Welcome>(link).version, "1.2.3");
    return link;
  }
  PeerId otherSession(const std::string& id) {
    return tap.session(id, [](auto& r) { r.secret = "s3cret"; });
  }
  Message inspect(PeerId link) {
    tap.send(link, protocol::Inspect{});
    return Message(tap.expect<protocol::Inspection>(link).report);
  }
};

TEST_F(ControlClient, NeedsTheSecret) {
  for (const char* secret : {"", "wrong"}) {
    const PeerId link = tap.newPeer();
    tap.send(link, protocol::OpenControl{secret, ""});
    EXPECT_EQ(tap.expect<protocol::Refused>(link).code, "SECRET");
    EXPECT_TRUE(tap.closed(link));
  }
  for (const protocol::LinkMessage& message :
       {protocol::LinkMessage(protocol::Inspect{}), protocol::LinkMessage(protocol::Trace{}),
        protocol::LinkMessage(protocol::ListCalls{}),
        protocol::LinkMessage(protocol::Call{"1", "t", Slice(std::string("{}"))})}) {
    const PeerId stranger = tap.newPeer();
    tap.send(stranger, message);
    EXPECT_EQ(tap.expect<protocol::Refused>(stranger).code, "NOT_REGISTERED");
    EXPECT_TRUE(tap.closed(stranger));
  }
}

TEST_F(ControlClient, CallsAToolAndGetsItsAnswer) {
  const PeerId weather = tap.bound("weather", "s", {"forecast"});
  const PeerId link = control();
  tap.call(link, "1", "forecast", R"({"city":"Oslo"})");
  const Message call = tap.take(weather, "tool.call");
  EXPECT_EQ(call.get("args.city"), "Oslo");
  EXPECT_EQ(call.get("sessionId"), "s");
  tap.say(weather, result(call.get("id"), R"("rain")"));
  EXPECT_EQ(tap.outcome(link), "1 ok \"rain\"");
  EXPECT_EQ(tap.count<protocol::CallResult>(session), 0U) << "the session did not ask";
}

TEST_F(ControlClient, OfAFeatureCallsAToolAndItsEndCancelsTheCall) {
  const PeerId weather = tap.bound("weather", "s", {"forecast"});
  const PeerId link = tap.newPeer();
  tap.send(link, protocol::OpenControl{tap.featureToken(), "s"});
  tap.expect<protocol::Welcome>(link);
  tap.call(link, "1", "forecast");
  tap.say(weather, result(tap.take(weather, "tool.call").get("id"), R"("rain")"));
  EXPECT_EQ(tap.outcome(link), "1 ok \"rain\"");
  tap.call(link, "2", "forecast");
  const std::string id = tap.take(weather, "tool.call").get("id");
  tap.cut(link);
  EXPECT_EQ(tap.take(weather, "tool.cancel").get("id"), id);
}

TEST_F(ControlClient, CallsInTheSessionLastInUseThatHasTheTool) {
  const PeerId second = otherSession("t");
  otherSession("u");
  const PeerId first = tap.bound("one", "s", {"tool"});
  const PeerId other = tap.bound("two", "t", {"tool"});
  tap.send(second, protocol::ActivityChanged{protocol::Activity::UserPrompt});
  tap.call(control(), "1", "tool");
  EXPECT_EQ(tap.take(other, "tool.call").get("sessionId"), "t");
  tap.call(control("s"), "1", "tool");
  EXPECT_EQ(tap.take(first, "tool.call").get("sessionId"), "s");
}

TEST_F(ControlClient, HearsThatThereIsNoSuchToolOrSession) {
  const PeerId link = control();
  tap.call(link, "1", "nothing");
  EXPECT_EQ(tap.outcome(link), "1 NOT_FOUND");
  const PeerId lost = control("gone");
  tap.call(lost, "1", "nothing");
  EXPECT_EQ(tap.outcome(lost), "1 INVALID_SESSION");
  const PeerId here = control("s");
  tap.call(here, "1", "nothing");
  EXPECT_EQ(tap.outcome(here), "1 DISCONNECTED");
}

TEST_F(ControlClient, SharesNoCallIdWithTheSession) {
  const PeerId weather = tap.bound("weather", "s", {"forecast"});
  const PeerId link = control("s");
  const std::string its = tap.callTo(session, weather, "1", "forecast");
  const std::string ours = tap.callTo(link, weather, "1", "forecast");
  const PeerId another = control("s");
  const std::string third = tap.callTo(another, weather, "1", "forecast");
  tap.say(weather, result(ours, "1"));
  tap.say(weather, result(third, "3"));
  tap.say(weather, result(its, "2"));
  EXPECT_EQ(tap.outcome(link), "1 ok 1");
  EXPECT_EQ(tap.outcome(session), "1 ok 2");
  EXPECT_EQ(tap.outcome(another), "1 ok 3");
  tap.call(link, "1", "forecast");
  tap.call(link, "1", "forecast");
  EXPECT_EQ(tap.outcome(link), "1 INTERNAL") << "a duplicate id";
}

TEST_F(ControlClient, CancelsItsCall) {
  const PeerId weather = tap.bound("weather", "s", {"forecast"});
  const PeerId link = control();
  const std::string id = tap.callTo(link, weather, "1", "forecast");
  tap.send(link, protocol::CancelCall{"1", "enough"});
  EXPECT_EQ(tap.take(weather, "tool.cancel").get("id"), id);
  tap.say(weather, result(id));
  EXPECT_EQ(tap.outcome(link), "none");
  EXPECT_TRUE(tap.state().calls.empty());
}

TEST_F(ControlClient, LeavesNoCallBehindWhenItGoes) {
  const PeerId weather = tap.bound("weather", "s", {"forecast"});
  const PeerId link = control();
  const std::string id = tap.callTo(link, weather, "1", "forecast");
  tap.cut(link);
  EXPECT_EQ(tap.take(weather, "tool.cancel").get("id"), id);
  EXPECT_TRUE(tap.state().calls.empty());
  EXPECT_EQ(tap.state().controlClients.findSessionId(link), nullptr);
}

TEST_F(ControlClient, HearsWhenTheSessionOrTheProviderEnds) {
  const PeerId weather = tap.bound("weather", "s", {"forecast"});
  const PeerId link = control();
  (void)tap.callTo(link, weather, "1", "forecast");
  tap.lose(weather);
  EXPECT_EQ(tap.outcome(link), "1 DISCONNECTED");
  const PeerId again = tap.bound("weather", "s", {"forecast"});
  (void)tap.callTo(link, again, "2", "forecast");
  tap.send(session, protocol::EndSession{"over"});
  EXPECT_EQ(tap.outcome(link), "2 CANCELLED");
  EXPECT_EQ(tap.count(again, "tool.cancel"), 1U);
}

TEST_F(ControlClient, OutlivesAReloadOfTheSession) {
  const PeerId weather = tap.bound("weather", "s", {"forecast"});
  const PeerId link = control();
  const std::string id = tap.callTo(link, weather, "1", "forecast");
  tap.cut(session);
  otherSession("s");
  tap.say(weather, result(id, "7"));
  EXPECT_EQ(tap.outcome(link), "1 ok 7");
}

TEST_F(ControlClient, WaitsNoLongerThanTheToolsTimeout) {
  const PeerId slow = tap.boundWith("slow", "s", "[" + tool("wait", R"(,"timeout":1000)") + "]");
  const PeerId link = control();
  const std::string id = tap.callTo(link, slow, "1", "wait");
  tap.advance(900);
  tap.say(slow, R"({"type":"tool.progress","message":"m","id":")" + id + "\"}");
  EXPECT_EQ(tap.expect<protocol::CallProgress>(link).callId, "1");
  tap.advance(1100);
  EXPECT_EQ(tap.outcome(link), "1 TIMEOUT");
}

TEST_F(ControlClient, GetsAFileAsTheResult) {
  const PeerId files = tap.bound("files", "s", {"read"});
  const PeerId link = control();
  const std::string id = tap.callTo(link, files, "1", "read");
  tap.say(files, R"({"type":"tool.result","id":")" + id +
                     R"(","file":{"path":"/home/u/providers/files/a","mimeType":"text/plain",)"
                     R"("size":3,"ttl":60}})");
  const std::vector<ReadFile> reads = tap.reads();
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(reads[0].link, link);
  tap.fileRead(reads[0].callId, FileContent{Slice(std::string("\"abc\"")), {}});
  EXPECT_EQ(tap.outcome(link), "1 ok \"abc\"");
}

TEST_F(ControlClient, IsNoSession) {
  const PeerId link = control();
  tap.send(link, protocol::ActivityChanged{protocol::Activity::Busy});
  EXPECT_EQ(tap.expect<protocol::Refused>(link).code, "NOT_REGISTERED");
  EXPECT_TRUE(tap.closed(link));
  tap.send(link, protocol::Inspect{});
  EXPECT_EQ(tap.count<protocol::Inspection>(link), 0U);
}

TEST_F(ControlClient, IsNotASessionsLink) {
  const std::vector<protocol::LinkMessage> messages{protocol::OpenControl{"s3cret", ""},
                                                    protocol::Inspect{}, protocol::Trace{},
                                                    protocol::ListCalls{}};
  for (const protocol::LinkMessage& message : messages) {
    const PeerId link = otherSession("t");
    tap.send(link, message);
    EXPECT_EQ(tap.expect<protocol::Refused>(link).code, "NOT_REGISTERED");
    EXPECT_TRUE(tap.closed(link));
  }
}

TEST_F(ControlClient, MayBecomeASession) {
  const PeerId weather = tap.bound("weather", "s", {"forecast"});
  const PeerId link = control();
  (void)tap.callTo(link, weather, "1", "forecast");
  protocol::Register registration = Harness::registration("t");
  registration.secret = "s3cret";
  tap.send(link, registration);
  tap.expect<protocol::Tools>(link);
  EXPECT_EQ(tap.state().controlClients.findSessionId(link), nullptr);
  EXPECT_EQ(tap.count(weather, "tool.cancel"), 1U);
}

TEST_F(ControlClient, IsAnsweredAndKeepsNoSessionAlive) {
  const PeerId link = control();
  tap.send(link, protocol::Ping{});
  tap.expect<protocol::Pong>(link);
  tap.send(session, protocol::EndSession{"over"});
  tap.advance(30'000);
  EXPECT_TRUE(tap.told(HostAction::Exit));
}

struct FewCalls : ControlClient {
  FewCalls() : ControlClient(few()) {}
  static Limits few() {
    Limits limits;
    limits.set(Limit::CallsPerSession, 1);
    return limits;
  }
};

TEST_F(FewCalls, AreAControlClientsOwn) {
  const PeerId weather = tap.bound("weather", "s", {"forecast"});
  const PeerId link = control();
  (void)tap.callTo(session, weather, "1", "forecast");
  (void)tap.callTo(link, weather, "1", "forecast");
  tap.call(link, "2", "forecast");
  EXPECT_EQ(tap.outcome(link), "2 RATE_LIMITED");
}

using Inspecting = ControlClient;

TEST_F(Inspecting, ShowsSessionsProvidersAndTools) {
  const PeerId weather = tap.bound("weather", "s", {"forecast"});
  const PeerId page = tap.open("https://a.example");
  (void)tap.callTo(session, weather, "1", "forecast");
  const Message report = inspect(control());
  EXPECT_EQ(report.get("version"), "1.2.3");
  EXPECT_EQ(report.get("pid"), "77");
  EXPECT_EQ(report.get("startedAt"), "1700000000000");
  EXPECT_EQ(report.get("sessions.0.id"), "s");
  EXPECT_EQ(report.get("sessions.0.cwd"), "/code/s");
  EXPECT_EQ(report.get("sessions.0.linked"), "true");
  EXPECT_EQ(report.get("sessions.0.mode"), "live");
  EXPECT_EQ(report.get("sessions.0.callsInFlight"), "1");
  EXPECT_EQ(report.get("sessions.0.settled"), "false") << "the tool is on its way";
  EXPECT_EQ(report.size("providers"), 2U);
  const std::string first =
      report.get("providers.0.name") == "weather" ? "providers.0" : "providers.1";
  const std::string second = first == "providers.0" ? "providers.1" : "providers.0";
  EXPECT_EQ(report.get(first + ".trust"), "project");
  EXPECT_EQ(report.get(first + ".bindings.0.session"), "s");
  EXPECT_EQ(report.get(first + ".bindings.0.tools.0.name"), "forecast");
  EXPECT_EQ(report.get(second + ".trust"), "none");
  EXPECT_EQ(report.get(second + ".origin"), "https://a.example");
  EXPECT_EQ(report.size("limits"), kLimitTable.size());
  tap.lose(page);
}

TEST_F(Inspecting, ShowsThatTheSessionHasNotAnsweredForItsHooks) {
  const PeerId link = control();
  EXPECT_EQ(inspect(link).get("sessions.0.hooks"), "in-force") << "there are no hooks";
  const PeerId guard = tap.authed();
  tap.say(guard, helloWith("guard", "s", R"("hooks":{"onPreToolUse":[{"action":"deny"}]})"));
  EXPECT_EQ(inspect(link).get("sessions.0.hooks"), "pending");
  const auto told = tap.expect<protocol::Hooks>(session);
  tap.send(session, protocol::HooksState{told.revision});
  EXPECT_EQ(inspect(link).get("sessions.0.hooks"), "in-force");
}

TEST_F(Inspecting, FitsTheLinkHoweverLargeTheToolsAre) {
  // More than the default of any party.
  tap.state().config.limits.set(Limit::KeptBytesPerParty, 1'000 * kMegabyte);
  tap.state().config.limits.set(Limit::KeptBytes, 1'000 * kMegabyte);
  for (int i = 0; i < 60; ++i) otherSession("s" + std::to_string(i));
  const std::string schema =
      R"(,"parameters":{"type":"object","description":")" + std::string(1'400'000, 'x') + R"("})";
  const PeerId large = tap.authed();
  tap.say(large, hello("large", "all", "[" + tool("huge", schema) + "]"));
  for (int i = 0; i < 60; ++i) {
    tap.say(large, R"({"type":"session.ready","sessionId":"s)" + std::to_string(i) + R"("})");
  }
  const PeerId link = control();
  tap.send(link, protocol::Inspect{});
  const std::string report = tap.expect<protocol::Inspection>(link).report;
  EXPECT_LT(report.size(), size_t{10} * kMegabyte);
  const Message message(report);
  EXPECT_EQ(message.get("complete"), "false");
  EXPECT_GT(message.size("providers.0.bindings"), 50U);
  EXPECT_EQ(message.get("providers.0.bindings.50.tools.0.name"), "huge");
}

TEST_F(Inspecting, ShowsHowCallsWent) {
  const PeerId weather = tap.bound("weather", "s", {"forecast"});
  for (int i = 0; i < 3; ++i) {
    const std::string id = tap.callTo(session, weather, std::to_string(i), "forecast");
    tap.advance(5);
    tap.say(weather, i == 0 ? failure(id, "NOT_FOUND", "no such city") : result(id));
  }
  const Message report = inspect(control());
  EXPECT_EQ(report.get("tools.0.provider"), "weather");
  EXPECT_EQ(report.get("tools.0.tool"), "forecast");
  EXPECT_EQ(report.get("tools.0.calls"), "3");
  EXPECT_EQ(report.get("tools.0.failed"), "1");
  EXPECT_EQ(report.get("tools.0.p50Ms"), "5");
  EXPECT_EQ(report.get("failures.0.code"), "NOT_FOUND");
  EXPECT_NE(report.get("failures.0.message").find("no such city"), std::string::npos);
}

TEST_F(Inspecting, ShowsWhyToolsAreNotInForce) {
  tap.bound("weather", "s", {"forecast"});
  tap.advance(300);
  const auto event = tap.expect<protocol::Tools>(session);
  tap.send(session, protocol::SyncFailed{event.revision, "clash: forecast", {"forecast"}});
  const PeerId link = control();
  const Message report = inspect(link);
  EXPECT_EQ(report.get("sessions.0.syncFailure"), "clash: forecast");
  EXPECT_EQ(report.get("providers.0.bindings.0.refused.0"), "forecast");
  tap.bound("other", "s", {"another"});
  tap.advance(300);
  (void)tap.confirmTools(session);
  EXPECT_EQ(inspect(link).get("sessions.0.syncFailure"), kAbsent);
}

using Tracing = ControlClient;

TEST_F(Tracing, ShowsWhatProvidersSayAndAreTold) {
  const PeerId link = control();
  tap.send(link, protocol::Trace{});
  tap.send(link, protocol::Trace{});
  const PeerId weather = tap.open();
  tap.say(weather, auth());
  tap.say(weather, hello("weather", "s"));
  tap.lose(weather);
  std::string seen;
  while (const auto frame = tap.find<protocol::TraceFrame>(link)) {
    EXPECT_EQ(frame->connection, static_cast<int64_t>(weather));
    EXPECT_EQ(frame->at, tap.now().unixMillis);
    const Message message{std::string(frame->text.view())};
    switch (frame->kind) {
      case protocol::TraceKind::Opened:
        seen += "opened";
        break;
      case protocol::TraceKind::Received:
        seen += ", <" + message.type();
        break;
      case protocol::TraceKind::Sent:
        seen += ", >" + message.type() + " (" + frame->provider + ")";
        break;
      case protocol::TraceKind::Closed:
        seen += ", closed: " + message.text();
    }
  }
  EXPECT_EQ(seen,
            "opened, <auth, >sessions (), <hello, >hello.ack (weather), >session.lifecycle "
            "(weather), closed: its connection was lost");
}

TEST_F(Tracing, EndsWithTheLink) {
  const PeerId link = control();
  tap.send(link, protocol::Trace{});
  tap.cut(link);
  tap.bound("weather", "s");
  EXPECT_EQ(tap.count<protocol::TraceFrame>(link), 0U);
}

TEST_F(Tracing, ShowsWhyTheGatewayClosesAConnection) {
  const PeerId link = control();
  tap.send(link, protocol::Trace{});
  const PeerId stranger = tap.open();
  tap.say(stranger, auth("wrong"));
  std::string reason;
  while (const auto frame = tap.find<protocol::TraceFrame>(link)) {
    if (frame->kind == protocol::TraceKind::Closed) reason = std::string(frame->text.view());
  }
  EXPECT_EQ(reason, "AUTH_FAILED");
}

}  // namespace
}  // namespace tap::gateway::test
