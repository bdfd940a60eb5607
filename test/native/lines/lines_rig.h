// Shared by the tests of native/lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lines/splitter.h"

namespace tap::lines {

struct TestLine {
  std::string text;
  bool cut = false;
  friend bool operator==(const TestLine&, const TestLine&) = default;
};

// The lines of a text that arrives in pieces of at most `most` bytes; 0: in a single piece.
inline std::vector<TestLine> splitLines(std::string_view bytes, size_t most = 0) {
  LineSplitter splitter;
  std::vector<TestLine> lines;
  Line line;
  while (!bytes.empty()) {
    // A piece in memory of exactly its size: a sanitizer catches a look behind the end.
    const std::vector<char> piece(
        bytes.begin(),
        bytes.begin() +
            static_cast<std::ptrdiff_t>(most == 0 ? bytes.size() : std::min(most, bytes.size())));
    bytes.remove_prefix(piece.size());
    splitter.feed({piece.data(), piece.size()}, Time());
    while (splitter.next(line)) lines.push_back({std::string(line.text), line.cut});
  }
  while (splitter.end(line)) lines.push_back({std::string(line.text), line.cut});
  return lines;
}

inline std::vector<std::string> splitLineTexts(std::string_view bytes, size_t most = 0) {
  std::vector<std::string> texts;
  for (const TestLine& line : splitLines(bytes, most)) texts.push_back(line.text);
  return texts;
}

// A source of choices that is the same in each run.
class Choices {
 public:
  explicit Choices(uint64_t seed) : state_(seed * 2 + 1) {}
  uint32_t below(uint32_t bound) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<uint32_t>(state_ >> 33) % bound;
  }
  template <class T>
  const T& of(const std::vector<T>& all) {
    return all[below(static_cast<uint32_t>(all.size()))];
  }

 private:
  uint64_t state_;
};

}  // namespace tap::lines
