#include "base/pattern.h"

#include <algorithm>
#include <utility>

#include "base/pattern_code.h"
#include "base/utf8.h"

namespace tap {

namespace {

using pcre::units;

// The core reads no clock (base/time.h). This file does, for a deadline that limits work: its only
// outcome is that there was no decision. The caller's time would stand still during a match.
using Clock = std::chrono::steady_clock;

// A callout is cheap, reading the clock is not.
constexpr size_t kStepsPerCheck = 32;
// A step between two callouts may scan the whole subject, so it counts more.
constexpr size_t kBytesPerStep = 256;

// The 32 KB of machine stack that the JIT uses by default are enough for most matches.
constexpr size_t kJitStackStart = size_t{64} * 1024;
constexpr size_t kMaxJitStack = size_t{16} * 1024 * 1024;
constexpr uint32_t kHeapKilobytes = 16 * 1024;  // for systems without JIT

// Between two checks a match takes microseconds. If more has passed, a different process ran: on a
// busy machine a rule's fast pattern must not time out.
constexpr std::chrono::nanoseconds kMaxBetweenChecks = std::chrono::microseconds(100);

struct Watch {
  std::chrono::nanoseconds left;
  Clock::time_point last;
  size_t steps = 0;
  size_t position = 0;

  bool checkTime() {
    const Clock::time_point now = Clock::now();
    left -= std::min<std::chrono::nanoseconds>(now - last, kMaxBetweenChecks);
    last = now;
    return left.count() > 0;
  }
};

// Called before each item of the pattern. match_limit is not enough: its count restarts at each
// start of a match.
int onStep(pcre2_callout_block* block, void* data) {
  Watch& watch = *static_cast<Watch*>(data);
  const size_t position = block->current_position;
  const size_t before = std::exchange(watch.position, position);
  watch.steps += 1 + (position > before ? position - before : before - position) / kBytesPerStep;
  if (watch.steps < kStepsPerCheck) return 0;
  watch.steps = 0;
  return watch.checkTime() ? 0 : PCRE2_ERROR_CALLOUT;
}

Match toMatch(int code, bool whole) {
  if (code >= 0) return Match::Yes;
  if (code != PCRE2_ERROR_NOMATCH) return Match::TimedOut;
  return whole ? Match::No : Match::Unseen;
}

// The memory of a thread for matches, reused by each match.
struct Workspace {
  pcre::MatchContext context{pcre2_match_context_create(nullptr)};
  pcre::MatchData data{pcre2_match_data_create(1, nullptr)};

  [[nodiscard]] bool isComplete() const { return context && data; }
};

Match matchWith(Workspace& work, const pcre2_code_8* code, std::string_view subject, Watch& watch) {
  const std::string_view text = utf8::truncate(subject, Pattern::kMaxSubjectBytes);
  pcre2_set_heap_limit(work.context.get(), kHeapKilobytes);
  pcre2_set_callout(work.context.get(), onStep, &watch);
  const auto run = [&] {
    return pcre2_match(code, units(text), text.size(), 0, 0, work.data.get(), work.context.get());
  };
  const int found = run();
  const bool whole = text.size() == subject.size();
  if (found != PCRE2_ERROR_JIT_STACKLIMIT) return toMatch(found, whole);
  const pcre::JitStack stack(pcre2_jit_stack_create(kJitStackStart, kMaxJitStack, nullptr));
  if (!stack) return Match::TimedOut;
  pcre2_jit_stack_assign(work.context.get(), nullptr, stack.get());
  const int again = run();
  pcre2_jit_stack_assign(work.context.get(), nullptr, nullptr);
  return toMatch(again, whole);
}

Match matchWatched(const pcre2_code_8* code, std::string_view subject, Watch& watch) {
  thread_local Workspace shared;
  // Without machine code, the memory of a match stays with its data.
  if (pcre::patternInfo(code, PCRE2_INFO_JITSIZE) > 0 && shared.isComplete()) {
    return matchWith(shared, code, subject, watch);
  }
  Workspace own;
  return own.isComplete() ? matchWith(own, code, subject, watch) : Match::TimedOut;
}

}  // namespace

void Pattern::Free::operator()(pcre2_real_code_8* code) const {
  pcre2_code_free(code);
}

Result<Pattern, PatternError> Pattern::compile(std::string_view pattern) {
  auto compiled = pcre::compile(pattern, pcre::Callouts::Yes);
  if (!compiled) return compiled.error();
  Code code(compiled.value().release());
  const size_t size = pcre::patternInfo(code.get(), PCRE2_INFO_SIZE);
  // If the system allows no JIT, the interpreter does the same, more slowly.
  if (size <= kMaxJitBytes) pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  const size_t machineCode = pcre::patternInfo(code.get(), PCRE2_INFO_JITSIZE);
  return Pattern(std::move(code), size + machineCode);
}

Match Pattern::matches(std::string_view subject, std::chrono::microseconds most) const {
  PatternBudget budget{most};
  return within(subject, most, budget);
}

Match Pattern::matches(std::string_view subject, PatternBudget& budget) const {
  return within(subject, kMatchTime, budget);
}

Match Pattern::within(std::string_view subject, std::chrono::nanoseconds most,
                      PatternBudget& budget) const {
  const std::chrono::nanoseconds given = std::min(budget.left, most);
  if (given.count() <= 0) return Match::TimedOut;
  Watch watch{given, Clock::now()};
  const Match match = matchWatched(code_.get(), subject, watch);
  watch.checkTime();
  budget.left -= given - watch.left;
  return match;
}

std::string notAPattern(const PatternError& error) {
  return "not a regular expression, at character " + std::to_string(error.offset) + ": " +
         error.message;
}

PatternSource& PatternSource::unbounded() {
  class Unbounded final : public PatternSource {
    Result<std::shared_ptr<const Pattern>, std::string> obtain(std::string_view text) override {
      Result<Pattern, PatternError> compiled = Pattern::compile(text);
      if (!compiled) return notAPattern(compiled.error());
      return std::make_shared<const Pattern>(std::move(compiled.value()));
    }
  };
  static Unbounded unbounded;
  return unbounded;
}

}  // namespace tap
