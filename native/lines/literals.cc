#include "lines/literals.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text_map.h"
#include "base/utf8.h"

namespace tap::lines {
namespace {

using Texts = std::vector<std::string>;

constexpr size_t kMaxTexts = 16;
constexpr size_t kMaxBytes = 24;  // a longer literal finds no less
constexpr size_t kMaxPatternDepth = 32;
constexpr uint32_t kMaxCopies = 4;

// What a part of a pattern matches.
struct Part {
  // All texts that it can match, if they are few.
  std::optional<Texts> exact;
  // Every match contains one of them; empty: nothing is known.
  Texts required;
  bool wildcard = false;  // one character, nearly any
  bool repeats = false;   // has a repeat without a bound
};

[[nodiscard]] Part anything() {
  return {};
}
[[nodiscard]] Part nothing() {
  return {Texts{""}, {}};
}

[[nodiscard]] size_t shortest(const Texts& texts) {
  if (texts.empty()) return 0;
  return std::ranges::min(texts, {}, &std::string::size).size();
}

// Whether `a` narrows a search down more than `b`: long literals do, few literals do.
[[nodiscard]] bool isBetter(const Texts& a, const Texts& b) {
  const size_t inA = std::min(shortest(a), kMaxBytes / 2);
  const size_t inB = std::min(shortest(b), kMaxBytes / 2);
  return inA != inB ? inA > inB : a.size() < b.size();
}

void consider(Texts& best, const Texts& texts) {
  if (shortest(texts) >= kMinLiteral && (best.empty() || isBetter(texts, best))) best = texts;
}

[[nodiscard]] Texts product(const Texts& heads, const Texts& tails) {
  Texts all;
  for (const std::string& head : heads) {
    for (const std::string& tail : tails) all.push_back(head + tail);
  }
  return all;
}

[[nodiscard]] bool isSmall(const Texts& heads, const Texts& tails) {
  const auto longest = [](const Texts& texts) {
    return texts.empty() ? 0 : std::ranges::max(texts, {}, &std::string::size).size();
  };
  return heads.size() * tails.size() <= kMaxTexts && longest(heads) + longest(tails) <= kMaxBytes;
}

// Parts one behind the other.
class Sequence {
 public:
  void add(const Part& part) {
    if (part.exact && isSmall(run_, *part.exact)) {
      run_ = product(run_, *part.exact);
      return;
    }
    isExact_ = false;
    consider(best_, run_);
    consider(best_, part.required);
    run_ = part.exact && isSmall(*part.exact, {""}) ? *part.exact : Texts{""};
    if (part.exact && run_ != *part.exact) consider(best_, *part.exact);
  }
  // At least once, or as often as there is.
  void addRepeated(const Part& part) {
    add(part);
    isExact_ = false;
    consider(best_, run_);
    run_ = part.exact && isSmall(*part.exact, {""}) ? *part.exact : Texts{""};
  }
  [[nodiscard]] Part whole() {
    Part part;
    consider(best_, run_);
    if (isExact_) part.exact = run_;
    part.required = best_;
    return part;
  }

 private:
  Texts run_{""};  // what the parts since the last unknown one match
  Texts best_;
  bool isExact_ = true;
};

[[nodiscard]] Part either(const std::vector<Part>& parts) {
  Part all = parts.front();
  for (size_t i = 1; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (all.exact && part.exact && all.exact->size() + part.exact->size() <= kMaxTexts) {
      all.exact->insert(all.exact->end(), part.exact->begin(), part.exact->end());
    } else {
      all.exact.reset();
    }
    const bool known = !all.required.empty() && !part.required.empty() &&
                       all.required.size() + part.required.size() <= 2 * kMaxTexts;
    if (known) {
      all.required.insert(all.required.end(), part.required.begin(), part.required.end());
    } else {
      all.required.clear();
    }
  }
  return all;
}

struct Repeat {
  uint32_t least = 1;
  bool isOpen = false;  // without a bound
  bool isOne = true;
};

[[nodiscard]] bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

class Reader {
 public:
  explicit Reader(std::string_view pattern) : rest_(pattern) {}

  [[nodiscard]] PatternFacts read() {
    if (rest_.starts_with("(?i)")) {
      rest_.remove_prefix(4);
      facts_.caseless = true;
    }
    facts_.always = isAlways(rest_);
    facts_.beginsWithWildcard = rest_.starts_with(".*") || rest_.starts_with("^.*");
    Part part = alternatives(0);
    if (gaveUp_ || !rest_.empty()) return facts_;
    facts_.literals = std::move(part.required);
    return facts_;
  }

 private:
  [[nodiscard]] static bool isAlways(std::string_view pattern) {
    constexpr std::array<std::string_view, 11> kAlways{
        "", "^", "$", ".*", ".*?", "^.*", ".*$", "^.*$", "(?:)", "[^]*", "[\\s\\S]*"};
    return std::ranges::find(kAlways, pattern) != kAlways.end();
  }

  [[nodiscard]] bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  [[nodiscard]] char takeOne() {
    if (rest_.empty()) {
      gaveUp_ = true;
      return '\0';
    }
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  Part giveUp() {
    gaveUp_ = true;
    return anything();
  }

  Part alternatives(size_t depth) {
    if (depth > kMaxPatternDepth) return giveUp();
    std::vector<Part> parts;
    bool repeats = false;
    do {
      parts.push_back(sequence(depth));
      repeats = repeats || parts.back().repeats;
    } while (!gaveUp_ && take("|"));
    Part part = either(parts);
    part.repeats = repeats;
    return part;
  }

  Part sequence(size_t depth) {
    Sequence parts;
    bool repeats = false;
    while (!gaveUp_ && !rest_.empty() && rest_.front() != '|' && rest_.front() != ')') {
      const Part part = atom(depth);
      const Repeat repeat = quantifier();
      repeats = repeats || part.repeats || repeat.isOpen;
      note(part, repeat);
      add(parts, part, repeat);
    }
    Part whole = parts.whole();
    whole.repeats = repeats;
    return whole;
  }

  void note(const Part& part, const Repeat& repeat) {
    if (!repeat.isOpen) return;
    facts_.nestedRepeats = facts_.nestedRepeats || part.repeats;
    if (part.wildcard) ++facts_.wildcards;
  }

  static void add(Sequence& parts, const Part& part, const Repeat& repeat) {
    if (repeat.isOne) return parts.add(part);
    if (repeat.least == 0) return parts.add(anything());
    for (uint32_t i = 1; i < std::min(repeat.least, kMaxCopies); ++i) parts.add(part);
    parts.addRepeated(part);
  }

  // REQUIRES: the rest is not empty.
  Part atom(size_t depth) {
    switch (rest_.front()) {
      case '(':
        rest_.remove_prefix(1);
        return group(depth);
      case '[':
        rest_.remove_prefix(1);
        return characterClass();
      case '\\':
        rest_.remove_prefix(1);
        return escape();
      case '.': {
        rest_.remove_prefix(1);
        Part part = anything();
        part.wildcard = true;
        return part;
      }
      case '^':
      case '$':
        rest_.remove_prefix(1);
        return nothing();
      case '*':
      case '+':
      case '?':
        return giveUp();  // what it repeats was not understood
      default:
        return character();
    }
  }

  // The next character stands for itself.
  Part character() {
    const utf8::Decoded decoded = utf8::decode(rest_);
    if (decoded.size == 0) return giveUp();
    std::string text(rest_.substr(0, decoded.size));
    rest_.remove_prefix(decoded.size);
    if (decoded.point < 0x20 || decoded.point == 0x7F) return anything();
    if (facts_.caseless && decoded.point >= 0x80) return anything();
    if (facts_.caseless) text[0] = lowerCase(text[0]);
    return {Texts{text}, {}};
  }

  Part group(size_t depth) {
    if (rest_.starts_with('*')) return giveUp();
    const bool isLook = take("?=") || take("?!") || take("?<=") || take("?<!");
    if (!isLook && !take("?:") && take("?")) {
      const size_t end = rest_.starts_with('<') ? rest_.find('>') : std::string_view::npos;
      if (end == std::string_view::npos) return giveUp();
      rest_.remove_prefix(end + 1);
    }
    Part part = alternatives(depth + 1);
    if (gaveUp_ || !take(")")) return giveUp();
    return isLook ? nothing() : part;
  }

  Part characterClass() {
    Part part = anything();
    part.wildcard = take("^");
    while (!gaveUp_) {
      const char c = takeOne();
      if (c == ']') return part;
      if (c == '[' &&
          (rest_.starts_with(':') || rest_.starts_with('.') || rest_.starts_with('='))) {
        return giveUp();
      }
      if (c != '\\') continue;
      const char escaped = takeOne();
      if (escaped == 'Q' || escaped == 'c') return giveUp();
    }
    return part;
  }

  Part escape() {
    if (rest_.empty()) return giveUp();
    const char c = rest_.front();
    const auto isAmong = [c](std::string_view set) {
      return set.find(c) != std::string_view::npos;
    };
    if (isAmong("bBAzZ")) {
      rest_.remove_prefix(1);
      return nothing();
    }
    if (isAmong("dDwWsSvVhHtnrf")) {
      rest_.remove_prefix(1);
      Part part = anything();
      part.wildcard = isAmong("DWS");
      return part;
    }
    const bool isWord = isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (isWord || static_cast<unsigned char>(c) >= 0x80) return giveUp();
    return character();
  }

  Repeat quantifier() {
    Repeat repeat;
    if (take("*")) {
      repeat = {0, true, false};
    } else if (take("+")) {
      repeat = {1, true, false};
    } else if (take("?")) {
      repeat = {0, false, false};
    } else if (rest_.starts_with('{')) {
      if (!counted(repeat)) return {};
    } else {
      return repeat;
    }
    if (!take("?")) (void)take("+");  // lazy, possessive
    if (rest_.starts_with('*') || rest_.starts_with('+') || rest_.starts_with('?')) gaveUp_ = true;
    return repeat;
  }

  // {n}, {n,} or {n,m}. Other braces are text, or a quantifier in some versions of PCRE2.
  bool counted(Repeat& repeat) {
    size_t at = 1;
    uint32_t least = 0;
    const auto digits = [&] {
      const size_t from = at;
      for (; at < rest_.size() && isDigit(rest_[at]); ++at) {
        if (at - from < 5) least = least * 10 + static_cast<uint32_t>(rest_[at] - '0');
      }
      return at > from;
    };
    if (!digits()) {
      gaveUp_ = true;
      return false;
    }
    repeat = {least, false, false};
    if (at < rest_.size() && rest_[at] == ',') {
      ++at;
      repeat.isOpen = !digits();
    }
    if (at >= rest_.size() || rest_[at] != '}') {
      gaveUp_ = true;
      return false;
    }
    rest_.remove_prefix(at + 1);
    return true;
  }

  std::string_view rest_;
  PatternFacts facts_;
  bool gaveUp_ = false;
};

}  // namespace

PatternFacts analyzePattern(std::string_view pattern) {
  return Reader(pattern).read();
}

}  // namespace tap::lines
