// Results of Pattern, for test/js/lib/pattern.differential.test.mjs to compare with
// RegExp.
//
// stdin:  texts, each as its size (4 bytes, little endian) and its bytes: in turn a pattern and a
//         subject.
// stdout: a line for each pair: "Y" if the pattern matches, "N" if it does not, "T" if time ran
//         out; "E", the offset, a blank and the message if the pattern is refused.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "base/pattern.h"

namespace {

// A busy machine must not change an answer.
constexpr std::chrono::seconds kPatience{5};

std::string answer(std::string_view source, std::string_view subject) {
  const auto pattern = tap::Pattern::compile(source);
  if (!pattern.ok()) {
    return "E" + std::to_string(pattern.error().offset) + " " + pattern.error().message;
  }
  switch (pattern.value().matches(subject, kPatience)) {
    case tap::Match::Yes:
      return "Y";
    case tap::Match::No:
      return "N";
    case tap::Match::Unseen:
      return "U";
    case tap::Match::TimedOut:
      return "T";
  }
  return "";
}

// A text in memory of exactly its size: a sanitizer then catches a look behind the end.
struct Text {
  std::unique_ptr<char[]> bytes;
  size_t size = 0;
  [[nodiscard]] std::string_view view() const { return {bytes.get(), size}; }
};

bool take(std::string_view& input, Text& text) {
  if (input.size() < 4) return false;
  size_t size = 0;
  for (size_t i = 4; i-- > 0;) size = size << 8 | static_cast<uint8_t>(input[i]);
  input.remove_prefix(4);
  text.bytes = std::make_unique<char[]>(size);
  text.size = input.copy(text.bytes.get(), size);
  input.remove_prefix(text.size);
  return true;
}

}  // namespace

int main() {
  const std::string input{std::istreambuf_iterator<char>(std::cin), {}};
  std::string_view rest = input;
  Text pattern;
  Text subject;
  while (take(rest, pattern) && take(rest, subject)) {
    std::cout << answer(pattern.view(), subject.view()) << '\n';
  }
  return 0;
}
