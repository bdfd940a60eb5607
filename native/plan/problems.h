// Everything that is wrong with a plan, found in one go: where, and what to write instead.
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
  // More are only counted.
  [[nodiscard]] bool isFull() const { return list_.size() == kMaxProblems; }
  [[nodiscard]] const std::vector<Problem>& list() const { return list_; }
  // How many there are besides.
  [[nodiscard]] size_t more() const { return more_; }
  // {"problems":[{"path","message"}],"more":n}
  [[nodiscard]] std::string json() const;

 private:
  std::vector<Problem> list_;
  size_t more_ = 0;
};

// The name among `names` that `word` was probably meant to be; empty where none is near.
template <class Names>
[[nodiscard]] std::string_view nearest(std::string_view word, const Names& names);

// How many letters must be changed, added, removed or swapped with their neighbour, up to `most`
// + 1.
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

// ` Did you mean "lexer"?`, or nothing.
[[nodiscard]] std::string didYouMean(std::string_view name);

}  // namespace tap::plan
