#include "link/session_client.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace tap::link {
namespace {

using protocol::CallResult;

class Client {
 public:
  explicit Client(bool watch = false, const Limits& limits = {})
      : limits_(limits), client_(limits_, watch) {
    client_.opened(now);
  }

  void call(const std::string& id, std::optional<Millis> timeout = std::nullopt) {
    EXPECT_TRUE(client_.call(id, timeout, now));
  }
  void result(const std::string& id) {
    client_.received(CallResult{id, false, Slice(std::string("1")), {}, {}}, now, actions);
  }
  // Up to where the gateway is silent: its owner then gives it up.
  void advance(Millis by) {
    const Time target = now + by;
    while (!silent() && client_.nextDeadline() && *client_.nextDeadline() <= target) {
      now = std::max(now, *client_.nextDeadline());
      due();
    }
    now = target;
  }
  // As its owner does it: a gateway that is quiet is looked at.
  void due() {
    client_.timersDue(now, actions);
    if (actions.empty()) return;
    const auto* found = std::get_if<GatewayQuiet>(&actions.back());
    if (found == nullptr) return;
    const Millis silence = found->silence;
    actions.pop_back();
    ++looked;
    client_.quiet(silence, atWork, now, actions);
  }
  // Everything since the last look, in a few words.
  std::vector<std::string> take() {
    std::vector<std::string> words;
    for (const Action& action : std::exchange(actions, {})) words.push_back(describe(action));
    return words;
  }
  SessionClient* operator->() { return &client_; }

  Time now{Millis(5'000)};
  Actions actions;
  bool atWork = false;
  int looked = 0;

 private:
  [[nodiscard]] bool silent() const {
    return !actions.empty() && std::holds_alternative<GatewaySilent>(actions.back());
  }
  static std::string describe(const Action& action) {
    if (const auto* send = std::get_if<SendMessage>(&action)) {
      if (const auto* cancel = std::get_if<protocol::CancelCall>(&send->message)) {
        return "send cancel " + cancel->callId + " " + cancel->reason;
      }
      return "send ping";
    }
    if (const auto* settle = std::get_if<SettleCall>(&action)) {
      return "settle " + settle->result.callId + " " +
             (settle->result.failed ? std::string(protocol::wireName(settle->result.code)) : "ok");
    }
    return std::holds_alternative<GatewaySilent>(action) ? "silent" : "deliver";
  }

  Limits limits_;
  SessionClient client_;
};

using Words = std::vector<std::string>;

TEST(SessionClient, SettlesACallByItsResult) {
  Client client;
  client.call("a");
  EXPECT_EQ(client->callsInFlight(), 1u);
  client.result("a");
  EXPECT_EQ(client.take(), Words{"settle a ok"});
  EXPECT_EQ(client->callsInFlight(), 0u);
  EXPECT_FALSE(client->nextDeadline());
}

TEST(SessionClient, DropsASecondResult) {
  Client client;
  client.call("a");
  client.result("a");
  client.take();
  client.result("a");
  client.result("never called");
  EXPECT_TRUE(client.take().empty());
}

TEST(SessionClient, CancelSettlesAtOnceWhatStillWaits) {
  Client client;
  client.call("a");
  client.take();
  EXPECT_TRUE(client->cancel("a", "aborted", client.actions));
  EXPECT_EQ(client.take(), Words{"settle a CANCELLED"});
  client.result("a");
  EXPECT_FALSE(client->cancel("a", "again", client.actions));
  EXPECT_TRUE(client.take().empty());
}

TEST(SessionClient, TimesOutAfterTheGatewaysOwnDeadline) {
  Client client;
  client.call("a", Millis(1'000));
  client.call("b");
  client.take();
  client.advance(Millis(5'999));
  EXPECT_TRUE(client.take().empty());
  client.advance(Millis(1));
  EXPECT_EQ(client.take(), (Words{"send cancel a timeout", "settle a TIMEOUT"}));
  client.advance(Millis(299'000));
  EXPECT_EQ(client.take(), (Words{"send cancel b timeout", "settle b TIMEOUT"}));
}

TEST(SessionClient, LosingTheLinkSettlesEveryCall) {
  Client client(true);
  client.call("a");
  client.call("b");
  client.take();
  client->lost("the gateway is gone.", client.actions);
  Words words = client.take();
  std::sort(words.begin(), words.end());
  EXPECT_EQ(words, (Words{"settle a DISCONNECTED", "settle b DISCONNECTED"}));
  EXPECT_FALSE(client->nextDeadline());
  client->lost("again", client.actions);
  EXPECT_TRUE(client.take().empty());
}

TEST(SessionClient, SaysWhyACallFailed) {
  Client client;
  client.call("a");
  client->lost("the gateway is gone.", client.actions);
  const auto& settle = std::get<SettleCall>(client.actions.back());
  EXPECT_NE(settle.result.text.find("DISCONNECTED: the gateway is gone."), std::string::npos);
}

TEST(SessionClient, DeliversEveryOtherEventButPong) {
  Client client;
  std::vector<protocol::SessionEvent> events{
      protocol::Welcome{}, protocol::Refused{}, protocol::Tools{},   protocol::Timeline{},
      protocol::Inject{},  protocol::Pong{},    protocol::Draining{}};
  for (auto& event : events) client->received(std::move(event), client.now, client.actions);
  EXPECT_EQ(client.take(), Words(6, "deliver"));
}

TEST(SessionClient, PingsEveryTwoSeconds) {
  Client client(true);
  for (int i = 0; i < 10; ++i) {
    client.advance(Millis(1'999));
    EXPECT_TRUE(client.take().empty());
    client.advance(Millis(1));
    EXPECT_EQ(client.take(), Words{"send ping"});
    client->received(protocol::Pong{}, client.now, client.actions);
  }
}

TEST(SessionClient, DoesNotPingInOneProcess) {
  Client client(false);
  EXPECT_FALSE(client->nextDeadline());
}

// shows: P-HOST-8
TEST(SessionClient, ReportsASilentGatewayAfterSixSeconds) {
  Client client(true);
  client.advance(Millis(5'999));
  EXPECT_EQ(client.take(), (Words{"send ping", "send ping"}));
  client.advance(Millis(1));
  EXPECT_EQ(client.take(), Words{"silent"});
  EXPECT_FALSE(client->nextDeadline());
}

TEST(SessionClient, GivesAGatewayThatIsAtWorkThirtySeconds) {
  Client client(true);
  client.atWork = true;
  client.advance(Millis(29'999));
  for (const std::string& word : client.take()) EXPECT_EQ(word, "send ping");
  EXPECT_EQ(client.looked, 13);  // from 4 s on, every 2 s
  client.advance(Millis(1));
  EXPECT_EQ(client.take(), Words{"silent"});
}

TEST(SessionClient, GivesUpAGatewayThatIsNoLongerAtWork) {
  Client client(true);
  client.atWork = true;
  client.advance(Millis(9'000));
  client.take();
  client.atWork = false;
  client.advance(Millis(1'000));
  EXPECT_EQ(client.take(), Words{"silent"});
}

TEST(SessionClient, LooksAtAGatewayOnlyWhereAPingIsUnanswered) {
  Client client(true);
  for (int i = 0; i < 50; ++i) {
    client.advance(Millis(2'000));
    client.now += Millis(900);  // the timer is late: a busy machine
    client.due();
    client->received(protocol::Pong{}, client.now, client.actions);
  }
  EXPECT_EQ(client.looked, 0);
}

// For any limits, a working gateway has at least the time of a stopped one.
TEST(SessionClient, GivesNoLessToAGatewayAtWork) {
  Limits limits;
  limits.set(Limit::LinkBusyMs, 20);
  Client client(true, limits);
  client.atWork = true;
  client.advance(Millis(5'999));
  for (const std::string& word : client.take()) EXPECT_EQ(word, "send ping");
  client.advance(Millis(1));
  EXPECT_EQ(client.take(), Words{"silent"});
}

// On a busy machine timers fire late, several at once.
TEST(SessionClient, SettlesCallsThatAreDueWhenTheGatewayIsFoundSilent) {
  Client client(true);
  client.call("before", Millis(900));
  client.call("after", Millis(1'100));
  client.advance(Millis(5'000));
  client.take();
  client.now += Millis(1'500);
  client.due();
  EXPECT_EQ(client.take(),
            (Words{"send cancel before timeout", "settle before TIMEOUT", "silent"}));
  client->lost("the gateway does not answer.", client.actions);
  EXPECT_EQ(client.take(), Words{"settle after DISCONNECTED"});
}

TEST(SessionClient, AnyEventShowsThatTheGatewayLives) {
  Client client(true);
  for (int i = 0; i < 20; ++i) {
    client.advance(Millis(3'000));
    client->received(protocol::Timeline{}, client.now, client.actions);
  }
  for (const std::string& word : client.take()) EXPECT_NE(word, "silent");
}

TEST(SessionClient, RaisesNoAlarmAfterItSleptItself) {
  Client client(true);
  client.advance(Millis(2'000));
  client.take();
  client.now += Millis(3'600'000);  // no timer ran in between
  client.due();
  EXPECT_EQ(client.take(), Words{"send ping"});
  client.advance(Millis(5'999));
  EXPECT_EQ(client.take(), (Words{"send ping", "send ping"}));
  client.advance(Millis(1));
  EXPECT_EQ(client.take(), Words{"silent"});
}

TEST(SessionClient, MayBeOpenedAgain) {
  Client client(true);
  client.advance(Millis(6'000));
  client->lost("silent", client.actions);
  client.take();
  client.advance(Millis(60'000));
  client->opened(client.now);
  client.call("a");
  client.advance(Millis(2'000));
  EXPECT_EQ(client.take(), Words{"send ping"});
}

// Any order of results, cancels, losses, deadlines and late timers: each call has a single outcome
// if the owner stops after the gateway is silent.
TEST(SessionClient, EveryCallSettlesExactlyOnce) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    Client client(random() % 2 == 0);
    std::map<std::string, int> settled;
    int opened = 0;
    const auto collect = [&] {
      bool silent = false;
      for (const Action& action : std::exchange(client.actions, {})) {
        silent = silent || std::holds_alternative<GatewaySilent>(action);
        const auto* settle = std::get_if<SettleCall>(&action);
        if (settle != nullptr && !silent) ++settled[settle->result.callId];
      }
      return silent;
    };
    const auto someId = [&] { return "c" + std::to_string(random() % (opened + 1)); };
    for (int step = 0; step < 150; ++step) {
      switch (random() % 9) {
        case 0:
        case 1:
        case 2: {
          const std::string id = "c" + std::to_string(opened++);
          settled[id] = 0;
          client.call(id, Millis(1 + random() % 9'000));
          break;
        }
        case 3:
        case 4:
          client.result(someId());
          break;
        case 5:
          (void)client->cancel(someId(), "aborted", client.actions);
          break;
        case 6:
          client.advance(Millis(random() % 2'000));
          break;
        case 7:
          client.now += Millis(random() % 4'000);
          client.due();
          break;
        default:
          if (random() % 10 == 0) {
            client->lost("cut", client.actions);
            client->opened(client.now);
          }
      }
      if (!collect()) continue;
      client->lost("silent", client.actions);
      collect();
      client->opened(client.now);
    }
    client->lost("over", client.actions);
    collect();
    ASSERT_EQ(settled.size(), static_cast<size_t>(opened));
    for (const auto& [id, times] : settled) ASSERT_EQ(times, 1) << id << " in round " << round;
    ASSERT_FALSE(client->nextDeadline());
  }
}

}  // namespace
}  // namespace tap::link
