// All plans of a user: what happens next. No I/O and no clock: inputs and the time go in; entries
// for the journal and effects come out.
//
// The caller writes a batch's entries to the journal first (to the disk, where `sync` says so), and
// carries out its effects then. The state has changed by the time that an input returns.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_map.h"
#include "plan/effect.h"
#include "plan/plan.h"
#include "plan/problems.h"

namespace tap::plan {

struct EngineLimits {
  size_t maxWorkers = 16;
  size_t maxAgents = 4;
  uint64_t workerMemory = uint64_t{1} << 30;  // free memory that one more agent needs
};

// When an input happened, and what the machine had then.
struct Moment {
  int64_t unixMillis = 0;
  uint64_t freeMemory = std::numeric_limits<uint64_t>::max();
};

struct Batch {
  struct Line {
    std::string plan;
    std::string text;  // of an entry
  };
  std::vector<Line> entries;
  bool sync = false;  // on the disk before an effect starts
  std::vector<Effect> effects;
};

// Why an input was refused. Nothing has changed then.
struct Refusal {
  enum class Code : uint8_t { UnknownPlan, UnknownNode, WrongState, InvalidPlan, BadInput };
  Code code = Code::WrongState;
  std::string message;
};
[[nodiscard]] constexpr std::string_view text(Refusal::Code code) {
  switch (code) {
    case Refusal::Code::UnknownPlan:
      return "UNKNOWN_PLAN";
    case Refusal::Code::UnknownNode:
      return "UNKNOWN_NODE";
    case Refusal::Code::WrongState:
      return "WRONG_STATE";
    case Refusal::Code::InvalidPlan:
      return "INVALID_PLAN";
    case Refusal::Code::BadInput:
      return "BAD_INPUT";
  }
  return "";
}
using Refused = std::optional<Refusal>;

// Where a retry is to begin. Commit: what is in the worktree is taken for what the node has done.
enum class RetryFrom : uint8_t { FailedPhase, Start, Commit };

struct Addition {
  bool reopens = false;       // a plan that has ended goes on
  std::string_view replaces;  // the id of a node whose place the new one takes; empty: none
};

// How a phase ended.
enum class Outcome : uint8_t {
  Succeeded,
  Skipped,  // there was nothing that it could do; the next phase goes on
  Failed,
  Stale,        // merge-ri: what was checked is not what would land; check again
  Interrupted,  // it can go on from its phase, at `until`
};

class Engine {
 public:
  // After so many interruptions of one attempt, or stale landings, the node fails.
  static constexpr uint32_t kMaxInterruptions = 5;
  static constexpr uint32_t kMaxStale = 5;
  static constexpr size_t kMaxProbed = 32;
  static constexpr int64_t kMemoryWaitMs = 5'000;

  explicit Engine(const EngineLimits& limits) : limits_(limits) {}

  // `text` is the plan's JSON, `facts` an object of the caller's. `id` is the caller's and new.
  [[nodiscard]] Refused create(std::string_view id, std::string_view text, std::string_view facts,
                               const Moment& now, Problems& problems, Batch& out);
  // A plan that ran elsewhere: `entries` is a list of what its journal had after its beginning, as
  // anybody may have written it. Nothing of it runs: what had not ended is begun again once the
  // plan is resumed.
  [[nodiscard]] Refused import(std::string_view id, std::string_view text, std::string_view facts,
                               std::string_view entries, int64_t createdAt, const Moment& now,
                               Problems& problems, Batch& out);
  [[nodiscard]] Refused addNodes(std::string_view plan, std::string_view nodes, const Moment& now,
                                 Problems& problems, Batch& out, const Addition& how = {});
  // Whether they could be added; nothing is.
  [[nodiscard]] Refused checkNodes(std::string_view plan, std::string_view nodes,
                                   Problems& problems, const Addition& how = {}) const;
  // `changes`: a JSON object with the fields of a node that become others. Of a plan that has ended
  // nothing begins by that.
  [[nodiscard]] Refused edit(std::string_view plan, std::string_view node, std::string_view changes,
                             const Moment& now, Problems& problems, Batch& out);
  [[nodiscard]] Refused pause(std::string_view plan, std::string_view reason, const Moment& now,
                              Batch& out);
  // `budget`: a JSON object whose parts replace the plan's, or empty. Refused where it is spent.
  [[nodiscard]] Refused resume(std::string_view plan, std::string_view budget, const Moment& now,
                               Batch& out);
  [[nodiscard]] Refused cancel(std::string_view plan, const Moment& now, Batch& out);
  [[nodiscard]] Refused cancelNode(std::string_view plan, std::string_view node, const Moment& now,
                                   Batch& out);
  // `detail`: a JSON object for whoever carries it out, or empty.
  [[nodiscard]] Refused retry(std::string_view plan, std::string_view node, RetryFrom from,
                              std::string_view detail, const Moment& now, Batch& out);
  // What waits is to land: where it is not what was checked, its checks run again, and it lands
  // after them. Where nothing runs then, the caller moves the target, and says so with landed().
  // `result`: the commit that would land; `follows`: the target is where that was made, or nothing
  // of it is checked and the target has only moved on.
  [[nodiscard]] Refused land(std::string_view plan, std::string_view result, bool follows,
                             const Moment& now, Batch& out);
  [[nodiscard]] Refused landed(std::string_view plan, std::string_view detail, const Moment& now,
                               Batch& out);
  // A node was canceled, but its work has landed. Does nothing if the node was not canceled.
  void landedLate(std::string_view plan, std::string_view node, std::string_view detail,
                  const Moment& now, Batch& out);
  // Forgets an ended plan. Nothing is written: replay() brings it back.
  [[nodiscard]] Refused forget(std::string_view plan);

  // What whoever carries a node out has to say. Late words of an earlier attempt, or of a node that
  // was canceled, are of no effect but that its place is free.
  void began(std::string_view plan, std::string_view node, uint32_t attempt, const Moment& now,
             Batch& out);
  void step(std::string_view plan, std::string_view node, uint32_t attempt, std::string_view detail,
            const Moment& now, Batch& out);
  void phaseEnded(std::string_view plan, std::string_view node, uint32_t attempt, Phase phase,
                  Outcome outcome, std::string_view detail, int64_t until, const Moment& now,
                  Batch& out);
  // What was stopped has ended.
  void stopped(std::string_view plan, std::string_view node, const Moment& now, Batch& out);
  void overlap(std::string_view plan, std::string_view node, std::string_view detail,
               const Moment& now, Batch& out);

  // At wakeAt(), or when memory may have become free.
  void due(const Moment& now, Batch& out);
  [[nodiscard]] std::optional<int64_t> wakeAt() const;

  // Of a journal that an earlier process has left: all entries of a plan in their order. A reason
  // where they are no plan; then there is none.
  [[nodiscard]] std::optional<std::string> replay(std::string_view plan,
                                                  const std::vector<std::string_view>& entries,
                                                  const Moment& now);
  // After all replays: what was running is interrupted, and goes on.
  void recover(const Moment& now, Batch& out);

  [[nodiscard]] const Plan* find(std::string_view plan) const;
  // In the order in which they came.
  [[nodiscard]] const std::vector<std::string>& plans() const { return order_; }
  [[nodiscard]] size_t workers() const { return workers_; }
  [[nodiscard]] size_t agents() const { return agents_; }
  // Whether something of the node still runs, canceled or not.
  [[nodiscard]] bool isBusy(std::string_view plan, NodeIndex node) const;
  // With the id that was probably meant.
  [[nodiscard]] static Refusal unknownPlan(std::string_view plan);
  [[nodiscard]] static Refusal unknownNode(const Plan& plan, std::string_view node);
  // Plans that have not ended.
  [[nodiscard]] size_t live() const;

 private:
  struct Live {
    std::string id;
    Plan plan;
    std::vector<uint8_t> holds{};  // by node: whether something of it runs, and which places it has
    size_t places = 0;
    size_t agents = 0;
    size_t busyCount = 0;
    std::vector<uint32_t> stale{};        // by node: landings that came too late
    std::vector<uint32_t> interrupted{};  // by node: in a row
    std::deque<NodeIndex> committed{};    // the last ones
    bool notifiedNear = false;
    bool notifiedFailed = false;
    bool notifiedWaiting = false;
  };
  struct NodeRef {
    Live* live = nullptr;
    NodeIndex node = 0;
  };

  [[nodiscard]] Live* live(std::string_view plan);
  [[nodiscard]] Refused locate(std::string_view plan, std::string_view node, NodeRef& at);
  // The node, where this attempt of it runs.
  [[nodiscard]] NodeRef running(std::string_view plan, std::string_view node, uint32_t attempt);
  [[nodiscard]] Refused checkReplacement(const Plan& plan, std::string_view id, NodeIndex old,
                                         Graph& graph, Problems& problems) const;
  static void record(Live& live, const Entry& entry, Batch& out);
  static void growCounters(Live& live);
  void insertPlan(std::string_view id, Plan plan);

  void startReady(const Moment& now, Batch& out);
  [[nodiscard]] bool startOne(const Moment& now, Batch& out);
  [[nodiscard]] std::optional<NodeIndex> pick(Live& live, const Moment& now);
  [[nodiscard]] static std::optional<NodeIndex> firstStartable(const Live& live, Need need);
  [[nodiscard]] bool mayStartAgent(const Live& live, const Moment& now);
  [[nodiscard]] static Reserved reservation(const Live& live);
  void start(Live& live, NodeIndex node, const Moment& now, Batch& out);
  static void run(const Live& live, NodeIndex node, Phase phase, bool isFirst, Batch& out);
  void succeeded(Live& live, NodeIndex node, PhaseStatus status, std::string_view detail,
                 const Moment& now, Batch& out);
  void stale(Live& live, NodeIndex node, std::string_view detail, const Moment& now, Batch& out);
  void failed(Live& live, NodeIndex node, const Moment& now, Batch& out);
  void failPhase(Live& live, NodeIndex node, std::string_view detail, const Moment& now,
                 Batch& out);
  void grantLandingSlot(Live& live, const Moment& now, Batch& out);
  void release(Live& live, NodeIndex node);
  static void probe(Live& live, NodeIndex node, Batch& out);
  [[nodiscard]] static bool isTakenUp(const Plan& plan, NodeIndex node);
  static void landAgain(Live& live, const std::vector<NodeIndex>& nodes, const Moment& now,
                        Batch& out);
  static void endAgain(Live& live, const Moment& now, Batch& out);
  void checkBudget(Live& live, const Moment& now, Batch& out);
  void endIfDone(Live& live, const Moment& now, Batch& out);
  void recoverNode(Live& live, NodeIndex node, const Moment& now, Batch& out);

  EngineLimits limits_;
  TextMap<Live> plans_;
  std::vector<std::string> order_;
  size_t workers_ = 0;
  size_t agents_ = 0;
  std::optional<int64_t> memoryWait_;
};

}  // namespace tap::plan
