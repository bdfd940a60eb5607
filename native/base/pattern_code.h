// Shared by Pattern and LinePattern: owners of PCRE2's objects, and the compilation of a pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/pattern.h"
#include "base/result.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace tap::pcre {

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
using Code = std::unique_ptr<pcre2_code, FreeWith<pcre2_code_free>>;

// Callouts: the matcher can be interrupted, and is slower.
enum class Callouts : uint8_t { No, Yes };

// Compiles without machine code. Refuses as Pattern::compile does.
[[nodiscard]] Result<Code, PatternError> compile(std::string_view pattern, Callouts callouts);

[[nodiscard]] inline PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

// A size that PCRE2 reports of a pattern, or 0.
[[nodiscard]] size_t patternInfo(const pcre2_code* code, uint32_t what);

}  // namespace tap::pcre
