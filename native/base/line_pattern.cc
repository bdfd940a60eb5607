#include "base/line_pattern.h"

#include <algorithm>
#include <utility>

#include "base/pattern_code.h"

namespace tap {
namespace {

// As in pattern.cc: a time limit.
using Clock = std::chrono::steady_clock;

// The maximum of groups with values in a match.
constexpr uint32_t kGroups = 32;

// PCRE2's memory for a match, shared by all patterns of a thread.
struct Matcher {
  pcre::MatchContext context{pcre2_match_context_create(nullptr)};
  pcre::MatchData data{pcre2_match_data_create(kGroups, nullptr)};
};

[[nodiscard]] Matcher& matcher() {
  thread_local Matcher ofThread;
  return ofThread;
}

}  // namespace

void LinePattern::Free::operator()(pcre2_real_code_8* code) const {
  pcre2_code_free(code);
}

Result<LinePattern, PatternError> LinePattern::compile(std::string_view pattern) {
  // Compiled with callouts, which makes it larger, so that it refuses the patterns that Pattern
  // refuses.
  const auto checked = pcre::compile(pattern, pcre::Callouts::Yes);
  if (!checked) return checked.error();
  return LinePattern(pattern);
}

bool LinePattern::ready() const {
  if (code_ != nullptr) return true;
  auto compiled = pcre::compile(text_, pcre::Callouts::No);
  if (compiled) code_.reset(compiled.value().release());
  return code_ != nullptr;
}

// Returns: the result of PCRE2, which counts steps from each start of a match.
int LinePattern::run(std::string_view line) const {
  Matcher& with = matcher();
  if (!with.context || !with.data) return PCRE2_ERROR_NOMEMORY;
  const size_t steps = line.size() < kLongLine ? kFastSteps / (line.size() + 1) : kStepsAtPlace;
  pcre2_set_match_limit(with.context.get(), static_cast<uint32_t>(steps));
  const auto match = isMachineCode_ ? pcre2_jit_match : pcre2_match;
  return match(code_.get(), pcre::units(line), line.size(), 0, PCRE2_NO_UTF_CHECK, with.data.get(),
               with.context.get());
}

int LinePattern::runTimed(std::string_view line, PatternBudget& budget) {
  int code = 0;
  const auto measure = [&] {
    const Clock::time_point start = Clock::now();
    code = run(line);
    return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
  };
  auto took = measure();
  // A different program may have used the processor meanwhile, but hardly twice in a row: a busy
  // machine must not make a fast pattern count as slow.
  if (took > kFastTime && !isSlow_) took = std::min(took, measure());
  if (took > kFastTime) {
    isSlow_ = true;
    budget.left -= took;
  }
  return code;
}

Match LinePattern::matches(std::string_view line, PatternBudget& budget) {
  if (!ready() || (isSlow_ && budget.left.count() <= 0)) return Match::TimedOut;
  if (++uses_ == kUsesUntilJit &&
      pcre::patternInfo(code_.get(), PCRE2_INFO_SIZE) <= Pattern::kMaxJitBytes) {
    isMachineCode_ = pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE) == 0;
  }
  const bool isTimed = isSlow_ || line.size() >= kLongLine || uses_ % kUsesPerTiming == 0;
  const int code = isTimed ? runTimed(line, budget) : run(line);
  if (code >= 0) return Match::Yes;
  if (code == PCRE2_ERROR_NOMATCH) return Match::No;
  return careful(line, budget);
}

Match LinePattern::careful(std::string_view line, PatternBudget& budget) {
  isSlow_ = true;
  if (careful_ == nullptr) {
    auto compiled = Pattern::compile(text_);
    if (!compiled) return Match::TimedOut;
    careful_ = std::make_unique<Pattern>(std::move(compiled.value()));
  }
  return careful_->matches(line, budget);
}

std::vector<LinePattern::Group> LinePattern::groups(std::string_view line) const {
  if (!ready()) return {};
  const int found = run(line);
  uint32_t count = 0;
  uint32_t width = 0;
  PCRE2_SPTR names = nullptr;
  pcre2_pattern_info(code_.get(), PCRE2_INFO_NAMECOUNT, &count);
  pcre2_pattern_info(code_.get(), PCRE2_INFO_NAMEENTRYSIZE, &width);
  pcre2_pattern_info(code_.get(), PCRE2_INFO_NAMETABLE, &names);
  std::vector<Group> groups;
  for (uint32_t i = 0; i < count && found > 0; ++i, names += width) {
    // An entry: the group's number in two bytes, then its name with a final 0.
    const int number = names[0] << 8 | names[1];
    if (number >= found) continue;
    const PCRE2_SIZE* ends =
        pcre2_get_ovector_pointer(matcher().data.get()) + 2 * static_cast<size_t>(number);
    if (ends[0] == PCRE2_UNSET || ends[1] < ends[0]) continue;
    groups.push_back(
        {reinterpret_cast<const char*>(names + 2), line.substr(ends[0], ends[1] - ends[0])});
  }
  return groups;
}

size_t LinePattern::bytes() const {
  size_t own = text_.capacity() + (careful_ == nullptr ? 0 : careful_->bytes());
  for (const uint32_t part : {PCRE2_INFO_SIZE, PCRE2_INFO_JITSIZE}) {
    if (code_ != nullptr) own += pcre::patternInfo(code_.get(), part);
  }
  return own;
}

}  // namespace tap
