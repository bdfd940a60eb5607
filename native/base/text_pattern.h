// A pattern of tap's own: over bytes, with callouts, matched at a given place of a text. It is
// trusted; patterns of providers are a Pattern (pattern.h).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct pcre2_real_code_8;

namespace tap {

// Immutable: several threads may match with it concurrently.
class TextPattern {
 public:
  // The callback for `(?C1)` and the like. Returns: whether the match may continue. `captured`: the
  // group before.
  using Callout = bool (*)(unsigned number, std::string_view captured);

  // REQUIRES: a correct pattern.
  TextPattern(const std::string& pattern, Callout callout);

  // The group with the highest number in the match that begins at `at`; the whole text if the match
  // takes too many steps or too much memory.
  [[nodiscard]] std::optional<std::string_view> match(std::string_view text, size_t at) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
  Callout callout_;
};

}  // namespace tap
