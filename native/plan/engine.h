// All plans of a user, and the next step of each. No I/O and no clock: inputs and the time go in;
// entries for the journal and effects come out.
//
// The caller first writes a batch's entries to the journal (to the disk, where `sync` is set), then
// carries out its effects. The state has changed when an input returns.
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
  uint64_t workerMemory = uint64_t{1} << 30;  // free memory that a further agent needs
};

// The time of an input, and the free memory of the machine at that time.
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

// Why an input was refused. The state is then unchanged.
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

// The phase where a retry begins. Commit: the files in the worktree count as the node's work.
enum class RetryFrom : uint8_t { FailedPhase, Start, Commit };

struct Addition {
  bool reopens = false;       // an ended plan resumes
  std::string_view replaces;  // id of the node that the new node replaces, or empty
};

// How a phase ended.
enum class Outcome : uint8_t {
  Succeeded,
  Skipped,  // the phase was not needed; the next phase follows
  Failed,
  Stale,        // merge-ri: the target moved since the checks; check again
  Interrupted,  // the phase can resume at `until`
};

class Engine {
 public:
  // A node fails after this many interruptions of an attempt, or this many stale landings.
  static constexpr uint32_t kMaxInterruptions = 5;
  static constexpr uint32_t kMaxStale = 5;
  static constexpr size_t kMaxProbed = 32;
  static constexpr int64_t kMemoryWaitMs = 5'000;

  explicit Engine(const EngineLimits& limits) : limits_(limits) {}

  // `text` is the plan's JSON, `facts` an object of the caller's. `id` is the caller's, and new.
  [[nodiscard]] Refused create(std::string_view id, std::string_view text, std::string_view facts,
                               const Moment& now, Problems& problems, Batch& out);
  // Imports a plan that ran on a different machine. `entries`: the list of its journal's entries
  // after Created. They are not trusted. The plan is paused; after a resume, its unfinished nodes
  // start again.
  [[nodiscard]] Refused import(std::string_view id, std::string_view text, std::string_view facts,
                               std::string_view entries, int64_t createdAt, const Moment& now,
                               Problems& problems, Batch& out);
  [[nodiscard]] Refused addNodes(std::string_view plan, std::string_view nodes, const Moment& now,
                                 Problems& problems, Batch& out, const Addition& how = {});
  // The checks of addNodes() without a change.
  [[nodiscard]] Refused checkNodes(std::string_view plan, std::string_view nodes,
                                   Problems& problems, const Addition& how = {}) const;
  // `changes`: a JSON object with the fields of a node to replace. An ended plan stays ended.
  [[nodiscard]] Refused edit(std::string_view plan, std::string_view node, std::string_view changes,
                             const Moment& now, Problems& problems, Batch& out);
  [[nodiscard]] Refused pause(std::string_view plan, std::string_view reason, const Moment& now,
                              Batch& out);
  // `budget`: a JSON object whose parts replace the plan's, or empty. Refused if the budget is used
  // up.
  [[nodiscard]] Refused resume(std::string_view plan, std::string_view budget, const Moment& now,
                               Batch& out);
  [[nodiscard]] Refused cancel(std::string_view plan, const Moment& now, Batch& out);
  [[nodiscard]] Refused cancelNode(std::string_view plan, std::string_view node, const Moment& now,
                                   Batch& out);
  // `detail`: a JSON object for the caller that runs the node, or empty.
  [[nodiscard]] Refused retry(std::string_view plan, std::string_view node, RetryFrom from,
                              std::string_view detail, const Moment& now, Batch& out);
  // Lands the waiting leaves. If the result differs from the checked one, their checks run again,
  // and they land afterwards. If no check is needed, the caller moves the target and reports
  // landed(). `result`: the commit that would land. `follows`: the target is where `result` was
  // made, or the leaves have no checks and the target has only moved forward.
  [[nodiscard]] Refused land(std::string_view plan, std::string_view result, bool follows,
                             const Moment& now, Batch& out);
  [[nodiscard]] Refused landed(std::string_view plan, std::string_view detail, const Moment& now,
                               Batch& out);
  // A canceled node has landed all the same. Ignored if the node was not canceled.
  void landedLate(std::string_view plan, std::string_view node, std::string_view detail,
                  const Moment& now, Batch& out);
  // Forgets an ended plan. The journal keeps it: replay() restores it.
  [[nodiscard]] Refused forget(std::string_view plan);

  // Reports of the caller that runs the nodes. A late report of an earlier attempt, or of a
  // canceled node, only frees the node's slot.
  void began(std::string_view plan, std::string_view node, uint32_t attempt, const Moment& now,
             Batch& out);
  void step(std::string_view plan, std::string_view node, uint32_t attempt, std::string_view detail,
            const Moment& now, Batch& out);
  void phaseEnded(std::string_view plan, std::string_view node, uint32_t attempt, Phase phase,
                  Outcome outcome, std::string_view detail, int64_t until, const Moment& now,
                  Batch& out);
  // A stopped node has ended.
  void stopped(std::string_view plan, std::string_view node, const Moment& now, Batch& out);
  void overlap(std::string_view plan, std::string_view node, std::string_view detail,
               const Moment& now, Batch& out);

  // At wakeAt(), or when memory may have become free.
  void due(const Moment& now, Batch& out);
  [[nodiscard]] std::optional<int64_t> wakeAt() const;

  // Restores a plan from a journal: all of its entries in their order. Returns a reason if they are
  // not a plan; the plan then does not exist.
  [[nodiscard]] std::optional<std::string> replay(std::string_view plan,
                                                  const std::vector<std::string_view>& entries,
                                                  const Moment& now);
  // After all replays: running nodes become interrupted, and resume.
  void recover(const Moment& now, Batch& out);

  [[nodiscard]] const Plan* find(std::string_view plan) const;
  // In the order of their creation.
  [[nodiscard]] const std::vector<std::string>& plans() const { return order_; }
  [[nodiscard]] size_t workers() const { return workers_; }
  [[nodiscard]] size_t agents() const { return agents_; }
  // Whether a process of the node still runs, canceled or not.
  [[nodiscard]] bool isBusy(std::string_view plan, NodeIndex node) const;
  // The message suggests the nearest id.
  [[nodiscard]] static Refusal unknownPlan(std::string_view plan);
  [[nodiscard]] static Refusal unknownNode(const Plan& plan, std::string_view node);
  // Plans that have not ended.
  [[nodiscard]] size_t live() const;

 private:
  struct Live {
    std::string id;
    Plan plan;
    std::vector<uint8_t> holds{};  // by node: kBusy, kPlace, kAgent
    size_t places = 0;
    size_t agents = 0;
    size_t busyCount = 0;
    std::vector<uint32_t> stale{};        // by node: stale landings
    std::vector<uint32_t> interrupted{};  // by node: in a row
    std::deque<NodeIndex> committed{};    // the most recent nodes with a commit
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
  // The node if this attempt runs, or an empty reference.
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
  [[nodiscard]] static bool allDependentsStarted(const Plan& plan, NodeIndex node);
  static void retryLanding(Live& live, const std::vector<NodeIndex>& nodes, const Moment& now,
                           Batch& out);
  static void updateOutcome(Live& live, const Moment& now, Batch& out);
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
