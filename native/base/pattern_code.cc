#include "base/pattern_code.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

namespace tap::pcre {
namespace {

constexpr uint32_t kOptions = PCRE2_UTF | PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS |
                              PCRE2_MATCH_UNSET_BACKREF | PCRE2_DOLLAR_ENDONLY |
                              PCRE2_NEVER_BACKSLASH_C;

// PCRE2 allocates the whole code at once. Its other allocations are small.
void* allocate(size_t size, void*) {
  return size > 2 * Pattern::kMaxCompiledBytes ? nullptr : std::malloc(size);
}
void release(void* memory, void*) {
  std::free(memory);
}

std::string errorMessage(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

size_t patternInfo(const pcre2_code* code, uint32_t what) {
  size_t size = 0;
  return pcre2_pattern_info(code, what, &size) == 0 ? size : 0;
}

Result<Code, PatternError> compile(std::string_view pattern, Callouts callouts) {
  if (pattern.size() > Pattern::kMaxPatternBytes) {
    return PatternError{Pattern::kMaxPatternBytes, "longer than 1024 bytes"};
  }
  const GeneralContext memory(pcre2_general_context_create(allocate, release, nullptr));
  const CompileContext context(memory ? pcre2_compile_context_create(memory.get()) : nullptr);
  if (!context) return PatternError{0, "out of memory"};
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_compile_extra_options(context.get(), PCRE2_EXTRA_ALT_BSUX);  // \u{…}

  int error = 0;
  PCRE2_SIZE offset = 0;
  const uint32_t options = kOptions | (callouts == Callouts::Yes ? PCRE2_AUTO_CALLOUT : 0U);
  Code code(pcre2_compile(units(pattern), pattern.size(), options, &error, &offset, context.get()));
  if (!code) return PatternError{std::min(offset, pattern.size()), errorMessage(error)};
  const size_t size = patternInfo(code.get(), PCRE2_INFO_SIZE);
  if (size > Pattern::kMaxCompiledBytes) {
    return PatternError{pattern.size(), "it takes " + std::to_string(size) +
                                            " bytes once compiled, at most " +
                                            std::to_string(Pattern::kMaxCompiledBytes) +
                                            " are allowed: repeat less"};
  }
  return code;
}

}  // namespace tap::pcre
