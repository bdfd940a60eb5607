// In every case synchronisation comes to rest, and ends with the wanted tools.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "gateway/sync/tool_sync.h"
#include "gateway/tool_changes.h"

namespace tap::gateway {
namespace {

using protocol::SyncMode;

// A session that really holds tools: it applies plans, and refuses some sets for good.
class Model {
 public:
  explicit Model(uint32_t seed) : random_(seed) {
    mode_ = random_() % 2 == 0 ? SyncMode::Live : SyncMode::Reload;
    registerProcess();
  }

  void step() {
    switch (random_() % 10) {
      case 0:
      case 1:
      case 2:
        wanted_ = someSet();
        sync_.wantedChanged(changes(sync_.wantedSet(), wanted_), now_);
        break;
      case 3:
      case 4:
        answer();
        break;
      case 5:
        sync_.setQuiet(random_() % 2 == 0);
        break;
      case 6:
        if (random_() % 8 == 0) {
          sync_.linkLost();
          flight_.reset();
          registerProcess();
        }
        break;
      default:
        pass(Millis(random_() % 700));
    }
  }

  // Quiet time: answers arrive without other changes. Returns the number of plans.
  int rest() {
    const int before = plans_;
    sync_.setQuiet(true);
    for (int i = 0; i < 50; ++i) {
      answer();
      pass(Millis(10'000));
    }
    return plans_ - before;
  }

  [[nodiscard]] bool atRest() const { return !flight_ && sync_.settled() && !sync_.due(); }
  [[nodiscard]] bool right() const { return held_ == wanted_ || refused_.contains(wanted_); }
  [[nodiscard]] bool agrees() const { return held_ == sync_.confirmedSet(); }

 private:
  ToolSnapshot someSet() {
    ToolSnapshot set;
    for (const char* provider : {"a", "b", "c"}) {
      if (random_() % 2 == 0) set[provider] = std::to_string(random_() % 3);
    }
    return set;
  }

  void registerProcess() {
    const bool joined = random_() % 2 == 0;
    if (!joined) held_.clear();
    sync_.sessionRegistered(held_, mode_, now_);
    apply(sync_.firstPlan(joined, now_));
  }

  void apply(const SyncPlan& plan) {
    ASSERT_FALSE(flight_) << "two plans in flight";
    ++plans_;
    Flight flight{plan.revision, held_};
    for (const std::string& name : plan.drop) {
      ASSERT_EQ(flight.target.erase(name), 1u) << "drops tools that are absent";
    }
    for (const std::string& name : plan.set) {
      const auto at = wanted_.find(name);
      ASSERT_NE(at, wanted_.end()) << "sets tools that are not wanted";
      ASSERT_NE(flight.target[name], at->second) << "sets tools that are present already";
      flight.target[name] = at->second;
    }
    flight_ = std::move(flight);
  }

  void answer() {
    if (!flight_) return;
    const Flight flight = *std::exchange(flight_, std::nullopt);
    const bool fails =
        flight.target != held_ && (refused_.contains(flight.target) || random_() % 4 == 0);
    if (fails) {
      refused_.insert(flight.target);
      ASSERT_TRUE(sync_.failed(flight.revision, now_));
    } else {
      held_ = flight.target;
      ASSERT_TRUE(sync_.confirmed(flight.revision, now_));
    }
  }

  void pass(Millis by) {
    const Time target = now_ + by;
    while (sync_.due() && *sync_.due() <= target) {
      now_ = std::max(now_, *sync_.due());
      if (const auto plan = sync_.takePlan(now_)) {
        if (!plan->reload) {
          ASSERT_TRUE(!lastSwap_ || now_ - *lastSwap_ >= Millis(250)) << "swaps too close";
          lastSwap_ = now_;
        }
        apply(*plan);
      } else {
        ASSERT_TRUE(!sync_.due() || *sync_.due() > now_) << "it would spin";
      }
    }
    now_ = target;
  }

  struct Flight {
    int64_t revision;
    ToolSnapshot target;
  };

  std::mt19937 random_;
  Limits limits_;
  ToolSync sync_{limits_};
  SyncMode mode_ = SyncMode::Live;
  Time now_{Millis(1'000)};
  ToolSnapshot wanted_;
  ToolSnapshot held_;
  std::set<ToolSnapshot> refused_;
  std::optional<Flight> flight_;
  std::optional<Time> lastSwap_;
  int plans_ = 0;
};

TEST(ToolSyncProperty, ComesToRestOnWhatIsWanted) {
  for (uint32_t seed = 0; seed < 2'000; ++seed) {
    Model model(seed);
    for (int i = 0; i < 60; ++i) model.step();
    if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
    ASSERT_LE(model.rest(), 4) << "seed " << seed;
    ASSERT_TRUE(model.atRest()) << "seed " << seed;
    ASSERT_TRUE(model.right()) << "seed " << seed;
    ASSERT_TRUE(model.agrees()) << "seed " << seed;
    ASSERT_EQ(model.rest(), 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tap::gateway
