// All mistakes in a plan: the path of each, and a correction.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tap::plan {

struct Problem {
  std::string path;  // in the plan's text: "nodes[3].work.type"
  std::string message;
};

class Problems {
 public:
  static constexpr size_t kMaxProblems = 50;

  void add(std::string path, std::string message) {
    if (list_.size() < kMaxProblems) {
      list_.push_back({std::move(path), std::move(message)});
    } else {
      ++more_;
    }
  }
  [[nodiscard]] bool any() const { return !list_.empty(); }
  // Further problems are only counted.
  [[nodiscard]] bool isFull() const { return list_.size() == kMaxProblems; }
  [[nodiscard]] const std::vector<Problem>& list() const { return list_; }
  // The number of problems beyond the list.
  [[nodiscard]] size_t more() const { return more_; }
  // {"problems":[{"path","message"}],"more":n}
  [[nodiscard]] std::string json() const;

 private:
  std::vector<Problem> list_;
  size_t more_ = 0;
};

// The name in `names` that is most similar to `word`; empty if no name is similar.
template <class Names>
[[nodiscard]] std::string_view nearest(std::string_view word, const Names& names);

// The number of letters to change, add, remove or swap with a neighbour, up to `most` + 1.
[[nodiscard]] size_t distance(std::string_view a, std::string_view b, size_t most);

template <class Names>
std::string_view nearest(std::string_view word, const Names& names) {
  std::string_view best;
  size_t most = word.size() < 4 ? 1 : word.size() < 8 ? 2 : 3;
  for (const std::string_view name : names) {
    const size_t away = distance(word, name, most);
    if (away > most) continue;
    best = name;
    if (away == 0) break;
    most = away - 1;
  }
  return best;
}

// ` Did you mean "lexer"?`, or empty.
[[nodiscard]] std::string didYouMean(std::string_view name);

}  // namespace tap::plan
