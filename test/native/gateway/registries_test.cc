// The registries underneath: calls in flight, providers, sessions.
#include <gtest/gtest.h>

#include <algorithm>

#include "gateway/providers.h"
#include "gateway/sessions.h"
#include "gateway/tool_router.h"

namespace tap::gateway {
namespace {

constexpr PeerId kOne{1};
constexpr PeerId kTwo{2};

CallInFlight call(std::string id, std::string session, std::string sessionCall, PeerId provider) {
  CallInFlight call;
  call.id = std::move(id);
  call.sessionId = std::move(session);
  call.sessionCallId = std::move(sessionCall);
  call.provider = provider;
  return call;
}

TEST(ToolRouter, GivesEachCallOutOnce) {
  ToolRouter router;
  EXPECT_TRUE(router.open(call("a", "s", "1", kOne)));
  EXPECT_NE(router.find("a"), nullptr);
  EXPECT_EQ(router.take("a")->sessionCallId, "1");
  EXPECT_FALSE(router.take("a"));
  EXPECT_FALSE(router.take("s", "1"));
  EXPECT_TRUE(router.empty());
}

TEST(ToolRouter, FindsACallByTheSessionsOwnId) {
  ToolRouter router;
  ASSERT_TRUE(router.open(call("a", "s", "1", kOne)));
  ASSERT_TRUE(router.open(call("b", "t", "1", kOne)));
  EXPECT_FALSE(router.take("s", "2"));
  EXPECT_FALSE(router.take("u", "1"));
  EXPECT_EQ(router.take("t", "1")->id, "b");
  EXPECT_EQ(router.take("s", "1")->id, "a");
}

TEST(ToolRouter, RefusesAnIdThatTheSessionUsesAlready) {
  ToolRouter router;
  ASSERT_TRUE(router.open(call("a", "s", "1", kOne)));
  EXPECT_FALSE(router.open(call("b", "s", "1", kTwo)));
  EXPECT_EQ(router.countOfSession("s"), 1u);
  EXPECT_EQ(router.countOfProvider(kTwo), 0u);
  EXPECT_EQ(router.take("s", "1")->id, "a");
}

TEST(ToolRouter, TakesAllOfAProviderOrASession) {
  ToolRouter router;
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(router.open(call(std::to_string(i), i % 2 == 0 ? "s" : "t", std::to_string(i),
                                 i % 3 == 0 ? kOne : kTwo)));
  }
  EXPECT_EQ(router.countOfProvider(kOne), 4u);
  EXPECT_EQ(router.takeOfProvider(kOne).size(), 4u);
  EXPECT_EQ(router.takeOfProvider(kOne).size(), 0u);
  EXPECT_EQ(router.countOfSession("s"), 4u);
  EXPECT_EQ(router.takeOfSession("s").size(), 4u);
  EXPECT_EQ(router.countOfProvider(kTwo), 4u);
  EXPECT_EQ(router.takeOfSession("t").size(), 4u);
  EXPECT_TRUE(router.empty());
}

struct Registry : ::testing::Test {
  Limits limits;
  Providers providers;

  Provider& add(PeerId peer, const std::string& name, const std::vector<std::string>& tools) {
    Provider& provider = providers.add(peer, limits);
    provider.name = name;
    provider.tools = definitions(tools);
    providers.bind(provider, "s");
    return provider;
  }
  static std::vector<protocol::ToolDefinition> definitions(const std::vector<std::string>& names) {
    std::vector<protocol::ToolDefinition> all;
    for (const std::string& name : names) all.push_back({name, {}, "{\"name\":\"" + name + "\"}"});
    return all;
  }
  std::string owner(const std::string& tool) {
    const auto served = providers.byTool("s", tool);
    return served ? served->provider->name + "/" + served->tool->name : "nobody";
  }
};

TEST_F(Registry, FindsProvidersByToolAndName) {
  add(kOne, "p", {"a", "b"});
  add(kTwo, "q", {"c"});
  EXPECT_EQ(owner("b"), "p/b");
  EXPECT_EQ(owner("c"), "q/c");
  EXPECT_EQ(owner("d"), "nobody");
  EXPECT_EQ(providers.byName("s", "q")->peer, kTwo);
  EXPECT_EQ(providers.byName("t", "q"), nullptr);
  EXPECT_EQ(providers.toolCount("s"), 3u);
}

TEST_F(Registry, ForgetsAProvidersToolsWithIt) {
  add(kOne, "p", {"a"});
  add(kTwo, "q", {"b"});
  providers.erase(kOne);
  EXPECT_EQ(owner("a"), "nobody");
  EXPECT_EQ(providers.inSession("s").size(), 1u);
  EXPECT_EQ(providers.snapshot("s").count("p"), 0u);
  providers.erase(kTwo);
  EXPECT_EQ(providers.toolCount("s"), 0u);
  EXPECT_TRUE(providers.snapshot("s").empty());
}

TEST_F(Registry, ReplacesTools) {
  Provider& provider = add(kOne, "p", {"a", "b"});
  const std::string before = provider.digest;
  providers.setTools(provider, definitions({"b", "c"}));
  EXPECT_EQ(owner("a"), "nobody");
  EXPECT_EQ(owner("c"), "p/c");
  EXPECT_NE(provider.digest, before);
  providers.setTools(provider, definitions({"a", "b"}));
  EXPECT_EQ(provider.digest, before);
}

TEST_F(Registry, TheDigestKnowsNameAndOrder) {
  Provider& p = add(kOne, "p", {"a", "b"});
  const std::string digest = p.digest;
  providers.setTools(p, definitions({"b", "a"}));
  EXPECT_NE(p.digest, digest);
  EXPECT_NE(add(kTwo, "q", {"x", "y"}).digest, digest);
}

TEST_F(Registry, LeavesOutRefusedTools) {
  Provider& provider = add(kOne, "p", {"a", "b"});
  const std::string before = provider.digest;
  providers.refuse(provider, "a");
  EXPECT_EQ(owner("a"), "nobody");
  EXPECT_EQ(owner("b"), "p/b");
  EXPECT_NE(provider.digest, before);
  EXPECT_EQ(providers.snapshot("s").size(), 1u);
  providers.refuse(provider, "b");
  EXPECT_TRUE(providers.snapshot("s").empty());
  providers.setTools(provider, definitions({"a", "b"}));
  EXPECT_EQ(provider.digest, before);
}

TEST_F(Registry, AProviderThatTakesARefusedNameKeepsIt) {
  Provider& first = add(kOne, "p", {"a"});
  providers.refuse(first, "a");
  add(kTwo, "q", {"a"});
  EXPECT_EQ(owner("a"), "q/a");
  providers.setTools(first, {});
  EXPECT_EQ(owner("a"), "q/a");
}

TEST(SessionRegistry, OneProcessSpeaksForASession) {
  const Limits limits;
  Sessions sessions;
  Session& session = *sessions.obtain("s", limits);
  EXPECT_EQ(sessions.obtain("s", limits), &session);
  sessions.attach(session, kOne);
  sessions.attach(session, kTwo);
  EXPECT_EQ(sessions.byPeer(kOne), nullptr);
  EXPECT_EQ(sessions.byPeer(kTwo), &session);
  sessions.detach(session);
  EXPECT_EQ(sessions.byPeer(kTwo), nullptr);
  sessions.attach(session, kOne);
  sessions.erase("s");
  EXPECT_EQ(sessions.byPeer(kOne), nullptr);
  EXPECT_TRUE(sessions.allEnded());
}

}  // namespace
}  // namespace tap::gateway
