#include "lines/source.h"

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "base/utf8.h"

namespace tap::lines {
namespace {

constexpr size_t kDigestBytes = 2000;
constexpr size_t kEndLines = 20;
constexpr size_t kEndLineBytes = 200;
constexpr std::string_view kEllipsis = "\u2026";

[[nodiscard]] std::string shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  return std::string(utf8::truncate(text, most - kEllipsis.size())).append(kEllipsis);
}

[[nodiscard]] bool isBlank(std::string_view text) {
  return text.find_first_not_of(" \t") == std::string_view::npos;
}

[[nodiscard]] std::string numbered(uint64_t count, std::string_view one) {
  return std::to_string(count) + " " + std::string(one) + (count == 1 ? "" : "s");
}

[[nodiscard]] OwnedLine copyLine(const Entry& entry, size_t most) {
  return {entry.number,
          entry.unixMillis,
          entry.line,
          entry.run,
          entry.rule,
          entry.outcome,
          entry.source,
          shortened(entry.text, most),
          std::string(entry.metadata)};
}

// A line within a text of several, with where it comes from: a program's text is never alone.
[[nodiscard]] std::string linePrefix(uint32_t run, uint64_t line) {
  return "\n[run " + std::to_string(run) + ", line " + std::to_string(line) + "] ";
}

// The begin and the end of runs and the like are few, and always told.
[[nodiscard]] bool isAboutRun(const Entry& entry) {
  return entry.source == Source::Own && entry.rule < 0;
}

void earliest(std::optional<Time>& first, std::optional<Time> other) {
  if (other && (!first || *other < *first)) first = other;
}

}  // namespace

bool LineSource::Rate::take(Time now, uint32_t most) {
  if (!until_ || now >= *until_) {
    until_ = now + std::chrono::seconds(1);
    taken_ = 0;
  }
  return taken_ < most && ++taken_ > 0;
}

LineSource::LineSource(const SourceOptions& options) : options_(options), ring_(options.ring) {}

std::optional<RuleError> LineSource::setRules(const std::vector<Rule>& rules, Now now,
                                              SourceEffects& effects) {
  LineFilter tried;
  if (auto problem = tried.setRules(rules)) return problem;
  endDigests(true, now, effects);
  return filter_.setRules(rules);
}

void LineSource::expectEvery(std::optional<Millis> time, Now now) {
  options_.expectEvery = time;
  lastActivity_ = now.steady;
  isSilent_ = false;
}

// --- runs ---

void LineSource::setRun(uint32_t run) {
  if (run != run_) line_ = 0;
  run_ = run;
}

void LineSource::beginRun(Now now, SourceEffects& effects) {
  runSince_ = now.steady;
  line_ = 0;
  contextEnd_ = 0;
  runLeftOut_ = {};
  if (cycles_) cycles_->beginRun(run_, now);
  note("run " + std::to_string(run_) + " began", FilterOutcome::Keep, now, effects);
}

void LineSource::endRun(const RunEnd& end, Now now, SourceEffects& effects) {
  if (cycles_) cycles_->due(now, effects.cycles);
  Line line;
  while (stdout_.end(line)) acceptLine(line, Source::Stdout, now, effects);
  while (stderr_.end(line)) acceptLine(line, Source::Stderr, now, effects);
  if (cycles_) cycles_->endRun(end.exitCode, now, effects.cycles);
  endDigests(true, now, effects);
  Entry entry;
  const std::string text = endText(end, now);
  entry.text = text;
  entry.source = Source::Own;
  const bool isTold = end.mustInject || !end.isExpected;
  entry.outcome = isTold ? FilterOutcome::Inject : FilterOutcome::Keep;
  emitEntry(entry, end.mustInject, now, effects);
  sendBatch(effects);
  addSlowRuleNotices(effects);
  addLeftOutNotice(now, true, effects);
}

void LineSource::post(std::string_view text, Now now, SourceEffects& effects) {
  feed(text, Source::Stdout, now, effects);
  Line line;
  while (stdout_.end(line)) acceptLine(line, Source::Stdout, now, effects);
}

std::string LineSource::endText(const RunEnd& end, Now now) const {
  std::string text = "run " + std::to_string(run_) + " ended";
  if (!end.signal.empty()) {
    text += " by " + end.signal;
  } else if (end.exitCode) {
    text += " with exit code " + std::to_string(*end.exitCode);
  }
  text += " after " + inSeconds(now.steady - runSince_) + ", " + numbered(line_, "line");
  std::string last;
  for (const Entry& entry : ring_.query({kEndLines, 0, FilterOutcome::Keep})) {
    if (entry.run != run_ || entry.source == Source::Own) continue;
    last += linePrefix(run_, entry.line) + shortened(entry.text, kEndLineBytes);
  }
  return last.empty() ? text : text + "; the last that were kept:" + last;
}

void LineSource::note(std::string_view text, FilterOutcome outcome, Now now,
                      SourceEffects& effects) {
  Entry entry;
  entry.text = text;
  entry.source = Source::Own;
  entry.outcome = outcome;
  emitEntry(entry, false, now, effects);
}

// --- lines ---

void LineSource::feed(std::string_view bytes, Source from, Now now, SourceEffects& effects) {
  // Time passed before the bytes came.
  if (cycles_) cycles_->due(now, effects.cycles);
  LineSplitter& splitter = from == Source::Stderr ? stderr_ : stdout_;
  counters_.bytes += bytes.size();
  splitter.feed(bytes, now.steady);
  filter_.enter(splitter.block());
  if (cycles_) cycles_->enter(splitter.block());
  const uint64_t before = counters_.lines;
  Line line;
  while (splitter.next(line)) acceptLine(line, from, now, effects);
  if (counters_.lines > before) noteActivity(now, effects);
  addSlowRuleNotices(effects);
}

void LineSource::acceptLine(const Line& line, Source from, Now now, SourceEffects& effects) {
  ++counters_.lines;
  ++line_;
  counters_.cut += line.cut ? 1 : 0;
  if (cycles_) cycles_->line(line, line_, now, effects.cycles);
  const Decision decision = filter_.decide(line, now.steady);
  if (decision.outcome == FilterOutcome::Drop) {
    ++counters_.dropped;
    return;
  }
  accept(line, from, decision, now, effects);
}

void LineSource::accept(const Line& line, Source from, const Decision& decision, Now now,
                        SourceEffects& effects) {
  if (decision.rule < 0 && isBlank(line.text)) {
    ++counters_.blank;
    ++counters_.dropped;
    return;
  }
  ++counters_.kept;
  if (!digests_.empty()) continueContexts(decision, line.text, now, effects);
  counters_.suppressed += decision.isHeld ? 1 : 0;
  std::string metadata;
  if (decision.rule >= 0) {
    metadata = filter_.captured(static_cast<size_t>(decision.rule), line.text);
  }
  Entry entry;
  entry.line = line_;
  entry.rule = decision.rule;
  entry.outcome = decision.outcome;
  entry.source = from;
  entry.text = line.text;
  entry.metadata = metadata;
  emitEntry(entry, false, now, effects);
  if (!decision.isGathered) return;
  ++counters_.gathered;
  const auto rule = static_cast<size_t>(decision.rule);
  if (filter_.rule(rule).hasContext()) return openContext(rule, line.text, now, effects);
  gather(rule, line.text, now, effects);
}

FilterOutcome LineSource::effectiveOutcome(const Entry& entry, bool mustInject) const {
  if (mustInject) return entry.outcome;
  switch (options_.delivery) {
    case Delivery::Off:
      return std::min(entry.outcome, FilterOutcome::Surface);
    case Delivery::Important:
      return entry.outcome;
    case Delivery::All:
      return entry.source == Source::Own ? entry.outcome : FilterOutcome::Inject;
  }
  return entry.outcome;
}

void LineSource::emitEntry(Entry entry, bool mustInject, Now now, SourceEffects& effects) {
  entry.run = run_;
  entry.unixMillis = now.unixMillis;
  entry.outcome = effectiveOutcome(entry, mustInject);
  entry.number = ring_.append(entry);
  switch (entry.outcome) {
    case FilterOutcome::Drop:
    case FilterOutcome::Keep:
      if (recording_.take(now.steady, kRowsPerSecond)) {
        effects.rows.push_back(copyLine(entry, LineText::kMaxLineBytes + LineText::kMarkRoom));
      } else {
        ++counters_.rowsLeftOut;
      }
      return;
    case FilterOutcome::Surface:
      return surface(entry, now, effects);
    case FilterOutcome::Inject:
      return inject(entry, now, effects);
  }
}

void LineSource::surface(const Entry& entry, Now now, SourceEffects& effects) {
  if (!isAboutRun(entry) && !surfacing_.take(now.steady, kSurfacedPerSecond)) {
    return countLeftOut(&LeftOut::surfaced, now);
  }
  ++counters_.surfaced;
  effects.surfaced.push_back(copyLine(entry, LineText::kMaxLineBytes + LineText::kMarkRoom));
}

// --- injects ---

void LineSource::inject(const Entry& entry, Now now, SourceEffects& effects) {
  if (!batchDue_) batchDue_ = now.steady + kBatchTime;
  const size_t size = std::min(entry.text.size(), kBatchBytes) + 1;
  const bool isFull = !batch_.lines.empty() && batchBytes_ + size > kBatchBytes;
  if (isFull && !isAboutRun(entry)) {
    ++batch_.leftOut;
    return countLeftOut(&LeftOut::injected, now);
  }
  if (isFull) {
    sendBatch(effects);
    batchDue_ = now.steady + kBatchTime;
  }
  batchBytes_ += size;
  ++counters_.injected;
  batch_.lines.push_back(copyLine(entry, kBatchBytes));
}

void LineSource::sendBatch(SourceEffects& effects) {
  batchDue_.reset();
  batchBytes_ = 0;
  if (!batch_.lines.empty()) effects.injects.push_back(std::exchange(batch_, {}));
}

// --- digests ---

void LineSource::gather(size_t rule, std::string_view text, Now now, SourceEffects& effects) {
  const Rule::Window& window = *filter_.rule(rule).window;
  Digest& digest = openDigest(rule, now.steady + window.time);
  addToDigest(digest, line_, text);
  if (digest.lines < window.lines) return;
  endDigest(static_cast<size_t>(&digest - digests_.data()), now, effects);
}

// The rule's own, or a new one.
LineSource::Digest& LineSource::openDigest(size_t rule, Time due) {
  const auto open = std::find_if(digests_.begin(), digests_.end(),
                                 [rule](const Digest& one) { return one.rule == rule; });
  if (open != digests_.end()) return *open;
  digests_.push_back({.rule = rule, .due = due});
  return digests_.back();
}

void LineSource::addToDigest(Digest& digest, uint64_t line, std::string_view text) const {
  ++digest.lines;
  digest.last = line;
  if (digest.text.size() >= kDigestBytes) return;
  digest.text += linePrefix(run_, line) + shortened(text, kDigestBytes - digest.text.size() + 16);
  ++digest.shown;
}

// A match within the lines after another one is one of these lines: more lines follow it.
void LineSource::openContext(size_t index, std::string_view text, Now now, SourceEffects& effects) {
  const Rule& rule = filter_.rule(index);
  Digest& digest = openDigest(index, now.steady + kContextTime);
  if (digest.lines == 0) {
    for (const Entry& entry : ring_.query({rule.before + size_t{1}, 0, FilterOutcome::Keep})) {
      const bool isBefore = entry.run == run_ && entry.line > contextEnd_ && entry.line < line_;
      if (isBefore && entry.outcome == FilterOutcome::Keep)
        addToDigest(digest, entry.line, entry.text);
    }
  }
  addToDigest(digest, line_, text);
  const uint32_t room = kMaxContextLines - std::min(digest.lines, kMaxContextLines);
  digest.missing = rule.after > 0 ? std::min(rule.after, room) : rule.until ? room : 0;
  if (digest.missing == 0) {
    endDigest(static_cast<size_t>(&digest - digests_.data()), now, effects);
  }
}

// Lines that go on their own are not repeated.
void LineSource::continueContexts(const Decision& decision, std::string_view text, Now now,
                                  SourceEffects& effects) {
  for (size_t i = digests_.size(); i-- > 0;) {
    Digest& digest = digests_[i];
    if (!filter_.rule(digest.rule).hasContext()) continue;
    const bool isMatch = decision.isGathered && digest.rule == static_cast<size_t>(decision.rule);
    if (filter_.endsContext(digest.rule, text)) {
      endDigest(i, now, effects);
    } else if (decision.outcome == FilterOutcome::Keep && !isMatch) {
      addToDigest(digest, line_, text);
      if (--digest.missing == 0) endDigest(i, now, effects);
    }
  }
}

void LineSource::endDigest(size_t index, Now now, SourceEffects& effects) {
  const Digest digest = std::move(digests_[index]);
  digests_.erase(digests_.begin() + static_cast<std::ptrdiff_t>(index));
  const Rule& rule = filter_.rule(digest.rule);
  std::string text = numbered(digest.lines, "line");
  if (rule.window) {
    const Millis began = (digest.due - rule.window->time).time_since_epoch();
    text += " in " + inSeconds(now.steady.time_since_epoch() - began);
  } else {
    contextEnd_ = digest.last;
  }
  text += ":" + digest.text;
  if (digest.lines > digest.shown) {
    text += "\n" + numbered(digest.lines - digest.shown, "more line");
  }
  Entry entry;
  entry.text = text;
  entry.source = Source::Own;
  entry.rule = static_cast<int32_t>(digest.rule);
  entry.outcome = rule.outcome;
  emitEntry(entry, false, now, effects);
}

void LineSource::endDigests(bool all, Now now, SourceEffects& effects) {
  for (size_t i = digests_.size(); i-- > 0;) {
    if (all || now.steady >= digests_[i].due) endDigest(i, now, effects);
  }
}

// --- time ---

std::optional<Time> LineSource::nextDeadline() const {
  std::optional<Time> first = stdout_.nextDeadline();
  earliest(first, stderr_.nextDeadline());
  earliest(first, batchDue_);
  earliest(first, noticeDue_);
  for (const Digest& digest : digests_) earliest(first, digest.due);
  if (cycles_) earliest(first, cycles_->nextDeadline());
  if (options_.expectEvery && !isSilent_) {
    earliest(first, lastActivity_ + *options_.expectEvery);
  }
  return first;
}

void LineSource::due(Now now, SourceEffects& effects) {
  if (cycles_) cycles_->due(now, effects.cycles);
  flush(now, effects);
  endDigests(false, now, effects);
  checkSilence(now, effects);
  if (batchDue_ && now.steady >= *batchDue_) sendBatch(effects);
  if (noticeDue_ && now.steady >= *noticeDue_) addLeftOutNotice(now, false, effects);
  addSlowRuleNotices(effects);
}

void LineSource::flush(Now now, SourceEffects& effects) {
  const uint64_t before = counters_.lines;
  Line line;
  while (stdout_.flush(now.steady, line)) acceptLine(line, Source::Stdout, now, effects);
  while (stderr_.flush(now.steady, line)) acceptLine(line, Source::Stderr, now, effects);
  if (counters_.lines > before) noteActivity(now, effects);
}

void LineSource::noteActivity(Now now, SourceEffects& effects) {
  const Millis silence = now.steady - lastActivity_;
  lastActivity_ = now.steady;
  if (!std::exchange(isSilent_, false)) return;
  note("something came again after " + inSeconds(silence), FilterOutcome::Surface, now, effects);
}

void LineSource::checkSilence(Now now, SourceEffects& effects) {
  if (!options_.expectEvery || isSilent_) return;
  if (now.steady < lastActivity_ + *options_.expectEvery) return;
  isSilent_ = true;
  note("nothing came for " + inSeconds(now.steady - lastActivity_) +
           "; something was expected every " + inSeconds(*options_.expectEvery),
       FilterOutcome::Inject, now, effects);
}

// --- what is said about it ---

void LineSource::countLeftOut(uint64_t LeftOut::*what, Now now) {
  ++counters_.leftOut;
  ++(leftOut_.*what);
  ++(runLeftOut_.*what);
  if (noticeDue_) return;
  noticeDue_ = now.steady + kNoticeTime;
  if (noticed_) noticeDue_ = std::max(*noticeDue_, *noticed_ + kNoticeAgain);
}

void LineSource::addLeftOutNotice(Now now, bool isEnd, SourceEffects& effects) {
  noticeDue_.reset();
  noticed_ = isEnd ? std::nullopt : std::optional(now.steady);
  const LeftOut said = isEnd ? runLeftOut_ : leftOut_;
  leftOut_ = {};
  if (!said.any()) return;
  effects.notices.push_back({SourceNotice::Kind::LeftOut, 0, said.surfaced, said.injected, isEnd});
}

void LineSource::addSlowRuleNotices(SourceEffects& effects) {
  while (const std::optional<size_t> rule = filter_.takeSlowNotice()) {
    effects.notices.push_back({SourceNotice::Kind::SlowRule, *rule, 0, 0, false});
  }
}

size_t LineSource::bytes() const {
  size_t bytes = sizeof *this + stdout_.bytes() + stderr_.bytes() + filter_.bytes() + ring_.bytes();
  for (const Digest& digest : digests_) bytes += sizeof digest + digest.text.capacity();
  return bytes + batchBytes_ + (cycles_ ? cycles_->bytes() : 0);
}

}  // namespace tap::lines
