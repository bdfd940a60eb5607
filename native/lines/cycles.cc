#include "lines/cycles.h"

#include <algorithm>
#include <array>
#include <iterator>
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

void readGroups(const FieldPattern& pattern, std::string_view text, Failure& failure) {
  for (const auto& [name, value] : pattern.pattern.groups(text)) {
    std::string* field = value.empty() ? nullptr : fieldNamed(failure, name);
    if (field != nullptr) *field = clipLine(value);
  }
}

[[nodiscard]] bool isSameFailure(const Failure& one, const Failure& other) {
  return one.file == other.file && one.line == other.line && one.code == other.code &&
         one.name == other.name && one.what == other.what;
}

[[nodiscard]] size_t failureSize(const Failure& failure) {
  size_t size = failure.file.size() + failure.line.size() + failure.column.size() +
                failure.code.size() + failure.name.size() + failure.what.size();
  for (const std::string& line : failure.lines) size += line.size();
  return size;
}

// What a line outside of a block may be.
constexpr std::array kCyclePatterns{
    &Matcher::begin, &Matcher::end,  &Matcher::touched, &Matcher::ready, &Matcher::red,
    &Matcher::green, &Matcher::none, &Matcher::warning, &Matcher::file,  &Matcher::ran,
};
constexpr std::array kExceptions{&Matcher::omit, &Matcher::ignored};
constexpr std::array kBlockPatterns{
    &FailureRule::more,   &FailureRule::until, &FailureRule::start, &FailureRule::omit,
    &FailureRule::prefer, &FailureRule::where, &FailureRule::skip,
};

[[nodiscard]] size_t patternBytes(const std::optional<FieldPattern>& pattern) {
  return pattern ? pattern->pattern.bytes() : 0;
}

}  // namespace

CycleReader::CycleReader(Matcher matcher, Search search)
    : matcher_(std::move(matcher)), search_(search) {
  for (const FailureRule& rule : matcher_.failures) {
    lookBack_ = std::max<size_t>(lookBack_, rule.before);
  }
  findLiterals();
}

void CycleReader::findLiterals() {
  std::vector<Prefilter::Literal> literals;
  const auto add = [&](FieldPattern& pattern) {
    pattern.hasLiterals = addLiterals(pattern.pattern.text(), literals);
    allHaveLiterals_ = allHaveLiterals_ && pattern.hasLiterals;
  };
  for (const auto pattern : kCyclePatterns) {
    if (matcher_.*pattern) add(*(matcher_.*pattern));
  }
  for (FailureRule& rule : matcher_.failures) add(rule.at);
  search_.setLiterals(std::move(literals));
}

void CycleReader::beginRun(uint32_t run, Now now) {
  run_ = run;
  isRunning_ = true;
  block_.reset();
  lastLineAt_ = now.steady;
  isOpen_ = false;
  // Of a command that ends the run is the cycle.
  if (!matcher_.runsOn) open(0, now);
}

void CycleReader::line(const Line& line, uint64_t number, Now now, CycleEffects& effects) {
  if (!isRunning_) return;
  // What a watcher wrote long before, and nobody knew, belongs to no build.
  const bool isUnknown = isOpen_ && !isSaid_ && !cycle_.isRecognized && !block_;
  if (isUnknown && matcher_.runsOn && now.steady >= lastLineAt_ + kFailureTime) isOpen_ = false;
  lastLineAt_ = now.steady;
  renewBudget(now.steady);
  readLine(line, number, now, effects);
  if (slow_.empty()) return;
  std::move(slow_.begin(), slow_.end(), std::back_inserter(effects.slow));
  slow_.clear();
}

void CycleReader::readLine(const Line& line, uint64_t number, Now now, CycleEffects& effects) {
  const std::string_view text = line.text;
  hasNoLiteral_ = !search_.mayContain(line);
  if (line.cleared && matcher_.clearBegins && matcher_.runsOn) {
    close(CycleEnd::NextBegin, std::nullopt, now, effects);
    sayBegin(number, now, effects);
  }
  const bool isBegin = matches(matcher_.begin, text);
  if (isBegin || matches(matcher_.touched, text)) {
    sayBegin(number, now, effects);
    if (!isBegin) addRan(*matcher_.touched, text);
    isTouched_ = isTouched_ || !isBegin;
    return;
  }
  if (cycle_.firstLine == 0) cycle_.firstLine = number;
  cycle_.lastLine = number;
  const bool isEnd = matcher_.runsOn && matches(matcher_.end, text);
  if (block_ && (isEnd || !inBlock(text))) endBlock();
  if (!block_) outside(text, number, now);
  hasOther_ = hasOther_ || (!isEnd && !isBlankLine(text));
  if (lookBack_ > 0 && !block_) remember(text);
  if (isEnd) close(CycleEnd::Line, std::nullopt, now, effects);
}

void CycleReader::remember(std::string_view text) {
  recent_.push_back(clipLine(text));
  if (recent_.size() > lookBack_) recent_.pop_front();
}

void CycleReader::open(uint64_t number, Now now) {
  cycle_ = {};
  cycle_.run = run_;
  cycle_.from = now.unixMillis;
  cycle_.firstLine = number;
  cycle_.lastLine = number;
  isOpen_ = true;
  isSaid_ = false;
  isTouched_ = false;
  hasSummary_ = false;
  hasRed_ = false;
  hasOther_ = false;
  file_.clear();
  recent_.clear();
  openedAt_ = now.steady;
}

// A second begin without anything in between is the same cycle.
void CycleReader::sayBegin(uint64_t number, Now now, CycleEffects& effects) {
  if (block_) endBlock();
  if (isOpen_ && matcher_.runsOn && (hasOther_ || !isSaid_)) {
    close(CycleEnd::NextBegin, std::nullopt, now, effects);
  }
  if (!isOpen_) open(number, now);
  if (cycle_.firstLine == 0) cycle_.firstLine = number;
  cycle_.lastLine = number;
  cycle_.isRecognized = true;
  if (!std::exchange(isSaid_, true)) effects.opened = cycle_.from;
}

// --- lines ---

void CycleReader::outside(std::string_view text, uint64_t number, Now now) {
  if (isBlankLine(text)) return;
  if (!isOpen_) open(number, now);
  if ((hasNoLiteral_ && allHaveLiterals_) || matches(matcher_.omit, text)) return;
  if (!matches(matcher_.ignored, text) && beginBlock(text, number)) return;
  if (matches(matcher_.file, text)) {
    Failure heading;
    readGroups(*matcher_.file, text, heading);
    file_ = std::move(heading.file);
  } else if (readSummary(text)) {
    return;
  } else if (matches(matcher_.ran, text)) {
    addRan(*matcher_.ran, text);
  } else if (matches(matcher_.warning, text)) {
    cycle_.isRecognized = true;
    ++cycle_.warnings;
  }
}

void CycleReader::addRan(const FieldPattern& pattern, std::string_view text) {
  Failure passed;
  readGroups(pattern, text, passed);
  std::string& what = passed.name.empty() ? passed.file : passed.name;
  cycle_.isRecognized = true;
  if (what.empty()) return;
  if (cycle_.ran.size() >= kMaxRan || ranBytes_ + what.size() > kMaxRanBytes) {
    ++cycle_.ranLeftOut;
    return;
  }
  ranBytes_ += what.size();
  cycle_.ran.push_back(std::move(what));
}

// Tools have a line for each of their parts: if the cycle has bounds of its own, a red one is the
// last word. A green one is the last word on failures. That nothing ran counts where nothing else
// is known.
bool CycleReader::readSummary(std::string_view text) {
  Verdict& verdict = cycle_.verdict;
  const bool isRedFinal = hasRed_ && (matcher_.begin || matcher_.end);
  if (matches(matcher_.red, text)) {
    verdict = Verdict::Red;
    hasRed_ = true;
    for (const auto& [name, value] : matcher_.red->pattern.groups(text)) {
      if (baseName(name) == "count") cycle_.count = clipLine(value);
    }
  } else if (matches(matcher_.none, text)) {
    if (verdict == Verdict::Unknown) verdict = Verdict::Nothing;
  } else if (matches(matcher_.green, text) || matches(matcher_.ready, text)) {
    if (!isRedFinal) verdict = Verdict::Green;
  } else {
    return false;
  }
  cycle_.isRecognized = true;
  hasSummary_ = true;
  knownAt_ = lastLineAt_;
  return true;
}

bool CycleReader::beginBlock(std::string_view text, uint64_t number) {
  for (FailureRule& rule : matcher_.failures) {
    if (!matches(rule.at, text)) continue;
    Block block;
    block.rule = &rule;
    readGroups(rule.at, text, block.failure);
    if (block.failure.file.empty()) block.failure.file = file_;
    block.failure.number = number;
    block.failure.isLast = rule.isLast;
    block.hasPlace = !block.failure.line.empty();
    block.isPlaceInside = block.hasPlace && isInside(block.failure.file);
    block.isWhatDue = rule.whatFollows;
    block.isNameDue = rule.nameGoesOn;
    block_ = std::move(block);
    knownAt_ = lastLineAt_;
    const size_t before = std::min<size_t>(rule.before, recent_.size());
    for (size_t i = recent_.size() - before; i < recent_.size(); ++i) {
      readPlace(recent_[i]);
      if (!rule.where) addLine(recent_[i]);
    }
    if (!rule.more && !rule.until && !rule.whatFollows && !rule.nameGoesOn) endBlock();
    return true;
  }
  return false;
}

// Returns: whether the line belongs to the block, to which it is then added.
bool CycleReader::inBlock(std::string_view text) {
  FailureRule& rule = *block_->rule;
  if (matches(rule.until, text)) return false;
  if (std::exchange(block_->isNameDue, false) && !isBlankLine(text)) {
    const std::string rest(text.substr(text.find_first_not_of(" \t")));
    block_->failure.name = clipLine(block_->failure.name + " " + rest);
    return true;
  }
  if (!rule.until && !block_->isWhatDue && !matches(rule.more, text)) return false;
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
  if (!block_->isStarted && matches(rule.start, text)) {
    block_->isStarted = true;
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
  const bool isBetter = isInside(file);
  if (block_->hasPlace && !isBetter) return;
  block_->hasPlace = true;
  block_->failure.file = file;
  block_->failure.line = place.line;
  block_->failure.column = place.column;
  block_->isPlaceInside = isBetter;
}

bool CycleReader::isInside(std::string_view file) const {
  if (file.empty() || file.find("node_modules/") != std::string_view::npos) return false;
  if (file.starts_with("file://")) file.remove_prefix(7);
  if (!file.starts_with('/')) return !file.starts_with("node:") && !file.starts_with("../");
  std::string_view root = matcher_.root;
  if (root.ends_with('/')) root.remove_suffix(1);
  return !root.empty() && file.starts_with(root) && file.substr(root.size()).starts_with('/');
}

void CycleReader::endBlock() {
  Block block = std::move(*block_);
  block_.reset();
  recent_.clear();
  if (block.isSkipped || (block.rule->needsMore && !block.hasMore)) return;
  cycle_.isRecognized = true;
  cycle_.verdict = Verdict::Red;
  addFailure(std::move(block.failure));
}

void CycleReader::addFailure(Failure failure) {
  std::vector<Failure>& all = cycle_.failures;
  if (!all.empty() && all.front().isLast != failure.isLast) {
    if (failure.isLast) return;
    all.clear();
    cycle_.leftOut = 0;
    bytes_ = 0;
  }
  const bool isKnown = std::any_of(all.begin(), all.end(),
                                   [&](const Failure& one) { return isSameFailure(one, failure); });
  if (isKnown) return;
  const size_t size = failureSize(failure);
  if (all.size() >= kMaxFailures || bytes_ + size > kMaxBytes) {
    ++cycle_.leftOut;
    return;
  }
  bytes_ += size;
  all.push_back(std::move(failure));
}

bool CycleReader::matches(FieldPattern& pattern, std::string_view text) {
  if (hasNoLiteral_ && pattern.hasLiterals) return false;
  const Match match = pattern.pattern.matches(text, budget_);
  if (match == Match::TimedOut && !std::exchange(pattern.wasSlow, true)) {
    slow_.push_back(pattern.field);
  }
  return match == Match::Yes;
}

// --- ends ---

Verdict CycleReader::verdictAtExit(std::optional<int> exitCode) const {
  const ExitCodes& known = matcher_.exit;
  if (!exitCode || hasCode(known.crash, *exitCode)) return Verdict::Crash;
  // A tool that found no tests may say so with the exit code of a failure.
  const bool isEmpty = cycle_.verdict == Verdict::Nothing;
  if (isEmpty || hasCode(known.none, *exitCode)) return Verdict::Nothing;
  if (hasCode(known.green, *exitCode)) return Verdict::Green;
  return known.red.empty() || hasCode(known.red, *exitCode) ? Verdict::Red : Verdict::Crash;
}

Verdict CycleReader::verdictAtEnd(CycleEnd by, std::optional<int> exitCode) {
  const bool exitDecides = !matcher_.runsOn || matcher_.exitDecides;
  if (by == CycleEnd::Exit && exitDecides) return verdictAtExit(exitCode);
  if (cycle_.verdict != Verdict::Unknown) return cycle_.verdict;
  const bool isGreen = (by == CycleEnd::Line && matcher_.endIsGreen) ||
                       (by == CycleEnd::Quiet && (matcher_.quietIsGreen || isTouched_));
  if (isGreen) {
    cycle_.isGuess = true;
    return Verdict::Green;
  }
  // A build that was said to begin, and never said that it was green.
  const bool wasExpected =
      isSaid_ && !isTouched_ && hasOther_ && matcher_.green && by != CycleEnd::Exit;
  return wasExpected ? Verdict::Red : Verdict::Unknown;
}

void CycleReader::close(CycleEnd by, std::optional<int> exitCode, Now now, CycleEffects& effects) {
  if (block_) endBlock();
  if (!std::exchange(isOpen_, false)) return;
  cycle_.verdict = verdictAtEnd(by, exitCode);
  report(by, exitCode, now, effects);
}

void CycleReader::report(CycleEnd by, std::optional<int> exitCode, Now now, CycleEffects& effects) {
  Cycle closed = std::exchange(cycle_, {});
  bytes_ = 0;
  ranBytes_ = 0;
  if (closed.verdict == Verdict::Unknown && by != CycleEnd::Exit) return;
  closed.closedBy = by;
  closed.exitCode = exitCode;
  closed.to = now.unixMillis;
  effects.closed.push_back(std::move(closed));
}

void CycleReader::endRun(std::optional<int> exitCode, Now now, CycleEffects& effects) {
  if (!std::exchange(isRunning_, false)) return;
  if (!isOpen_) open(0, now);
  close(CycleEnd::Exit, exitCode, now, effects);
}

void CycleReader::endWithProgram(Now now, CycleEffects& effects) {
  if (!std::exchange(isRunning_, false)) return;
  if (block_) endBlock();
  if (!std::exchange(isOpen_, false)) return;
  if (cycle_.verdict == Verdict::Unknown) {
    if (matcher_.runsOn) return;
    cycle_.verdict = Verdict::Green;
    cycle_.isGuess = true;
  }
  report(CycleEnd::Exit, std::nullopt, now, effects);
}

void CycleReader::ignoreFailures() {
  block_.reset();
  matcher_.failures.clear();
  cycle_.failures.clear();
  cycle_.verdict = Verdict::Unknown;
  findLiterals();
}

// --- time ---

// Of a cycle with a summary or a failure.
Time CycleReader::verdictDeadline() const {
  Millis silence = kSummaryTime;
  if (!hasSummary_ || block_) {
    if (matcher_.end) return lastLineAt_ + kEndTime;
    if (!matcher_.begin) silence = kFailureTime;
  }
  return std::min(lastLineAt_ + silence, knownAt_ + kMaxWait);
}

std::optional<Time> CycleReader::nextDeadline() const {
  if (!isOpen_ || !matcher_.runsOn) return std::nullopt;
  if (block_ || hasSummary_ || cycle_.verdict == Verdict::Red) return verdictDeadline();
  if (isTouched_ || (matcher_.quietIsGreen && isSaid_)) return openedAt_ + kQuietTime;
  return std::nullopt;
}

bool CycleReader::isDue(Time now) const {
  const std::optional<Time> deadline = nextDeadline();
  return deadline && now >= *deadline;
}

void CycleReader::due(Now now, CycleEffects& effects) {
  if (!isDue(now.steady)) return;
  // A block that was none leaves the cycle without a verdict.
  if (block_) endBlock();
  if (isDue(now.steady)) close(CycleEnd::Quiet, std::nullopt, now, effects);
}

void CycleReader::renewBudget(Time now) {
  if (now < budgetUntil_) return;
  budget_.left = std::min(budget_.left + kBudget, kBudget);
  budgetUntil_ = now + std::chrono::seconds(1);
}

size_t CycleReader::bytes() const {
  size_t bytes = bytes_ + ranBytes_ + file_.capacity();
  bytes += cycle_.failures.capacity() * sizeof(Failure);
  bytes += cycle_.ran.capacity() * sizeof(std::string);
  for (const std::string& line : recent_) bytes += sizeof(std::string) + line.capacity();
  if (block_) bytes += failureSize(block_->failure);
  bytes += search_.bytes();
  for (const auto pattern : kCyclePatterns) bytes += patternBytes(matcher_.*pattern);
  for (const auto pattern : kExceptions) bytes += patternBytes(matcher_.*pattern);
  bytes += matcher_.failures.capacity() * sizeof(FailureRule);
  for (const FailureRule& rule : matcher_.failures) {
    bytes += rule.at.pattern.bytes();
    for (const auto pattern : kBlockPatterns) bytes += patternBytes(rule.*pattern);
  }
  return bytes;
}

}  // namespace tap::lines
