// Random inputs for gates, prompts, sections, updates and pushes: each question of a session gets
// an answer, no action passes a gate without permission, revisions never decrease, and no budget is
// exceeded.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <set>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

constexpr int64_t kPushesPerSecond = 3;

// Requests that a session's process waits for.
struct Waiting {
  PeerId peer{};
  std::string id;
  std::set<std::string> checks;
  std::set<std::string> prompts;
  std::set<std::string> builds;
};

// The answers of the gates for a check.
struct Asked {
  int gates = 0;
  int allowed = 0;
};

class World {
 public:
  explicit World(uint32_t seed) : random_(seed), tap_(limits()) {
    for (const char* id : {"a", "b"}) startProcess(id);
  }

  void step() {
    switch (below(12)) {
      case 0:
        if (providers_.size() < 5) openProvider();
        break;
      case 1:
        if (below(6) == 0) loseProvider();
        break;
      case 2:
        if (below(12) == 0) restartProcess();
        break;
      case 3:
      case 4:
        ask();
        break;
      case 5:
        tap_.advance(Millis(below(4) == 0 ? below(6'000) : below(300)));
        break;
      case 6:
        settleHooks();
        break;
      case 7:
        becomes(below(2) == 0 ? protocol::Activity::Idle : protocol::Activity::Busy);
        break;
      default:
        providerSays();
    }
    check();
  }

  void finish() {
    tap_.advance(Millis(10'000));  // gates and transforms run out of time
    check();
    for (const Waiting& process : processes_) {
      ASSERT_TRUE(process.checks.empty()) << "a check without a verdict";
      ASSERT_TRUE(process.prompts.empty()) << "a prompt without its context";
      ASSERT_TRUE(process.builds.empty()) << "a section without its text";
    }
    State& state = tap_.state();
    ASSERT_TRUE(state.checks.waiting.empty() && state.checks.gates.empty());
    ASSERT_TRUE(state.sections.waiting.empty() && state.sections.transforms.empty());
    for (const PeerId peer : providers_) tap_.lose(peer);
    for (const Waiting& process : processes_) tap_.cut(process.peer);
    tap_.advance(Millis(120'000));
    ASSERT_EQ(state.timers.size(), 0u);
  }

  int verdicts = 0;
  int denied = 0;
  int acks = 0;

 private:
  static Limits limits() {
    Limits limits;
    limits.set(Limit::PushesPerSecond, kPushesPerSecond);
    limits.set(Limit::HellosPerMinute, 100);
    limits.set(Limit::MessageBurst, 100'000);
    return limits;
  }

  uint32_t below(uint32_t bound) { return random_() % bound; }
  template <class T>
  T& pick(std::vector<T>& from) {
    return from[below(static_cast<uint32_t>(from.size()))];
  }
  std::string newId() { return "q" + std::to_string(++lastId_); }

  void startProcess(const std::string& id) {
    processes_.push_back({tap_.session(id), id, {}, {}, {}});
  }
  void restartProcess() {
    const size_t at = below(2);
    const std::string id = processes_[at].id;
    tap_.cut(processes_[at].peer);
    processes_.erase(processes_.begin() + static_cast<std::ptrdiff_t>(at));
    underWay_.clear();
    startProcess(id);
  }

  std::string anyHooks() {
    std::string rules;
    for (uint32_t i = below(3); i > 0; --i) {
      const std::string& rule = pick(rules_);
      rules += (rules.empty() ? "" : ",") + rule;
    }
    const std::string transforms =
        below(2) == 0 ? R"("tone":{"action":"callback"})" : R"("tone":null)";
    return R"("onPreToolUse":[)" + rules + R"(],"transforms":{)" + transforms + "}";
  }
  void openProvider() {
    const PeerId peer = tap_.authed();
    providers_.push_back(peer);
    const std::string session = pick(processes_).id;
    tap_.say(peer, R"({"type":"hello","protocolVersion":2,"name":"p)" + std::to_string(below(4)) +
                       R"(","session":")" + (below(3) == 0 ? "all" : session) +
                       R"(","context":"c","hooks":{)" + anyHooks() + "}}");
  }
  void loseProvider() {
    if (providers_.empty()) return;
    const size_t at = below(static_cast<uint32_t>(providers_.size()));
    tap_.lose(providers_[at]);
    revisions_.erase(providers_[at]);
    providers_.erase(providers_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void ask() {
    Waiting& process = pick(processes_);
    const std::string id = newId();
    switch (below(4)) {
      case 0:
        process.prompts.insert(id);
        tap_.send(process.peer, protocol::PromptSubmitted{id});
        break;
      case 1:
        process.builds.insert(id);
        tap_.send(process.peer, protocol::SectionBuild{id, "tone", "calm"});
        break;
      default:
        process.checks.insert(id);
        asked_[id];
        tap_.send(process.peer,
                  protocol::HookCheck{id, "bash", Slice(R"({"check":")" + id + "\"}")});
    }
  }
  void settleHooks() {
    Waiting& process = pick(processes_);
    while (const auto hooks = tap_.find<protocol::Hooks>(process.peer)) {
      tap_.send(process.peer, protocol::HooksState{hooks->revision});
    }
  }
  void becomes(protocol::Activity activity) {
    const Waiting& process = pick(processes_);
    if (activity == protocol::Activity::Idle)
      std::erase_if(underWay_, [&](const auto& entry) { return entry.first == process.id; });
    tap_.send(process.peer, protocol::ActivityChanged{activity});
  }

  void providerSays() {
    if (providers_.empty()) return;
    const PeerId peer = pick(providers_);
    switch (below(6)) {
      case 0:
        tap_.say(peer, R"({"type":"hooks.update","requestId":"r",)" + anyHooks() + "}");
        break;
      case 1:
        tap_.say(peer, R"({"type":"context.update","requestId":"r","context":"d"})");
        break;
      case 2:
        tap_.say(peer, push(below(2) == 0 ? "inject" : "keep", "event",
                            R"(,"requestId":"p","sessionId":")" + pick(processes_).id + "\""));
        break;
      default:
        answer(peer);
    }
  }
  void answer(PeerId peer) {
    const std::string transform = tap_.take(peer, "transform.request").get("callId");
    if (transform != kAbsent) {
      tap_.say(peer,
               R"({"type":"transform.result","content":"loud","callId":")" + transform + "\"}");
    }
    const Message gate = tap_.take(peer, "gate.check");
    const std::string id = gate.get("callId");
    if (id == kAbsent) return;
    const std::string check = gate.get("args.check");
    const uint32_t how = below(8);
    const PeerId from = how == 0 ? pick(providers_) : peer;
    const std::string decision = how < 5    ? "allow"
                                 : how == 5 ? "deny"
                                 : how == 6 ? "maybe"
                                            : "context";
    if (from == peer && (decision == "allow" || decision == "context")) ++asked_[check].allowed;
    tap_.say(from,
             R"({"type":"gate.result","callId":")" + id + R"(","decision":")" + decision + "\"}");
    if (below(4) == 0) {
      tap_.say(peer, R"({"type":"gate.result","callId":")" + id + R"(","decision":"deny"})");
    }
  }

  void check() {
    for (const PeerId peer : providers_) {
      countGates(peer);
      readAcks(peer);
    }
    for (Waiting& process : processes_) {
      while (const auto verdict = tap_.find<protocol::HookVerdict>(process.peer)) {
        ASSERT_EQ(process.checks.erase(verdict->checkId), 1u) << "two verdicts";
        ++verdicts;
        if (verdict->deny) ++denied;
        const Asked& asked = asked_[verdict->checkId];
        ASSERT_TRUE(verdict->deny || asked.gates == asked.allowed) << "it passed a closed gate";
      }
      while (const auto context = tap_.find<protocol::PromptContext>(process.peer)) {
        ASSERT_EQ(process.prompts.erase(context->promptId), 1u);
      }
      while (const auto text = tap_.find<protocol::SectionText>(process.peer)) {
        ASSERT_EQ(process.builds.erase(text->buildId), 1u);
      }
      while (const auto inject = tap_.find<protocol::Inject>(process.peer)) {
        ASSERT_TRUE(underWay_.insert({process.id, inject->provider}).second)
            << "an inject before the answer to the last inject";
      }
    }
  }
  // A gate counts as asked from the moment its message leaves, read or not.
  void countGates(PeerId peer) {
    const size_t now = tap_.count(peer, "gate.check");
    std::vector<Message> checks;
    for (size_t i = 0; i < now; ++i) checks.push_back(tap_.take(peer, "gate.check"));
    for (const Message& message : checks) {
      if (seen_.insert(message.get("callId")).second) ++asked_[message.get("args.check")].gates;
      tap_.putBack(peer, message);
    }
  }
  void readAcks(PeerId peer) {
    while (tap_.count(peer, "ack") > 0) {
      const Message ack = tap_.take(peer, "ack");
      ++acks;
      int64_t& last = revisions_[peer][ack.get("sessionId")];
      const int64_t revision = std::stoll(ack.get("revision"));
      ASSERT_GE(revision, last) << "a revision fell";
      last = revision;
      if (ack.get("requestId") != "p") continue;
      std::deque<Time>& pushed = pushed_[peer][ack.get("sessionId")];
      pushed.push_back(tap_.now().steady);
      while (tap_.now().steady - pushed.front() >= Millis(1'000)) pushed.pop_front();
      ASSERT_LE(pushed.size(), static_cast<size_t>(kPushesPerSecond));
    }
    while (tap_.count(peer, "error") > 0) (void)tap_.take(peer, "error");
  }

  std::mt19937 random_;
  Harness tap_;
  std::vector<Waiting> processes_;
  std::vector<PeerId> providers_;
  std::map<std::string, Asked> asked_;                      // by check
  std::set<std::string> seen_;                              // gate.check messages
  std::set<std::pair<std::string, std::string>> underWay_;  // session and provider of injects
  std::map<PeerId, std::map<std::string, int64_t>> revisions_;
  std::map<PeerId, std::map<std::string, std::deque<Time>>> pushed_;
  int lastId_ = 0;
  std::vector<std::string> rules_{R"({"action":"gate","gateId":"g"})",
                                  R"({"match":{"tool":"shell"},"action":"gate","gateId":"h"})",
                                  R"({"match":{"args":"7"},"action":"deny"})",
                                  R"({"action":"context","content":"c"})"};
};

TEST(HooksProperty, KeepTheirPromisesUnderAnyInput) {
  int verdicts = 0;
  int denied = 0;
  int acks = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    World world(seed);
    for (int i = 0; i < 600; ++i) {
      world.step();
      if (::testing::Test::HasFailure()) FAIL() << "seed " << seed << ", step " << i;
    }
    world.finish();
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed << ", at the end";
    verdicts += world.verdicts;
    denied += world.denied;
    acks += world.acks;
  }
  // The inputs are random, but they must reach something.
  EXPECT_GT(verdicts, 1'000);
  EXPECT_GT(denied, 100);
  EXPECT_LT(denied, verdicts);
  EXPECT_GT(acks, 300);
}

}  // namespace
}  // namespace tap::gateway::test
