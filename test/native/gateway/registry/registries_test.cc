// The registries underneath: calls in flight, providers, sessions.
#include <gtest/gtest.h>

#include <algorithm>

#include "gateway/calls/tool_router.h"
#include "gateway/registry/providers.h"
#include "gateway/registry/sessions.h"

namespace tap::gateway {
namespace {

constexpr PeerId kOne{1};
constexpr PeerId kTwo{2};

CallId id(uint64_t number) {
  return {0, number};
}

CallPtr call(uint64_t number, std::string session, std::string sessionCall, PeerId provider) {
  auto call = std::make_unique<CallInFlight>();
  call->id = id(number);
  call->sessionId = std::move(session);
  call->sessionCallId = std::move(sessionCall);
  call->provider = provider;
  return call;
}

TEST(ToolRouter, GivesEachCallOutOnce) {
  ToolRouter router;
  EXPECT_TRUE(router.open(call(1, "s", "1", kOne)));
  EXPECT_NE(router.find(id(1)), nullptr);
  EXPECT_EQ(router.take(id(1))->sessionCallId, "1");
  EXPECT_FALSE(router.take(id(1)));
  EXPECT_FALSE(router.take("s", "1"));
  EXPECT_TRUE(router.empty());
}

TEST(ToolRouter, FindsACallByTheSessionsOwnId) {
  ToolRouter router;
  ASSERT_TRUE(router.open(call(1, "s", "1", kOne)));
  ASSERT_TRUE(router.open(call(2, "t", "1", kOne)));
  EXPECT_FALSE(router.take("s", "2"));
  EXPECT_FALSE(router.take("u", "1"));
  EXPECT_EQ(router.take("t", "1")->id, id(2));
  EXPECT_EQ(router.take("s", "1")->id, id(1));
}

TEST(ToolRouter, RefusesAnIdThatTheSessionUsesAlready) {
  ToolRouter router;
  ASSERT_TRUE(router.open(call(1, "s", "1", kOne)));
  EXPECT_FALSE(router.open(call(2, "s", "1", kTwo)));
  EXPECT_EQ(router.countOfSession("s"), 1u);
  EXPECT_EQ(router.countOfProvider(kTwo), 0u);
  EXPECT_EQ(router.take("s", "1")->id, id(1));
  ASSERT_TRUE(router.open(call(3, "s", "1", kTwo)));
}

TEST(ToolRouter, TakesAllOfAProviderOrASession) {
  ToolRouter router;
  for (uint64_t i = 0; i < 12; ++i) {
    ASSERT_TRUE(
        router.open(call(i, i % 2 == 0 ? "s" : "t", std::to_string(i), i % 3 == 0 ? kOne : kTwo)));
  }
  EXPECT_EQ(router.countOfProvider(kOne), 4u);
  EXPECT_EQ(router.takeOfProvider(kOne).size(), 4u);
  EXPECT_EQ(router.takeOfProvider(kOne).size(), 0u);
  EXPECT_EQ(router.countOfSession("s"), 4u);
  EXPECT_EQ(router.takeOfBinding(kTwo, "s").size(), 4u);
  EXPECT_EQ(router.countOfSession("s"), 0u);
  EXPECT_EQ(router.takeOfSession("s").size(), 0u);
  EXPECT_EQ(router.countOfProvider(kTwo), 4u);
  EXPECT_EQ(router.takeOfSession("t").size(), 4u);
  EXPECT_TRUE(router.empty());
}

struct Registry : ::testing::Test {
  Limits limits;
  Providers providers;

  Provider& add(PeerId peer, const std::string& name, const std::vector<std::string>& tools,
                const std::string& instance = "") {
    Provider& provider = providers.add(peer, limits);
    provider.name = name;
    provider.instance = instance;
    Binding binding;
    binding.sessionId = "s";
    binding.tools = definitions(tools);
    providers.bind(provider, std::move(binding));
    return provider;
  }
  static std::vector<protocol::ToolDefinition> definitions(const std::vector<std::string>& names) {
    std::vector<protocol::ToolDefinition> all;
    for (const std::string& name : names) {
      all.push_back({name, {}, R"({"name":")" + name + R"(","parameters":{"type":"object"}})"});
    }
    return all;
  }
  void setTools(Provider& provider, const std::vector<std::string>& names) {
    providers.setTools(provider, *provider.in("s"), definitions(names));
  }
  std::string owner(const std::string& tool) {
    const std::string owner(providers.toolOwner("s", tool));
    return owner.empty() ? "nobody" : owner;
  }
  std::string digest(const std::string& name) { return providers.snapshot("s")[name]; }
};

TEST_F(Registry, FindsProvidersByToolAndIdentity) {
  add(kOne, "p", {"a", "b"});
  add(kTwo, "q", {"c"});
  EXPECT_EQ(owner("b"), "p");
  EXPECT_EQ(owner("c"), "q");
  EXPECT_EQ(owner("d"), "nobody");
  ASSERT_EQ(providers.serving("s", "p", "b").size(), 1u);
  EXPECT_EQ(providers.serving("s", "p", "b")[0].tool->name, "b");
  EXPECT_EQ(providers.byIdentity("s", "q", "")->peer, kTwo);
  EXPECT_EQ(providers.byIdentity("s", "q", "tab"), nullptr);
  EXPECT_EQ(providers.byIdentity("t", "q", ""), nullptr);
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
  EXPECT_FALSE(providers.anyToWaitFor("s"));
}

TEST_F(Registry, ReplacesTools) {
  Provider& provider = add(kOne, "p", {"a", "b"});
  const std::string before = digest("p");
  setTools(provider, {"b", "c"});
  EXPECT_EQ(owner("a"), "nobody");
  EXPECT_EQ(owner("c"), "p");
  EXPECT_NE(digest("p"), before);
  setTools(provider, {"a", "b"});
  EXPECT_EQ(digest("p"), before);
}

TEST_F(Registry, TheDigestKnowsNameAndOrder) {
  Provider& p = add(kOne, "p", {"a", "b"});
  const std::string before = digest("p");
  setTools(p, {"b", "a"});
  EXPECT_NE(digest("p"), before);
  setTools(p, {});
  add(kTwo, "q", {"a", "b"});
  EXPECT_NE(digest("q"), before);
}

TEST_F(Registry, LeavesOutRefusedTools) {
  Provider& provider = add(kOne, "p", {"a", "b"});
  const std::string before = digest("p");
  providers.refuse("s", "a");
  EXPECT_EQ(owner("a"), "nobody");
  EXPECT_EQ(owner("b"), "p");
  EXPECT_NE(digest("p"), before);
  EXPECT_EQ(providers.snapshot("s").size(), 1u);
  providers.refuse("s", "b");
  EXPECT_TRUE(providers.snapshot("s").empty());
  setTools(provider, {"a", "b"});
  EXPECT_EQ(digest("p"), before);
}

TEST_F(Registry, AProviderThatTakesARefusedNameKeepsIt) {
  Provider& first = add(kOne, "p", {"a"});
  providers.refuse("s", "a");
  add(kTwo, "q", {"a"});
  EXPECT_EQ(owner("a"), "q");
  setTools(first, {});
  EXPECT_EQ(owner("a"), "q");
}

TEST_F(Registry, InstancesShareTheirTools) {
  add(kOne, "web", {"a", "b"}, "tab-1");
  const std::string before = digest("web");
  add(kTwo, "web", {"a", "b"}, "tab-2");
  EXPECT_EQ(digest("web"), before);
  EXPECT_TRUE(providers.isTargeted("s", "web"));
  EXPECT_EQ(providers.toolCount("s"), 3u);  // with list_web_instances
  ASSERT_EQ(providers.serving("s", "web", "a").size(), 2u);
  EXPECT_EQ(providers.serving("s", "web", "a")[0].provider->peer, kTwo);
  providers.touch(*providers.find(kOne));
  EXPECT_EQ(providers.serving("s", "web", "a")[0].provider->peer, kOne);
  EXPECT_EQ(providers.server(*providers.tool("s", "a"), "")->provider->peer, kOne);
  EXPECT_EQ(providers.server(*providers.tool("s", "a"), "tab-2")->provider->peer, kTwo);
  EXPECT_FALSE(providers.server(*providers.tool("s", "a"), "tab-3"));
  EXPECT_TRUE(providers.serving("s", "other", "a").empty());
  providers.erase(kOne);
  EXPECT_EQ(digest("web"), before);
  EXPECT_EQ(owner("a"), "web");
}

// The CLI has refused the tool from one name, so a different name could take it, while an instance
// of the first still declares it and is no longer refused.
TEST_F(Registry, AToolIsServedByItsOwnerAlone) {
  Provider& first = add(kOne, "web", {"a", "b"}, "tab-1");
  add(kTwo, "web", {"a", "b"}, "tab-2");
  providers.refuse("s", "a");
  EXPECT_EQ(owner("a"), "nobody");
  const auto other = static_cast<PeerId>(3);
  add(other, "other", {"a"});
  setTools(first, {"b"});
  EXPECT_EQ(owner("a"), "other");
  ASSERT_EQ(providers.tool("s", "a")->served.size(), 1u);
  providers.erase(kTwo);
  EXPECT_EQ(providers.server(*providers.tool("s", "a"), "")->provider->peer, other);
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
