#include "lines/cycles.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace tap::lines {
namespace {

[[nodiscard]] std::string clipLine(std::string_view text) {
  return std::string(utf8::truncate(text, CycleReader::kMaxLineBytes));
}

[[nodiscard]] bool isBlankLine(std::string_view text) {
  return text.find_first_not_of(" \t") == std::string_view::npos;
}

[[nodiscard]] bool hasCode(const std::vector<int>& codes, int code) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

// Groups may have a digit behind their name, where a pattern has two alternatives.
[[nodiscard]] std::string_view baseName(std::string_view name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name;
}

[[nodiscard]] std::string* fieldNamed(Failure& failure, std::string_view name) {
  name = baseName(name);
  if (name == "file") return &failure.file;
  if (name == "line") return &failure.line;
  if (name == "col") return &failure.column;
  if (name == "code") return &failure.code;
  if (name == "name") return &failure.name;
  if (name == "what") return &failure.what;
  return nullptr;
}

void readGroups(const LinePattern& pattern, std::string_view text, Failure& failure) {
  for (const auto& [name, value] : pattern.groups(text)) {
    std::string* field = value.empty() ? nullptr : fieldNamed(failure, name);
    if (field != nullptr) *field = clipLine(value);
  }
}

[[nodiscard]] bool isSameFailure(const Failure& one, const Failure& other) {
  return one.file == other.file && one.line == other.line && one.code == other.code &&
         one.name == other.name && one.what == other.what;
}

[[nodiscard]] size_t failureSize(const Failure& failure) {
  size_t size = failure.file.size() + failure.name.size() + failure.what.size();
  for (const std::string& line : failure.lines) size += line.size();
  return size;
}

}  // namespace

CycleReader::CycleReader(Matcher matcher)
    : matcher_(std::move(matcher)),
      looksBack_(std::any_of(matcher_.failures.begin(), matcher_.failures.end(),
                             [](const FailureRule& rule) { return rule.before > 0; })) {}

void CycleReader::beginRun(uint32_t run, Now now) {
  run_ = run;
  file_.clear();
  recent_.clear();
  block_.reset();
  isOpen_ = false;
  lastLineAt_ = now.steady;
}

void CycleReader::line(const Line& line, uint64_t number, Now now, CycleEffects& effects) {
  lastLineAt_ = now.steady;
  renewBudget(now.steady);
  const std::string_view text = line.text;
  if (line.cleared && matcher_.clearBegins && matcher_.runsOn) {
    close(CycleEnd::NextBegin, std::nullopt, now, effects);
    open(number, true, now, effects);
  }
  cycle_.lastLine = number;
  if (matches(matcher_.begin, text) || matches(matcher_.touched, text)) {
    if (block_) endBlock();
    const bool isNew = !isOpen_ || hasOther_ || !isSaid_;
    if (isNew && matcher_.runsOn) close(CycleEnd::NextBegin, std::nullopt, now, effects);
    if (!isOpen_) open(number, true, now, effects);
    return;
  }
  const bool isEnd = matcher_.runsOn && matches(matcher_.end, text);
  if (block_ && (isEnd || !inBlock(text))) endBlock();
  if (!block_) outside(text, number, now, effects);
  if (looksBack_) remember(text);
  if (isEnd) close(CycleEnd::Line, std::nullopt, now, effects);
  if (isBudgetSpent_) effects.slow.emplace_back("patterns");
  isBudgetSpent_ = false;
}

void CycleReader::remember(std::string_view text) {
  recent_.push_back(clipLine(text));
  if (recent_.size() > kMaxFailureLines) recent_.pop_front();
}

void CycleReader::open(uint64_t number, bool isSaid, Now now, CycleEffects& effects) {
  cycle_ = {};
  cycle_.run = run_;
  cycle_.from = now.unixMillis;
  cycle_.firstLine = number;
  cycle_.lastLine = number;
  isOpen_ = true;
  isSaid_ = isSaid;
  hasSummary_ = false;
  hasOther_ = false;
  bytes_ = 0;
  file_.clear();
  openedAt_ = now.steady;
  if (!isSaid) return;
  cycle_.isRecognized = true;
  effects.opened = now.unixMillis;
}

// --- lines ---

void CycleReader::outside(std::string_view text, uint64_t number, Now now, CycleEffects& effects) {
  if (isBlankLine(text)) return;
  // What a watcher writes between two cycles opens none, unless it says something.
  if (!isOpen_) open(number, false, now, effects);
  hasOther_ = true;
  if (matches(matcher_.omit, text)) return;
  if (!matches(matcher_.ignored, text) && beginBlock(text, number)) return;
  if (matcher_.file && matches(matcher_.file, text)) {
    Failure heading;
    readGroups(*matcher_.file, text, heading);
    file_ = std::move(heading.file);
    return;
  }
  if (readSummary(text)) return;
  if (matcher_.ran && matches(matcher_.ran, text) && cycle_.ran.size() < kMaxRan) {
    Failure passed;
    readGroups(*matcher_.ran, text, passed);
    const std::string& what = passed.name.empty() ? passed.file : passed.name;
    if (!what.empty()) cycle_.ran.push_back(what);
    return;
  }
  if (matches(matcher_.warning, text)) ++cycle_.warnings;
}

bool CycleReader::readSummary(std::string_view text) {
  std::optional<Verdict> verdict;
  if (matches(matcher_.red, text)) {
    verdict = Verdict::Red;
    for (const auto& [name, value] : matcher_.red->groups(text)) {
      if (baseName(name) == "count") cycle_.count = clipLine(value);
    }
  } else if (matches(matcher_.none, text)) {
    verdict = Verdict::Nothing;
  } else if (matches(matcher_.green, text) || matches(matcher_.ready, text)) {
    verdict = Verdict::Green;
  }
  if (!verdict) return false;
  cycle_.verdict = *verdict;
  cycle_.isRecognized = true;
  hasSummary_ = true;
  return true;
}

bool CycleReader::beginBlock(std::string_view text, uint64_t number) {
  for (FailureRule& rule : matcher_.failures) {
    if (rule.at.matches(text, budget_) != Match::Yes) continue;
    Block block;
    block.rule = &rule;
    readGroups(rule.at, text, block.failure);
    if (block.failure.file.empty()) block.failure.file = file_;
    block.failure.number = number;
    block.failure.isLast = rule.isLast;
    block.isPlaceInside = isInside(block.failure.file) && !block.failure.line.empty();
    block.isWhatDue = rule.whatFollows;
    block.isNameDue = rule.nameGoesOn;
    block_ = std::move(block);
    const size_t before = std::min<size_t>(rule.before, recent_.size());
    for (size_t i = recent_.size() - before; i < recent_.size(); ++i) readPlace(recent_[i]);
    if (!rule.more && !rule.until && !rule.whatFollows && !rule.nameGoesOn) endBlock();
    return true;
  }
  return false;
}

// Returns: whether the line belongs to the block, to which it is then added.
bool CycleReader::inBlock(std::string_view text) {
  FailureRule& rule = *block_->rule;
  if (block_->isNameDue) {
    block_->isNameDue = false;
    if (!isBlankLine(text)) {
      const size_t from = text.find_first_not_of(" \t");
      block_->failure.name = clipLine(block_->failure.name + " " + std::string(text.substr(from)));
      return true;
    }
  }
  if (rule.until && matches(rule.until, text)) return false;
  if (!rule.until && rule.more && !matches(rule.more, text)) return false;
  if (!rule.until && !rule.more && !block_->isWhatDue) return false;
  addToBlock(text);
  return true;
}

void CycleReader::addToBlock(std::string_view text) {
  FailureRule& rule = *block_->rule;
  readPlace(text);
  if (matches(rule.skip, text)) block_->isSkipped = true;
  if (!isBlankLine(text)) block_->hasMore = true;
  if (block_->isWhatDue && !isBlankLine(text)) {
    block_->isWhatDue = false;
    block_->failure.what = clipLine(text.substr(text.find_first_not_of(" \t")));
    return;
  }
  if (matches(rule.start, text)) {
    block_->failure.lines.clear();
    block_->isPreferred.clear();
  }
  if (rule.omit ? matches(rule.omit, text) : isBlankLine(text)) return;
  addLine(text);
}

// Of more lines than there may be, preferred ones stay, and then the first ones.
void CycleReader::addLine(std::string_view text) {
  FailureRule& rule = *block_->rule;
  std::vector<std::string>& lines = block_->failure.lines;
  std::vector<bool>& preferred = block_->isPreferred;
  const bool isPreferred = matches(rule.prefer, text);
  if (lines.size() >= rule.most) {
    const auto last = std::find(preferred.rbegin(), preferred.rend(), false);
    if (!isPreferred || last == preferred.rend()) return;
    const auto index = std::distance(last, preferred.rend()) - 1;
    lines.erase(lines.begin() + index);
    preferred.erase(preferred.begin() + index);
  }
  lines.push_back(clipLine(text));
  preferred.push_back(isPreferred);
}

// The first place counts, but one in the project wins over one outside.
void CycleReader::readPlace(std::string_view text) {
  FailureRule& rule = *block_->rule;
  if (block_->isPlaceInside || !matches(rule.where, text)) return;
  Failure place;
  readGroups(*rule.where, text, place);
  const std::string file = place.file.empty() ? block_->failure.file : place.file;
  const bool isFirst = block_->failure.line.empty();
  const bool isBetter = isInside(file);
  if (!isFirst && !isBetter) return;
  block_->failure.file = file;
  block_->failure.line = place.line;
  block_->failure.column = place.column;
  block_->isPlaceInside = isBetter;
}

bool CycleReader::isInside(std::string_view file) const {
  if (file.empty() || file.find("node_modules/") != std::string_view::npos) return false;
  if (file.starts_with("file://")) file.remove_prefix(7);
  if (!file.starts_with('/')) return !file.starts_with("node:") && !file.starts_with("../");
  return !matcher_.root.empty() && file.starts_with(matcher_.root);
}

void CycleReader::endBlock() {
  Block block = std::move(*block_);
  block_.reset();
  if (block.isSkipped || (block.rule->needsMore && !block.hasMore)) return;
  cycle_.isRecognized = true;
  cycle_.verdict = Verdict::Red;
  std::vector<Failure>& all = cycle_.failures;
  const bool isKnown = std::any_of(all.begin(), all.end(), [&](const Failure& one) {
    return isSameFailure(one, block.failure);
  });
  if (isKnown) return;
  const size_t size = failureSize(block.failure);
  if (all.size() >= kMaxFailures || bytes_ + size > kMaxBytes) {
    ++cycle_.leftOut;
    return;
  }
  bytes_ += size;
  all.push_back(std::move(block.failure));
}

bool CycleReader::matches(std::optional<LinePattern>& pattern, std::string_view text) {
  if (!pattern) return false;
  const Match match = pattern->matches(text, budget_);
  isBudgetSpent_ = isBudgetSpent_ || match == Match::TimedOut;
  return match == Match::Yes;
}

// --- ends ---

Verdict CycleReader::verdictAtEnd(CycleEnd by, std::optional<int> exitCode) {
  const Verdict seen = cycle_.verdict;
  if (by == CycleEnd::Exit && (!matcher_.runsOn || matcher_.exitDecides)) {
    if (!exitCode) return Verdict::Crash;
    if (hasCode(matcher_.exit.none, *exitCode)) return Verdict::Nothing;
    if (hasCode(matcher_.exit.crash, *exitCode)) return Verdict::Crash;
    if (!hasCode(matcher_.exit.green, *exitCode)) return Verdict::Red;
    return seen == Verdict::Nothing ? seen : Verdict::Green;
  }
  if (seen != Verdict::Unknown) return seen;
  const bool isGreen = (by == CycleEnd::Line && matcher_.endIsGreen) ||
                       (by == CycleEnd::Quiet && matcher_.quietIsGreen);
  if (isGreen) {
    cycle_.isGuess = true;
    return Verdict::Green;
  }
  // A build that was said to begin, and never said that it was green.
  const bool wasExpected = isSaid_ && hasOther_ && matcher_.green && by != CycleEnd::Exit;
  return wasExpected ? Verdict::Red : Verdict::Unknown;
}

void CycleReader::close(CycleEnd by, std::optional<int> exitCode, Now now, CycleEffects& effects) {
  if (block_) endBlock();
  if (!std::exchange(isOpen_, false)) return;
  std::vector<Failure>& all = cycle_.failures;
  const bool hasOthers =
      std::any_of(all.begin(), all.end(), [](const Failure& one) { return !one.isLast; });
  if (hasOthers) std::erase_if(all, [](const Failure& one) { return one.isLast; });
  cycle_.verdict = verdictAtEnd(by, exitCode);
  cycle_.closedBy = by;
  cycle_.exitCode = exitCode;
  cycle_.to = now.unixMillis;
  if (cycle_.verdict == Verdict::Unknown && by != CycleEnd::Exit) return;
  effects.closed.push_back(std::exchange(cycle_, {}));
  bytes_ = 0;
}

void CycleReader::endRun(std::optional<int> exitCode, Now now, CycleEffects& effects) {
  if (block_) endBlock();
  if (!isOpen_) open(0, false, now, effects);
  close(CycleEnd::Exit, exitCode, now, effects);
}

// --- time ---

std::optional<Time> CycleReader::quietDeadline() const {
  if (!isOpen_ || !matcher_.runsOn) return std::nullopt;
  if (hasSummary_ && !block_) return lastLineAt_ + kSummaryTime;
  if (cycle_.verdict == Verdict::Red || block_) {
    // Without an end to wait for, and with a begin that separates the next build.
    const bool isComplete = matcher_.begin && !matcher_.end;
    return lastLineAt_ + (isComplete ? kSummaryTime : kFailureTime);
  }
  if (matcher_.quietIsGreen && isSaid_) return openedAt_ + kQuietTime;
  return std::nullopt;
}

std::optional<Time> CycleReader::nextDeadline() const {
  return quietDeadline();
}

void CycleReader::renewBudget(Time now) {
  if (now < budgetUntil_) return;
  budget_.left = std::min(budget_.left + kBudget, kBudget);
  budgetUntil_ = now + std::chrono::seconds(1);
}

void CycleReader::due(Now now, CycleEffects& effects) {
  const std::optional<Time> deadline = quietDeadline();
  if (!deadline || now.steady < *deadline) return;
  close(CycleEnd::Quiet, std::nullopt, now, effects);
}

}  // namespace tap::lines
