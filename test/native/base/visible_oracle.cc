// Results of C++, for test/js/lib/visible.differential.test.mjs to compare with
// JavaScript.
//
// stdin:  texts of UTF-8, a line each.
// stdout: a line each: visible() of it; a tab; nameProblem() of it.
#include <iostream>
#include <string>

#include "base/encoding.h"
#include "base/names.h"

int main() {
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);  // Otherwise reading a line would flush the output.
  for (std::string text; std::getline(std::cin, text);) {
    std::cout << tap::visible(text, false, std::string::npos) << '\t' << tap::nameProblem(text)
              << '\n';
  }
}
