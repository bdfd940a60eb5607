#include "base/pattern.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace tap {

namespace {

// The core reads no clock (base/time.h). This file does, for a deadline bounds work and decides
// nothing but that there was no decision; the caller's time would stand still during a match.
using Clock = std::chrono::steady_clock;

constexpr uint32_t kOptions = PCRE2_UTF | PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS |
                              PCRE2_MATCH_UNSET_BACKREF | PCRE2_DOLLAR_ENDONLY |
                              PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT;

// A callout costs little, a look at the clock more.
constexpr size_t kStepsPerLook = 32;
// A step between two callouts may run through the whole subject; it counts for more then.
constexpr size_t kBytesPerStep = 256;

// The 32 KB of machine stack that the JIT uses by default are enough for most matches.
constexpr size_t kJitStackStart = size_t{64} * 1024;
constexpr size_t kJitStackMost = size_t{16} * 1024 * 1024;
constexpr uint32_t kHeapKilobytes = 16 * 1024;  // where there is no JIT

template <auto free>
struct FreeWith {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using GeneralContext = std::unique_ptr<pcre2_general_context, FreeWith<pcre2_general_context_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context, FreeWith<pcre2_compile_context_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, FreeWith<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, FreeWith<pcre2_match_data_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, FreeWith<pcre2_jit_stack_free>>;

// PCRE2 knows how large the code will be before it writes it. Its other allocations are small.
void* allocate(size_t size, void*) {
  return size > 2 * Pattern::kMaxCompiledBytes ? nullptr : std::malloc(size);
}
void release(void* memory, void*) {
  std::free(memory);
}

size_t sizeOf(const pcre2_code* code, uint32_t what) {
  size_t size = 0;
  return pcre2_pattern_info(code, what, &size) == 0 ? size : 0;
}

struct Watch {
  Clock::time_point until;
  size_t steps = 0;
  size_t position = 0;
};

// Called before each item of the pattern that is tried. match_limit is not enough: its count
// restarts at each place where a match may start.
int onStep(pcre2_callout_block* block, void* data) {
  Watch& watch = *static_cast<Watch*>(data);
  const size_t position = block->current_position;
  const size_t before = std::exchange(watch.position, position);
  watch.steps += 1 + (position > before ? position - before : before - position) / kBytesPerStep;
  if (watch.steps < kStepsPerLook) return 0;
  watch.steps = 0;
  return Clock::now() < watch.until ? 0 : PCRE2_ERROR_CALLOUT;
}

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

std::string messageOf(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

Match outcomeOf(int code, bool whole) {
  if (code >= 0) return Match::Yes;
  if (code != PCRE2_ERROR_NOMATCH) return Match::TimedOut;
  return whole ? Match::No : Match::Unseen;
}

}  // namespace

PatternTime::PatternTime(std::chrono::microseconds all) : until_(Clock::now() + all) {}

std::chrono::microseconds PatternTime::next() const {
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(until_ - Clock::now());
  return std::min(left, Pattern::kMatchTime);
}

void Pattern::Free::operator()(pcre2_real_code_8* code) const {
  pcre2_code_free(code);
}

Result<Pattern, PatternError> Pattern::compile(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return PatternError{kMaxPatternBytes, "longer than 1024 bytes"};
  }
  const GeneralContext memory(pcre2_general_context_create(allocate, release, nullptr));
  const CompileContext context(memory ? pcre2_compile_context_create(memory.get()) : nullptr);
  if (!context) return PatternError{0, "out of memory"};
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_compile_extra_options(context.get(), PCRE2_EXTRA_ALT_BSUX);  // \u{…}

  int error = 0;
  PCRE2_SIZE offset = 0;
  Code code(
      pcre2_compile(units(pattern), pattern.size(), kOptions, &error, &offset, context.get()));
  if (!code) return PatternError{std::min(offset, pattern.size()), messageOf(error)};
  const size_t size = sizeOf(code.get(), PCRE2_INFO_SIZE);
  if (size > kMaxCompiledBytes) {
    return PatternError{pattern.size(),
                        "it takes " + std::to_string(size) + " bytes once compiled, at most " +
                            std::to_string(kMaxCompiledBytes) + " are allowed: repeat less"};
  }
  // Where a system allows no JIT the interpreter does the same, more slowly.
  if (size <= kMaxJitBytes) pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  const size_t machineCode = sizeOf(code.get(), PCRE2_INFO_JITSIZE);
  return Pattern(std::move(code), size + machineCode);
}

Match Pattern::matches(std::string_view subject, std::chrono::microseconds deadline) const {
  if (deadline.count() <= 0) return Match::TimedOut;
  Watch watch{Clock::now() + deadline};
  const std::string_view text = utf8::truncate(subject, kMaxSubjectBytes);
  const MatchContext context(pcre2_match_context_create(nullptr));
  const MatchData data(pcre2_match_data_create(1, nullptr));
  if (!context || !data) return Match::TimedOut;
  pcre2_set_heap_limit(context.get(), kHeapKilobytes);
  pcre2_set_callout(context.get(), onStep, &watch);

  const auto run = [&] {
    return pcre2_match(code_.get(), units(text), text.size(), 0, 0, data.get(), context.get());
  };
  const int code = run();
  const bool whole = text.size() == subject.size();
  if (code != PCRE2_ERROR_JIT_STACKLIMIT) return outcomeOf(code, whole);
  const JitStack stack(pcre2_jit_stack_create(kJitStackStart, kJitStackMost, nullptr));
  if (!stack) return Match::TimedOut;
  pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  return outcomeOf(run(), whole);
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
