#include "base/text_pattern.h"

#include <cstdint>

#include "base/pattern_code.h"

namespace tap {

namespace {

constexpr uint32_t kMaxSteps = 1'000'000;
constexpr uint32_t kMaxDepth = 10'000;  // for systems without JIT, as the next
constexpr uint32_t kMaxKilobytes = 4096;
constexpr uint32_t kMaxGroups = 64;

// PCRE2's memory for a match, shared by all such patterns of a thread.
struct MatchMemory {
  pcre::MatchContext context{pcre2_match_context_create(nullptr)};
  pcre::MatchData data{pcre2_match_data_create(kMaxGroups, nullptr)};

  MatchMemory() {
    if (!context) return;
    pcre2_set_match_limit(context.get(), kMaxSteps);
    pcre2_set_depth_limit(context.get(), kMaxDepth);
    pcre2_set_heap_limit(context.get(), kMaxKilobytes);
  }
};

int askCallout(pcre2_callout_block* block, void* callout) {
  const PCRE2_SIZE* const ends = block->offset_vector + 2 * size_t{block->capture_last};
  const std::string_view group(reinterpret_cast<const char*>(block->subject) + ends[0],
                               ends[1] - ends[0]);
  return (*static_cast<const TextPattern::Callout*>(callout))(block->callout_number, group) ? 0 : 1;
}

}  // namespace

void TextPattern::Free::operator()(pcre2_real_code_8* code) const {
  pcre2_code_free(code);
}

TextPattern::TextPattern(const std::string& pattern, Callout callout) : callout_(callout) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_.reset(pcre2_compile(pcre::units(pattern), pattern.size(),
                            PCRE2_ANCHORED | PCRE2_NEVER_UTF | PCRE2_DOLLAR_ENDONLY, &error,
                            &offset, nullptr));
  // If the system allows no JIT, the interpreter does the same, more slowly.
  if (code_) pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
}

std::optional<std::string_view> TextPattern::match(std::string_view text, size_t at) const {
  thread_local MatchMemory memory;
  if (!code_ || !memory.context || !memory.data) return text;
  pcre2_set_callout(memory.context.get(), askCallout, const_cast<Callout*>(&callout_));
  const int groups = pcre2_match(code_.get(), pcre::units(text), text.size(), at, 0,
                                 memory.data.get(), memory.context.get());
  if (groups == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (groups <= 0) return text;
  const PCRE2_SIZE* const ends =
      pcre2_get_ovector_pointer(memory.data.get()) + 2 * static_cast<size_t>(groups - 1);
  return text.substr(ends[0], ends[1] - ends[0]);
}

}  // namespace tap
