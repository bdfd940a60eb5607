// The log of calls: which calls it keeps, for whom, and how many.
#include "gateway/calls/call_log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

FinishedCall call(std::string_view provider, std::string_view tool) {
  FinishedCall one;
  one.provider = provider;
  one.tool = tool;
  one.args = "{}";
  return one;
}
size_t count(const CallLog& log, std::string_view what) {
  const std::string text = log.json(0);
  size_t found = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(CallLog, KeepsTheLastOfEachProviderAndOfAll) {
  CallLog log;
  log.add(call("quiet", "rare"));
  for (int i = 0; i < 5000; ++i) log.add(call("loud", "often"));
  EXPECT_EQ(count(log, "rare"), 1U) << "the calls of a session do not displace those of others";
  EXPECT_EQ(count(log, "often"), CallLog::kOfOneProvider);
  for (int i = 0; i < 2000; ++i) log.add(call("p" + std::to_string(i), "once"));
  EXPECT_EQ(count(log, "\"sequence\""), CallLog::kOfAll);
  EXPECT_NE(log.json(0).find("p1999"), std::string::npos);
  EXPECT_EQ(log.json(0).find("\"p10\""), std::string::npos) << "the oldest are evicted";
  EXPECT_NE(log.json(7'000).find("\"sequence\":7001"), std::string::npos);
}

TEST(CallLog, GivesThoseAfterANumberInOrder) {
  CallLog log;
  log.add(call("b", "one"));
  log.add(call("a", "two"));
  log.add(call("b", "three"));
  const Message after(R"({"calls":)" + log.json(1) + "}");
  EXPECT_EQ(after.get("calls.0.tool"), "two");
  EXPECT_EQ(after.get("calls.1.tool"), "three");
  EXPECT_EQ(after.get("calls.2.tool"), kAbsent);
  EXPECT_EQ(log.json(3), "[]");
}

TEST(CallLog, StaysInOrderWhereARingGivesASlotAway) {
  CallLog log;
  for (int i = 0; i < 300; ++i) log.add(call("loud", "t" + std::to_string(i)));
  for (int i = 0; i < 900; ++i) log.add(call("p" + std::to_string(i), "once"));
  for (int i = 300; i < 350; ++i) log.add(call("loud", "t" + std::to_string(i)));
  const std::string text = log.json(0);
  EXPECT_NE(text.find("\"t349\""), std::string::npos);
  EXPECT_EQ(text.find("\"t100\""), std::string::npos);
  EXPECT_EQ(count(log, "\"sequence\""), CallLog::kOfAll);
}

// Whoever has least is not pushed out by those who take turns.
TEST(CallLog, IsSharedEvenlyWhereItIsFull) {
  CallLog log;
  const std::vector<std::string> names{"a", "b", "c", "d", "e", "f", "g", "h"};
  for (int i = 0; i < 3000; ++i) log.add(call(names[static_cast<size_t>(i) % 6], "t"));
  for (int i = 0; i < 3000; ++i) log.add(call(names[static_cast<size_t>(i * i) % 8], "t"));
  for (int i = 0; i < 3000; ++i) log.add(call(names[static_cast<size_t>(i) % 8], "t"));
  EXPECT_EQ(count(log, "\"sequence\""), CallLog::kOfAll);
  for (const std::string& name : names) {
    EXPECT_EQ(count(log, "\"provider\":\"" + name + "\""), CallLog::kOfAll / names.size()) << name;
  }
  const Message all(R"({"calls":)" + log.json(0) + "}");
  int64_t last = 0;
  for (size_t i = 0; i < CallLog::kOfAll; ++i) {
    const int64_t sequence = std::stoll(all.get("calls." + std::to_string(i) + ".sequence"));
    EXPECT_GT(sequence, last);
    last = sequence;
  }
}

TEST(ArgsHead, IsCutBetweenCharacters) {
  EXPECT_EQ(ArgsHead("{}").text(), "{}");
  EXPECT_FALSE(ArgsHead("{}").cut());
  const std::string longer = std::string(511, 'x') + "ä";
  EXPECT_EQ(ArgsHead(longer).text(), std::string(511, 'x'));
  EXPECT_TRUE(ArgsHead(longer).cut());
}

struct LoggedCalls : testing::Test {
  Harness tap;
  PeerId session = tap.session("s");
  PeerId peer = tap.bound("weather", "s", {"forecast"});

  Message log() {
    const PeerId link = tap.newPeer();
    tap.send(link, protocol::OpenControl{"", ""});
    tap.send(link, protocol::ListCalls{0});
    return Message(R"({"calls":)" + tap.expect<protocol::CallsLogged>(link).calls + "}");
  }
  std::string called(const std::string& id) {
    tap.call(session, id, "forecast", R"({"city":"Oslo"})");
    return tap.take(peer, "tool.call").get("id");
  }
};

TEST_F(LoggedCalls, HaveTheirOutcomeAndHowLongTheyTook) {
  const std::string id = called("1");
  tap.advance(1'500);
  tap.say(peer, result(id));
  const std::string failing = called("2");
  tap.say(peer, R"({"type":"tool.result","error":"no city","errorCode":"NOT_FOUND","id":")" +
                    failing + "\"}");
  const Message calls = log();
  EXPECT_EQ(calls.get("calls.0.provider"), "weather");
  EXPECT_EQ(calls.get("calls.0.tool"), "forecast");
  EXPECT_EQ(calls.get("calls.0.session"), "s");
  EXPECT_EQ(calls.get("calls.0.args"), R"({"city":"Oslo"})");
  EXPECT_EQ(calls.get("calls.0.by"), "model");
  EXPECT_EQ(calls.get("calls.0.ms"), "1500");
  EXPECT_EQ(calls.get("calls.0.code"), kAbsent);
  EXPECT_EQ(calls.get("calls.1.code"), "NOT_FOUND");
}

TEST_F(LoggedCalls, HaveWhatWasCancelledAndWhatNobodyServed) {
  called("1");
  tap.send(session, protocol::CancelCall{"1", "aborted"});
  called("2");
  tap.cut(session);
  session = tap.link("s");
  tap.call(session, "3", "nowhere");
  const Message calls = log();
  EXPECT_EQ(calls.get("calls.0.code"), "CANCELLED");
  EXPECT_EQ(calls.get("calls.0.message"), "aborted");
  EXPECT_EQ(calls.get("calls.1.code"), "CANCELLED");
  EXPECT_EQ(calls.get("calls.2.tool"), "nowhere");
  EXPECT_EQ(calls.get("calls.2.code"), "DISCONNECTED");
}

TEST_F(LoggedCalls, HaveThoseWhoseArgumentsAreOfNoUse) {
  tap.call(session, "1", "forecast", "[1]");
  tap.linkText(session, R"({"type":"call","callId":"2","tool":"forecast","args":"Oslo"})");
  tap.linkText(session, R"({"type":"call","callId":"3","tool":"forecast","args":{"city":}})");
  const PeerId link = tap.newPeer();
  tap.send(link, protocol::OpenControl{"", "s"});
  tap.call(link, "4", "forecast", "5");
  const Message calls = log();
  const std::vector<std::string> args{"[1]", "\"Oslo\"", R"({"city":})", "5"};
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string call = "calls." + std::to_string(i);
    EXPECT_EQ(calls.get(call + ".code"), "INVALID_JSON") << i;
    EXPECT_EQ(calls.get(call + ".provider"), "weather") << i;
    EXPECT_EQ(calls.get(call + ".session"), "s") << i;
    EXPECT_EQ(calls.get(call + ".args"), args[i]) << i;
  }
  EXPECT_EQ(calls.get("calls.3.by"), "command");
  EXPECT_EQ(tap.state().stats.failures().size(), 4U);
}

TEST_F(LoggedCalls, HaveThoseWithoutASession) {
  const PeerId link = tap.newPeer();
  tap.send(link, protocol::OpenControl{"", ""});
  tap.call(link, "1", "nowhere");
  EXPECT_EQ(tap.outcome(link), "1 NOT_FOUND");
  tap.send(link, protocol::OpenControl{"", "unknown"});
  tap.call(link, "2", "forecast");
  EXPECT_EQ(tap.outcome(link), "2 INVALID_SESSION");
  const Message calls = log();
  EXPECT_EQ(calls.get("calls.0.code"), "NOT_FOUND");
  EXPECT_EQ(calls.get("calls.1.code"), "INVALID_SESSION");
  EXPECT_EQ(calls.get("calls.1.by"), "command");
  EXPECT_EQ(tap.state().stats.failures().size(), 2U);
}

TEST_F(LoggedCalls, HaveThoseOfASessionThatHasEnded) {
  tap.send(session, protocol::EndSession{"user_exit"});
  tap.advance(20'000);
  tap.call(session, "1", "forecast", "{}");
  EXPECT_EQ(log().get("calls.0.code"), "DISCONNECTED");
}

TEST_F(LoggedCalls, HaveTheListsOfInstancesThatTheGatewayItselfGives) {
  const PeerId tabs = tap.authed();
  std::string text = hello("tabs", "s", tools({"click"}));
  text.pop_back();
  tap.say(tabs, text + R"(,"instance":"one"})");
  tap.call(session, "1", "list_tabs_instances");
  const Message calls = log();
  EXPECT_EQ(calls.get("calls.0.tool"), "list_tabs_instances");
  EXPECT_EQ(calls.get("calls.0.provider"), "tabs");
  EXPECT_EQ(calls.get("calls.0.code"), kAbsent);
  EXPECT_TRUE(tap.state().stats.failures().empty());
}

TEST_F(LoggedCalls, SayWhereTheUserHasCalled) {
  const PeerId link = tap.newPeer();
  tap.send(link, protocol::OpenControl{"", "s"});
  tap.call(link, "1", "forecast");
  tap.say(peer, result(tap.take(peer, "tool.call").get("id")));
  EXPECT_EQ(log().get("calls.0.by"), "command");
}

}  // namespace
}  // namespace tap::gateway::test
