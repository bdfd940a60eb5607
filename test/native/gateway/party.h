// A session, and the programs and pages that act as parties in it.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/harness.h"

namespace tap::gateway::test {

inline const std::string kPartyApp = "https://app.example";

class PartyTest : public testing::Test {
 protected:
  explicit PartyTest(const Limits& limits = manyPushes()) : tap(limits) {}

  // Connected with its token, and not bound.
  PeerId page(const std::string& token, std::optional<std::string> origin = kPartyApp) {
    const PeerId peer = tap.open(std::move(origin));
    tap.say(peer, auth(token));
    EXPECT_EQ(tap.take(peer).type(), "sessions");
    return peer;
  }
  // The user lets it in.
  std::string pair(std::optional<std::string> origin = kPartyApp, std::string_view name = "page") {
    const PeerId peer = tap.open(std::move(origin));
    tap.say(peer, R"({"type":"auth","mode":"pair","session":"s","name":)" + quote(name) + "}");
    const std::string line = tap.timeline(session);
    tap.say(peer, R"({"type":"auth.confirm","code":)" +
                      quote(line.substr(line.find("code: ") + 6, 6)) + "}");
    const std::string token = tap.take(peer, "sessions").get("token");
    tap.lose(peer);
    return token;
  }
  PeerId bind(PeerId peer, std::string_view name, std::string_view more = R"("tools":[])") {
    tap.say(peer, helloWith(name, "s", more));
    EXPECT_EQ(tap.take(peer, "hello.ack").type(), "hello.ack");
    return peer;
  }
  // The outcome of a push.
  std::string pushed(PeerId peer, std::string_view level = "inject", std::string_view more = "") {
    tap.say(peer, push(level, "go on", R"(,"requestId":"r")" + std::string(more)));
    if (tap.count(peer, "error") > 0) return tap.errorCode(peer);
    return tap.take(peer, "ack").get("outcome");
  }
  void becomes(protocol::Activity activity) {
    tap.send(session, protocol::ActivityChanged{activity});
  }
  void turn() {
    becomes(protocol::Activity::Busy);
    becomes(protocol::Activity::Idle);
  }
  size_t started() {
    size_t count = 0;
    while (tap.find<protocol::Inject>(session)) ++count;
    return count;
  }
  void use(PeerId peer, int turns) {
    for (int i = 0; i < turns; ++i) {
      EXPECT_EQ(pushed(peer), "injected") << i;
      turn();
    }
  }

  Harness tap;
  PeerId session = tap.session("s");
};

}  // namespace tap::gateway::test
