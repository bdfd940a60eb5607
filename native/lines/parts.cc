#include "lines/parts.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/utf8.h"

namespace tap::lines {
namespace {

struct Groups {
  std::string_view who;
  std::string_view rest;
  std::string_view code;
};

[[nodiscard]] Groups readPartGroups(const FieldPattern& pattern, std::string_view text) {
  Groups groups;
  for (const auto& [name, value] : pattern.pattern.groups(text)) {
    if (name == "who") groups.who = value;
    if (name == "rest") groups.rest = value;
    if (name == "code") groups.code = value;
  }
  return groups;
}

// Nothing where it is the name of a signal.
[[nodiscard]] std::optional<int> readCode(std::string_view text) {
  int code = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), code);
  return read.ec == std::errc() && code >= 0 ? std::optional(code) : std::nullopt;
}

}  // namespace

PartReader::PartReader(Matcher matcher)
    : prefix_(std::exchange(matcher.prefix, std::nullopt)),
      exitLine_(std::exchange(matcher.exitLine, std::nullopt)),
      inner_(std::move(matcher.inner)),
      runsOn_(matcher.runsOn),
      root_(matcher.root),
      own_(std::move(matcher)) {
  if (!inner_) inner_ = std::make_shared<std::vector<InnerTool>>();
}

// --- runs ---

void PartReader::beginRun(uint32_t run, Now now) {
  run_ = run;
  first_.clear();
  own_.beginRun(run, now);
  for (Part& part : parts_) {
    part.isRunning = false;
    if (!prefix_) begin(part, now);
  }
  for (const InnerTool& tool : *inner_) {
    const bool isNew = std::ranges::find(parts_, tool.name, &Part::name) == parts_.end();
    if (!tool.isGiven || !isNew) continue;
    Part part{.name = tool.name};
    if (start(part, tool, now)) parts_.push_back(std::move(part));
  }
}

void PartReader::endRun(std::optional<int> exitCode, Now now, CycleEffects& effects) {
  for (Part& part : parts_) {
    if (!std::exchange(part.isRunning, false)) continue;
    withName(part, effects, [&] { part.reader->endWithProgram(now, effects); });
  }
  own_.endRun(exitCode, now, effects);
}

bool PartReader::start(Part& part, const InnerTool& tool, Now now) {
  auto matcher = readMatcher(tool.matcher);
  if (!matcher) return false;
  // They end, or not, with the program that runs them.
  matcher.value().runsOn = runsOn_;
  matcher.value().exitDecides = true;
  matcher.value().root = root_;
  part.tool = tool.name;
  part.reader = std::make_unique<CycleReader>(std::move(matcher.value()));
  begin(part, now);
  return true;
}

void PartReader::begin(Part& part, Now now) {
  if (part.reader) part.reader->beginRun(run_, now);
  part.isRunning = part.reader != nullptr;
}

// --- lines ---

void PartReader::enter(std::string_view block) {
  own_.enter(block);
  if (prefix_) return;
  for (const Part& part : parts_) part.reader->enter(block);
}

void PartReader::line(const Line& line, uint64_t number, Now now, CycleEffects& effects) {
  if (prefix_) {
    const Groups groups = readPartGroups(*prefix_, line.text);
    if (!groups.who.empty()) {
      const Line rest{groups.rest, false, line.cut, line.cleared};
      return partLine(groups.who, rest, number, now, effects);
    }
    if (exitLine_ && endPart({}, line.text, now, effects)) return;
  } else {
    for (Part& part : parts_) {
      withName(part, effects, [&] { part.reader->line(line, number, now, effects); });
    }
    const bool mayBegin = !inner_->empty() && first_.size() < kFirstLines;
    if (mayBegin) recognizeLine(line, number, now, effects);
  }
  own_.line(line, number, now, effects);
}

void PartReader::partLine(std::string_view who, const Line& line, uint64_t number, Now now,
                          CycleEffects& effects) {
  if (exitLine_ && endPart(who, line.text, now, effects)) return;
  if (own_.isOmitted(line.text)) return;
  Part& part = findPart(who, now);
  if (!part.isRunning) begin(part, now);
  if (!part.isRecognized && part.first.size() < kFirstLines) {
    part.first.push_back({std::string(line.text), number, line.cleared});
    const InnerTool* tool = recognize(line.text);
    if (tool != nullptr && start(part, *tool, now)) {
      part.isRecognized = true;
      return replay(part, std::exchange(part.first, {}), now, effects);
    }
  }
  if (!part.reader) return;
  withName(part, effects, [&] { part.reader->line(line, number, now, effects); });
}

// Returns: whether the line says that a part has ended. An empty `who`: the line names it.
bool PartReader::endPart(std::string_view who, std::string_view text, Now now,
                         CycleEffects& effects) {
  const Groups groups = readPartGroups(*exitLine_, text);
  if (groups.code.empty()) return false;
  const std::string_view name = who.empty() ? groups.who : who;
  for (Part& part : parts_) {
    if (part.name != name || !std::exchange(part.isRunning, false)) continue;
    withName(part, effects, [&] { part.reader->endRun(readCode(groups.code), now, effects); });
  }
  return !name.empty();
}

// Without a prefix. Once a tool is known, words such as "error" say nothing more.
void PartReader::recognizeLine(const Line& line, uint64_t number, Now now, CycleEffects& effects) {
  first_.push_back({std::string(line.text), number, line.cleared});
  const InnerTool* tool = recognize(line.text);
  if (tool == nullptr || std::ranges::find(parts_, tool->name, &Part::name) != parts_.end()) return;
  Part part{.name = tool->name};
  if (!start(part, *tool, now)) return;
  own_.ignoreFailures();
  replay(part, first_, now, effects);
  parts_.push_back(std::move(part));
}

const InnerTool* PartReader::recognize(std::string_view text) {
  for (InnerTool& tool : *inner_) {
    if (tool.first && tool.first->pattern.matches(text, budget_) == Match::Yes) return &tool;
  }
  return nullptr;
}

PartReader::Part& PartReader::findPart(std::string_view who, Now now) {
  const std::string_view given = utf8::truncate(who, kMaxNameBytes);
  const bool isFull = parts_.size() >= kMaxParts;
  auto there = std::ranges::find(parts_, given, &Part::name);
  if (there == parts_.end() && isFull) there = std::ranges::find(parts_, kOthers, &Part::name);
  if (there != parts_.end()) return *there;
  Part part{.name = std::string(isFull ? kOthers : given)};
  const auto unknown =
      std::ranges::find_if(*inner_, [](const InnerTool& one) { return !one.first; });
  if (unknown != inner_->end()) (void)start(part, *unknown, now);
  return parts_.emplace_back(std::move(part));
}

void PartReader::replay(Part& part, const std::vector<FirstLine>& lines, Now now,
                        CycleEffects& effects) {
  withName(part, effects, [&] {
    for (const auto& [text, number, cleared] : lines) {
      part.reader->line({text, false, false, cleared}, number, now, effects);
    }
  });
}

template <class Work>
void PartReader::withName(const Part& part, CycleEffects& effects, Work work) {
  const size_t before = effects.closed.size();
  work();
  for (size_t i = before; i < effects.closed.size(); ++i) {
    effects.closed[i].part = part.name;
    effects.closed[i].tool = part.tool;
  }
}

// --- time ---

std::optional<Time> PartReader::nextDeadline() const {
  std::optional<Time> first = own_.nextDeadline();
  for (const Part& part : parts_) {
    const auto next = part.isRunning ? part.reader->nextDeadline() : std::nullopt;
    if (next && (!first || *next < *first)) first = next;
  }
  return first;
}

void PartReader::due(Now now, CycleEffects& effects) {
  if (now.steady >= budgetUntil_) {
    budget_.left = std::min(budget_.left + kBudget, kBudget);
    budgetUntil_ = now.steady + std::chrono::seconds(1);
  }
  for (Part& part : parts_) {
    if (part.isRunning) withName(part, effects, [&] { part.reader->due(now, effects); });
  }
  own_.due(now, effects);
}

size_t PartReader::bytes() const {
  size_t bytes = own_.bytes() + parts_.capacity() * sizeof(Part);
  for (const FirstLine& line : first_) bytes += sizeof(FirstLine) + line.text.capacity();
  for (const Part& part : parts_) {
    if (part.reader) bytes += sizeof(CycleReader) + part.reader->bytes();
    for (const FirstLine& line : part.first) bytes += sizeof(FirstLine) + line.text.capacity();
  }
  return bytes;
}

}  // namespace tap::lines
