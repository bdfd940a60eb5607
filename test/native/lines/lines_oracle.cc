// Results of native/lines, for test/js/lines/lines.differential.test.mjs to compare with
// JavaScript.
//
// stdin:  texts, each as its size (4 bytes, little endian) and its bytes: in turn patterns, each on
//         a line, and the output of a program.
// stdout: a line for each pair: a JSON array of [rule, line]; rule is the index of the first
// pattern
//         that matches, or -1. "E" and a message if a pattern is refused.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "lines/filter.h"
#include "lines/splitter.h"

namespace {

using namespace tap;
using namespace tap::lines;

std::string_view take(std::string_view& input) {
  size_t size = 0;
  for (size_t i = 4; i-- > 0;) size = size << 8 | static_cast<uint8_t>(input[i]);
  const std::string_view text = input.substr(4, size);
  input.remove_prefix(4 + size);
  return text;
}

std::string answer(std::string_view patterns, std::string_view output) {
  std::vector<Rule> rules;
  while (!patterns.empty()) {
    const size_t end = patterns.find('\n');
    Rule rule;
    rule.match = std::string(patterns.substr(0, end));
    rules.push_back(std::move(rule));
    patterns.remove_prefix(end + 1);
  }
  LineFilter filter(Search::Always);
  if (const auto problem = filter.setRules(rules)) return "E" + problem->message;
  LineSplitter splitter;
  std::string text = "[";
  Line line;
  const auto show = [&] {
    text += text.size() > 1 ? ",[" : "[";
    text += std::to_string(filter.decide(line, Time()).rule) + ",";
    json::appendQuoted(text, line.text);
    text += "]";
  };
  splitter.feed(output, Time());
  filter.enter(splitter.block());
  while (splitter.next(line)) show();
  while (splitter.end(line)) show();
  return text + "]";
}

}  // namespace

int main() {
  const std::string input{std::istreambuf_iterator<char>(std::cin), {}};
  std::string_view rest = input;
  while (!rest.empty()) {
    const std::string_view patterns = take(rest);
    const std::string_view output = take(rest);
    std::cout << answer(patterns, output) << '\n';
  }
  return 0;
}
