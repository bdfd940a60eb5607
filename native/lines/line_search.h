// Which lines contain one of many literals (literals.h, base/prefilter.h). In a flood one search
// over a whole block answers for all of its lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/prefilter.h"
#include "lines/splitter.h"

namespace tap::lines {

// When blocks are searched for literals: in a flood, or, for tests, always or never.
enum class Search : uint8_t { Automatic, Always, Never };

class LineSearch {
 public:
  // The search over blocks begins after so many bytes: before it costs more than it saves.
  static constexpr uint64_t kFloodBytes = 1 << 20;

  explicit LineSearch(Search search = Search::Automatic) : search_(search) {}

  void setLiterals(std::vector<Prefilter::Literal> literals);
  // The block that the next lines with `inBlock` lie in.
  void enter(std::string_view block);
  // False: the line has none of the literals. REQUIRES: lines come in their order.
  [[nodiscard]] bool mayContain(const Line& line);

  // Memory that it holds, besides itself.
  [[nodiscard]] size_t bytes() const;

 private:
  void begin();

  Search search_;
  std::vector<Prefilter::Literal> literals_;  // until there is a prefilter
  std::unique_ptr<Prefilter> prefilter_;      // none: every line may contain one
  uint64_t seen_ = 0;                         // bytes, until there is a prefilter
  std::string_view block_;
  size_t hit_ = 0;  // in block_: the next literal at or after the line before; its size: no more
  bool isSearched_ = false;  // hit_ is right
};

// Adds the literals of a pattern. Returns: whether it has some, so that a line with none of them
// does not match. REQUIRES: Pattern::compile takes it.
[[nodiscard]] bool addLiterals(std::string_view pattern, std::vector<Prefilter::Literal>& to);

}  // namespace tap::lines
