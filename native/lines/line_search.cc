#include "lines/line_search.h"

#include <algorithm>
#include <utility>

#include "lines/literals.h"

namespace tap::lines {

void LineSearch::setLiterals(std::vector<Prefilter::Literal> literals) {
  literals_ = std::move(literals);
  prefilter_.reset();
  isSearched_ = false;
  if (search_ == Search::Always || seen_ >= kFloodBytes) begin();
}

void LineSearch::begin() {
  if (literals_.empty() || literals_.size() > Prefilter::kMaxLiterals) return;
  prefilter_ = std::make_unique<Prefilter>(std::exchange(literals_, {}));
}

void LineSearch::enter(std::string_view block) {
  block_ = block;
  isSearched_ = false;
  if (search_ != Search::Automatic || seen_ >= kFloodBytes) return;
  seen_ += block.size();
  if (seen_ >= kFloodBytes) begin();
}

bool LineSearch::mayContain(const Line& line) {
  if (prefilter_ == nullptr) return true;
  if (!line.inBlock) return prefilter_->find(line.text, 0) != Prefilter::npos;
  const auto from = static_cast<size_t>(line.text.data() - block_.data());
  if (!isSearched_ || hit_ < from) {
    hit_ = std::min(prefilter_->find(block_, from), block_.size());
    isSearched_ = true;
  }
  return hit_ < from + line.text.size();
}

size_t LineSearch::bytes() const {
  size_t bytes = literals_.capacity() * sizeof(Prefilter::Literal);
  for (const Prefilter::Literal& literal : literals_) bytes += literal.text.capacity();
  return bytes + (prefilter_ ? sizeof(Prefilter) + prefilter_->bytes() : 0);
}

bool addLiterals(std::string_view pattern, std::vector<Prefilter::Literal>& to) {
  PatternFacts facts = analyzePattern(pattern);
  for (std::string& text : facts.literals) to.push_back({std::move(text), facts.caseless});
  return !facts.literals.empty();
}

}  // namespace tap::lines
