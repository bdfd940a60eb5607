// One emitter: the output of its runs becomes entries, and what others must be told.
//
// No I/O and no clock: bytes and the time go in, effects come out. feed() borrows the bytes for the
// call only, so that all readers of a thread may use one buffer (64 KB is a good size). The owner
// calls due() at nextDeadline().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "lines/cycles.h"
#include "lines/filter.h"
#include "lines/parts.h"
#include "lines/ring.h"
#include "lines/rules.h"
#include "lines/splitter.h"

namespace tap::lines {

// Which lines go to the model: none, those that a rule injects, or all that are not dropped.
enum class Delivery : uint8_t { Off, Important, All };

struct SourceOptions {
  RingLimits ring;
  Delivery delivery = Delivery::Important;
  // A longer silence is an event, within a run and between two. It counts from expectEvery() on.
  std::optional<Millis> expectEvery;
};

// An entry with memory of its own. Run and line say where it comes from.
struct OwnedLine {
  uint64_t number = 0;
  int64_t unixMillis = 0;
  uint64_t line = 0;  // 0: an entry that is not a line
  uint32_t run = 0;
  int32_t rule = -1;
  FilterOutcome outcome = FilterOutcome::Keep;
  Source source = Source::Stdout;
  std::string text;  // from a program: not fenced, hidden characters not shown
  std::string metadata;
};

// One prompt. It counts as one push.
struct InjectBatch {
  std::vector<OwnedLine> lines;
  uint64_t leftOut = 0;  // lines that had no room; the ring has them
};

struct SourceNotice {
  enum class Kind : uint8_t {
    LeftOut,  // since the last notice; at the end of a run: in the whole run
    SlowRule,
  };
  Kind kind = Kind::LeftOut;
  size_t rule = 0;        // SlowRule: its lines that take too long count as not matched
  uint64_t surfaced = 0;  // LeftOut: lines that were to be shown, or
  uint64_t injected = 0;  // injected, and were not
  bool isTotal = false;
};

struct SourceEffects {
  std::vector<OwnedLine> surfaced;  // for the timeline; an injected line is not repeated here
  std::vector<InjectBatch> injects;
  std::vector<OwnedLine> rows;  // for the record store: kept lines, not those above
  std::vector<SourceNotice> notices;
  CycleEffects cycles;  // where there is a matcher
};

struct SourceCounters {
  uint64_t bytes = 0;
  uint64_t lines = 0;
  uint64_t dropped = 0;  // blank ones included
  uint64_t blank = 0;    // no rule matched them
  uint64_t kept = 0;     // entries, each line that is not dropped
  uint64_t surfaced = 0;
  uint64_t injected = 0;
  uint64_t suppressed = 0;  // held back by a cooldown or a count, and kept
  uint64_t gathered = 0;    // in digests, and kept
  uint64_t cut = 0;
  uint64_t leftOut = 0;  // neither shown nor injected, for lack of budget
  uint64_t rowsLeftOut = 0;
};

struct RunEnd {
  std::optional<int> exitCode;
  std::string signal;       // its name, where one ended the run
  bool isExpected = false;  // surfaced, and injected, where it is not
  bool mustInject = false;  // whatever the delivery
};

class LineSource {
 public:
  static constexpr Millis kBatchTime{200};
  static constexpr size_t kBatchBytes = 3000;
  static constexpr uint32_t kSurfacedPerSecond =
      static_cast<uint32_t>(kLimitTable[static_cast<size_t>(Limit::LinesPerSecond)].value);
  static constexpr uint32_t kRowsPerSecond = 100;
  static constexpr Millis kNoticeTime{1000};  // until what is left out is said first
  static constexpr Millis kNoticeAgain{30'000};

  explicit LineSource(const SourceOptions& options = {});

  // As LineFilter::setRules. Open digests end.
  [[nodiscard]] std::optional<RuleError> setRules(const std::vector<Rule>& rules, Now now,
                                                  SourceEffects& effects);
  // From the next run on its lines are read as builds or test runs.
  void setMatcher(Matcher matcher) { cycles_.emplace(std::move(matcher)); }
  void setDelivery(Delivery delivery) { options_.delivery = delivery; }
  void expectEvery(std::optional<Millis> time, Now now);
  // Something has come that is no line, such as an answer in which nothing has changed.
  void noteActivity(Now now, SourceEffects& effects);

  // What follows is of this run, also where it does not begin. Its owner counts the runs; 0: none.
  void setRun(uint32_t run);
  // REQUIRES: runs begin and end in turn; feed() only within one. `from` is Stdout or Stderr.
  void beginRun(Now now, SourceEffects& effects);
  void feed(std::string_view bytes, Source from, Now now, SourceEffects& effects);
  void endRun(const RunEnd& end, Now now, SourceEffects& effects);
  // Whole lines that no program has written. They have no begin and no end of their own.
  // REQUIRES: not within a run.
  void post(std::string_view text, Now now, SourceEffects& effects);
  // An entry of the emitter's own, such as the reason why it was stopped.
  void note(std::string_view text, FilterOutcome outcome, Now now, SourceEffects& effects);

  [[nodiscard]] std::optional<Time> nextDeadline() const;
  void due(Now now, SourceEffects& effects);

  [[nodiscard]] const LineRing& ring() const { return ring_; }
  [[nodiscard]] const LineFilter& filter() const { return filter_; }
  [[nodiscard]] const SourceCounters& counters() const { return counters_; }
  [[nodiscard]] uint32_t run() const { return run_; }
  // Memory that it holds.
  [[nodiscard]] size_t bytes() const;

 private:
  // At most so many in a second.
  class Rate {
   public:
    [[nodiscard]] bool take(Time now, uint32_t most);

   private:
    std::optional<Time> until_;
    uint32_t taken_ = 0;
  };
  // The lines that a rule with a window has gathered, or those around a match.
  struct Digest {
    size_t rule = 0;
    Time due;
    uint32_t lines = 0;
    std::string text;
    uint32_t shown = 0;
    uint32_t missing = 0;  // lines after the match that are still to come
    uint64_t last = 0;     // of these lines
  };
  struct LeftOut {
    uint64_t surfaced = 0;
    uint64_t injected = 0;
    [[nodiscard]] bool any() const { return surfaced + injected > 0; }
  };

  void acceptLine(const Line& line, Source from, Now now, SourceEffects& effects);
  void accept(const Line& line, Source from, const Decision& decision, Now now,
              SourceEffects& effects);
  void emitEntry(Entry entry, bool mustInject, Now now, SourceEffects& effects);
  void surface(const Entry& entry, Now now, SourceEffects& effects);
  void inject(const Entry& entry, Now now, SourceEffects& effects);
  void sendBatch(SourceEffects& effects);
  void gather(size_t rule, std::string_view text, Now now, SourceEffects& effects);
  Digest& openDigest(size_t rule, Time due);
  void addToDigest(Digest& digest, uint64_t line, std::string_view text) const;
  void openContext(size_t rule, std::string_view text, Now now, SourceEffects& effects);
  void continueContexts(const Decision& decision, std::string_view text, Now now,
                        SourceEffects& effects);
  void endDigest(size_t index, Now now, SourceEffects& effects);
  void endDigests(bool all, Now now, SourceEffects& effects);
  void flush(Now now, SourceEffects& effects);
  void checkSilence(Now now, SourceEffects& effects);
  void countLeftOut(uint64_t LeftOut::*what, Now now);
  void addLeftOutNotice(Now now, bool isEnd, SourceEffects& effects);
  void addSlowRuleNotices(SourceEffects& effects);
  [[nodiscard]] FilterOutcome effectiveOutcome(const Entry& entry, bool mustInject) const;
  [[nodiscard]] std::string endText(const RunEnd& end, Now now) const;

  SourceOptions options_;
  LineSplitter stdout_;
  LineSplitter stderr_;
  LineFilter filter_;
  std::optional<PartReader> cycles_;
  LineRing ring_;
  SourceCounters counters_;
  uint32_t run_ = 0;
  Time runSince_;
  uint64_t line_ = 0;  // of the run
  Time lastActivity_;  // the last line, or the begin of what is expected
  bool isSilent_ = false;
  Rate surfacing_;
  Rate recording_;
  InjectBatch batch_;
  size_t batchBytes_ = 0;
  std::optional<Time> batchDue_;
  std::vector<Digest> digests_;
  uint64_t contextEnd_ = 0;  // the last line of the last context
  LeftOut leftOut_;          // since the last notice
  LeftOut runLeftOut_;
  std::optional<Time> noticeDue_;
  std::optional<Time> noticed_;
};

}  // namespace tap::lines
