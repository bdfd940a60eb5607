#include "records/secret_values.h"

#include <algorithm>
#include <array>

#include "records/secret_names.h"

namespace tap::records {

namespace {

// So that a text of any kind takes time in proportion to its length.
constexpr size_t kLongestLabel = 64;
constexpr size_t kLongestValue = 4096;
constexpr size_t kMaxGapBlanks = 8;
constexpr size_t kMaxBackslashes = 7;
constexpr size_t kShortestWord = 4;
constexpr size_t kShortestLastWord = 3;
constexpr size_t kLongestWord = 256;
constexpr size_t kFarthestProgram = 256;

[[nodiscard]] constexpr bool isLabelLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}
[[nodiscard]] constexpr bool isGap(char c) {
  return c == ' ' || c == '\t';
}
[[nodiscard]] constexpr bool isLineEnd(char c) {
  return c == '\n' || c == '\r';
}
[[nodiscard]] constexpr bool isQuote(char c) {
  return c == '"' || c == '\'' || c == '`';
}

constexpr char kEscape = '\x1b';
constexpr size_t kLongestColour = 24;
constexpr int kMaxColours = 4;  // one after the other

[[nodiscard]] constexpr bool isOfColour(char c) {
  return (c >= '0' && c <= '9') || c == ';' || c == ':';
}

// The names of parameters, which elsewhere are not those of secrets.
[[nodiscard]] bool namesParameter(std::string_view label) {
  if (label.size() < 3 || label.size() > kLongestLabel) return false;
  constexpr std::array<std::string_view, 3> kEnds{"key", "signature", "sig"};
  constexpr std::array<std::string_view, 6> kBefore{"", "access", "auth", "api", "id", "refresh"};
  std::array<char, kLongestLabel> letters{};
  std::ranges::transform(label, letters.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  std::string_view rest(letters.data(), label.size());
  const auto* const end =
      std::ranges::find_if(kEnds, [&](std::string_view one) { return rest.ends_with(one); });
  if (end == kEnds.end()) return false;
  rest.remove_suffix(end->size());
  if (rest.ends_with('_')) rest.remove_suffix(1);
  return std::ranges::find(kBefore, rest) != kBefore.end();
}

[[nodiscard]] bool isSecretLabel(std::string_view label) {
  if (label.size() < 3 || label.size() > kLongestLabel) return false;
  if (label.back() == '_' || label.back() == '-') return false;
  const NameClass looks = classifyName(label);
  return looks.ends && !looks.lastIsTokens;
}

[[nodiscard]] bool isHeader(std::string_view label) {
  constexpr std::array<std::string_view, 2> kWhole{"authorization", "cookie"};
  std::array<char, kLongestLabel> letters{};
  std::ranges::transform(label, letters.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  const std::string_view lower(letters.data(), label.size());
  return std::ranges::any_of(kWhole, [&](std::string_view one) { return lower.ends_with(one); });
}

class ValueScanner {
 public:
  explicit ValueScanner(std::string_view text) : text_(text) {}

  [[nodiscard]] bool is(size_t at, char c) const { return at < text_.size() && text_[at] == c; }
  [[nodiscard]] bool hasGap(size_t at) const { return at < text_.size() && isGap(text_[at]); }
  [[nodiscard]] size_t gapAfter(size_t at) const {
    const size_t most = std::min(at + kMaxGapBlanks, text_.size());
    while (at < most && isGap(text_[at])) ++at;
    return at;
  }
  [[nodiscard]] size_t gapBefore(size_t at) const {
    const size_t least = at - std::min(at, kMaxGapBlanks);
    while (at > least && isGap(text_[at - 1])) --at;
    return at;
  }
  // The name that ends at `at`: with one letter too many where it is too long.
  [[nodiscard]] std::string_view labelBefore(size_t at) const {
    size_t begin = at;
    while (begin > 0 && at - begin <= kLongestLabel && isLabelLetter(text_[begin - 1])) --begin;
    const size_t colour = text_.substr(begin, at - begin).find('m');
    if (colour == std::string_view::npos) return text_.substr(begin, at - begin);
    const size_t name = begin + colour + 1;
    if (colourBefore(text_, name) < name) begin = name;
    return text_.substr(begin, at - begin);
  }
  [[nodiscard]] size_t backslashesBefore(size_t at) const {
    size_t count = 0;
    while (count < at && count <= kMaxBackslashes && text_[at - 1 - count] == '\\') ++count;
    return count;
  }

  // A value in quotes, which may have backslashes before them; `at` is where it begins.
  [[nodiscard]] std::optional<SecretSpan> quoted(size_t at) const {
    size_t open = at;
    while (is(open, '\\') && open - at <= kMaxBackslashes) ++open;
    if (open >= text_.size() || !isQuote(text_[open])) return std::nullopt;
    const size_t escapes = open - at;
    const size_t most = std::min(open + 1 + kLongestValue, text_.size());
    for (size_t i = open + 1; i < most && !isLineEnd(text_[i]); ++i) {
      if (text_[i] != text_[open]) continue;
      const size_t before = std::min(backslashesBefore(i), i - open - 1);
      if (before > escapes) continue;
      const size_t end = i - before;
      if (end == open + 1) return std::nullopt;
      return SecretSpan{open + 1, end, {}};
    }
    return SecretSpan{open + 1, most, {}};  // its end is not in this text
  }

  // A value without quotes.
  [[nodiscard]] std::optional<SecretSpan> word(size_t at, size_t least) const {
    size_t end = at;
    bool digits = true;
    const auto ends = [](char c) {
      return c == ' ' || (c >= '\t' && c <= '\r') || c == '&' || isQuote(c) || c == '<' || c == '>';
    };
    for (; end < text_.size() && !ends(text_[end]); ++end) {
      digits &= text_[end] >= '0' && text_[end] <= '9';
    }
    // `pass=3` is a count.
    if (end < at + least || (digits && end < at + kShortestWord)) return std::nullopt;
    return SecretSpan{at, end, {}};
  }

  // A value without quotes that the line ends with, as in an INI file. Code is not one.
  [[nodiscard]] std::optional<SecretSpan> lastWord(size_t at) const {
    const std::optional<SecretSpan> found = word(at, kShortestLastWord);
    if (!found) return std::nullopt;
    const size_t after = gapAfter(found->end);
    const bool ends = after >= text_.size() || isLineEnd(text_[after]) || text_[after] == '#';
    if (!ends || isCode(text_.substr(at, found->end - at))) return std::nullopt;
    return found;
  }

  // Up to the end of the line, or to the quote that the line ends with.
  [[nodiscard]] std::optional<SecretSpan> line(size_t at) const {
    size_t end = at;
    while (end < text_.size() && !isLineEnd(text_[end]) && !isQuote(text_[end])) ++end;
    if (end < at + kShortestWord) return std::nullopt;
    return SecretSpan{at, end, {}};
  }

  // Whether a line begins there, or a text in quotes.
  [[nodiscard]] bool beginsLine(size_t at) const {
    if (at > 0 && isQuote(text_[at - 1])) return true;
    const size_t least = at - std::min<size_t>(at, 2 * kMaxGapBlanks);
    const auto isBullet = [](char c) {
      return isGap(c) || c == '-' || c == '+' || c == '>' || c == '<';
    };
    at = colourBefore(text_, at);
    while (at > least && isBullet(text_[at - 1])) at = colourBefore(text_, at - 1);
    return at == 0 || isLineEnd(text_[at - 1]);
  }

  // Whether it is `{ name`, `, name` or `(name`.
  [[nodiscard]] bool beginsMember(size_t at) const {
    const size_t before = gapBefore(at);
    return before > 0 &&
           (text_[before - 1] == '{' || text_[before - 1] == ',' || text_[before - 1] == '(');
  }

  // The word before the blanks before `at`; empty where there is none, or it is too long.
  [[nodiscard]] std::string_view wordBefore(size_t at) const {
    const auto isSpace = [](char c) { return isGap(c) || isLineEnd(c); };
    const size_t least = at - std::min(at, kMaxGapBlanks);
    size_t end = at;
    while (end > least && isSpace(text_[end - 1])) --end;
    if (end == at) return {};
    size_t begin = end;
    while (begin > 0 && end - begin <= kLongestWord && !isSpace(text_[begin - 1])) --begin;
    return end - begin > kLongestWord ? std::string_view() : text_.substr(begin, end - begin);
  }
  [[nodiscard]] size_t offset(std::string_view part) const {
    return static_cast<size_t>(part.data() - text_.data());
  }

 private:
  // `None`, `self.token`, `read()`, `$TOKEN`.
  [[nodiscard]] static bool isCode(std::string_view value) {
    constexpr std::array<std::string_view, 12> kWords{"none",  "null",      "nil",     "true",
                                                      "false", "undefined", "None",    "False",
                                                      "True",  "NULL",      "nullptr", "Null"};
    if (std::ranges::find(kWords, value) != kWords.end()) return true;
    if (value.find_first_of("()[]{}<>;$,") != std::string_view::npos) return true;
    const auto isPart = [](char c) { return (c >= 'a' && c <= 'z') || c == '_' || c == '.'; };
    return value.find('.') != std::string_view::npos && std::ranges::all_of(value, isPart);
  }

  std::string_view text_;
};

// Messages of parsers: `Unexpected token: "}"`.
[[nodiscard]] bool isOfParser(std::string_view word) {
  constexpr std::array<std::string_view, 6> kWords{"expected", "unexpected", "invalid",
                                                   "illegal",  "unknown",    "missing"};
  std::array<char, 12> letters{};
  if (word.size() > letters.size()) return false;
  std::ranges::transform(word, letters.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return std::ranges::find(kWords, std::string_view(letters.data(), word.size())) != kWords.end();
}

// Credentials of an Authorization header are found by their scheme.
[[nodiscard]] bool hasScheme(std::string_view value) {
  constexpr std::array<std::string_view, 2> kKnown{"bearer ", "basic "};
  return std::ranges::any_of(kKnown, [&](std::string_view scheme) {
    const std::string_view begin = value.substr(0, scheme.size());
    return std::ranges::equal(begin, scheme, {},
                              [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  });
}

}  // namespace

size_t colourBefore(std::string_view text, size_t at) {
  for (int count = 0; count < kMaxColours && at > 2 && text[at - 1] == 'm'; ++count) {
    const size_t least = at - std::min(at, kLongestColour);
    size_t begin = at - 1;
    while (begin > least && isOfColour(text[begin - 1])) --begin;
    if (begin < least + 2 || text[begin - 1] != '[' || text[begin - 2] != kEscape) break;
    at = begin - 2;
  }
  return at;
}

size_t colourAfter(std::string_view text, size_t at) {
  for (int count = 0; count < kMaxColours; ++count) {
    if (!text.substr(std::min(at, text.size())).starts_with("\x1b[")) break;
    const size_t most = std::min(at + kLongestColour, text.size());
    size_t end = at + 2;
    while (end < most && isOfColour(text[end])) ++end;
    if (end == most || text[end] != 'm') break;
    at = end + 1;
  }
  return at;
}

std::optional<SecretSpan> assignedSecret(std::string_view text, size_t at) {
  const ValueScanner beside(text);
  const size_t named = colourBefore(text, at);
  const size_t name = beside.gapBefore(named);
  const std::string_view label = beside.labelBefore(name);
  if (!isSecretLabel(label) && !namesParameter(label)) return std::nullopt;
  const size_t sign = colourAfter(text, at + 1);
  const size_t value = colourAfter(text, beside.gapAfter(sign));
  const bool joined = !beside.hasGap(sign);
  if (const auto found = beside.quoted(value)) return found;
  if (name == named && joined) return beside.word(value, 1);
  if (name == named || joined || !beside.beginsLine(name - label.size())) return std::nullopt;
  return isSecretLabel(label) ? beside.lastWord(value) : std::nullopt;
}

std::optional<SecretSpan> fieldSecret(std::string_view text, size_t at) {
  const ValueScanner beside(text);
  const size_t named = colourBefore(text, at);
  const size_t name = beside.gapBefore(named);
  const size_t sign = colourAfter(text, at + 1);
  const size_t value = colourAfter(text, beside.gapAfter(sign));
  if (name > 0 && isQuote(text[name - 1])) {
    const size_t escapes = beside.backslashesBefore(name - 1);
    const std::string_view label = beside.labelBefore(name - 1 - escapes);
    if (!isSecretLabel(label)) return std::nullopt;
    return beside.quoted(value);
  }
  const std::string_view label = beside.labelBefore(name);
  if (!isSecretLabel(label)) return std::nullopt;
  const size_t begin = name - label.size();
  const bool alone = beside.beginsLine(begin);
  if (const auto found = beside.quoted(value)) {
    if (alone || beside.beginsMember(begin)) return found;
    return name == named && !isOfParser(beside.wordBefore(begin)) ? found : std::nullopt;
  }
  if (name != named || !beside.hasGap(sign) || !alone) return std::nullopt;
  if (!isHeader(label)) return beside.word(value, kShortestWord);
  if (hasScheme(text.substr(value))) return std::nullopt;
  return beside.line(value);
}

namespace {

// Whether it is an option of curl: the program's name stands before it, in its line.
[[nodiscard]] bool isOfCurl(std::string_view text, size_t at) {
  const size_t least = at - std::min(at, kFarthestProgram);
  const std::string_view before = text.substr(least, at - least);
  const size_t program = before.rfind("curl");
  if (program == std::string_view::npos) return false;
  const std::string_view between = before.substr(program);
  // A line that ends with a backslash goes on.
  for (size_t end = between.find('\n'); end != std::string_view::npos;
       end = between.find('\n', end + 1)) {
    if (between[end - 1] != '\\' && between[end - 1] != '\r') return false;
  }
  return true;
}

// The password of `name:password`.
[[nodiscard]] std::optional<SecretSpan> passwordOfUser(const ValueScanner& beside,
                                                       std::string_view text, size_t at,
                                                       size_t value) {
  if (!isOfCurl(text, at)) return std::nullopt;
  const std::optional<SecretSpan> quoted = beside.quoted(value);
  const std::optional<SecretSpan> whole = quoted ? quoted : beside.word(value, 1);
  if (!whole) return std::nullopt;
  const size_t colon = text.substr(0, whole->end).find(':', whole->begin);
  if (colon == std::string_view::npos || colon + 1 == whole->end) return std::nullopt;
  return SecretSpan{colon + 1, whole->end, {}};
}

// Whether `login` follows the word at `value`.
[[nodiscard]] bool isLoginNext(const ValueScanner& beside, std::string_view text, size_t value) {
  const std::optional<SecretSpan> word = beside.word(value, 1);
  if (!word) return false;
  const size_t next = text.find_first_not_of(" \t\r\n", word->end);
  return next <= word->end + kMaxGapBlanks && text.substr(next).starts_with("login");
}

}  // namespace

std::optional<SecretSpan> userOptionSecret(std::string_view text, size_t at) {
  const ValueScanner beside(text);
  const std::string_view option = text.substr(at, 2);
  if ((option != "-u" && option != "-U") || at == 0) return std::nullopt;
  if (!isGap(text[at - 1]) && !isLineEnd(text[at - 1])) return std::nullopt;
  return passwordOfUser(beside, text, at, beside.gapAfter(at + 2));
}

std::optional<SecretSpan> netrcSecret(std::string_view text, size_t at) {
  constexpr std::string_view kPassword = "password";
  constexpr int kMaxPairs = 3;
  const ValueScanner beside(text);
  const auto isSpace = [](char c) { return isGap(c) || isLineEnd(c); };
  size_t value = at + kPassword.size();
  const size_t most = std::min(value + kMaxGapBlanks, text.size());
  while (value < most && isSpace(text[value])) ++value;
  if (value == at + kPassword.size()) return std::nullopt;
  size_t begin = at;
  for (int pair = 0; pair < kMaxPairs; ++pair) {
    const std::string_view given = beside.wordBefore(begin);
    if (given.empty()) return std::nullopt;
    begin = beside.offset(given);
    if (given == "default" && beside.beginsLine(begin)) return beside.word(value, 1);
    const std::string_view name = beside.wordBefore(begin);
    if (name == "machine")
      return pair > 0 || isLoginNext(beside, text, value) ? beside.word(value, 1) : std::nullopt;
    if (name != "login" && name != "account") return std::nullopt;
    begin = beside.offset(name);
  }
  return std::nullopt;
}

std::optional<SecretSpan> optionSecret(std::string_view text, size_t at) {
  const ValueScanner beside(text);
  if (!text.substr(at).starts_with("--")) return std::nullopt;
  if (at > 0 && !isGap(text[at - 1]) && !isLineEnd(text[at - 1]) && !isQuote(text[at - 1]))
    return std::nullopt;
  size_t end = at + 2;
  while (end < text.size() && end - at <= kLongestLabel && isLabelLetter(text[end])) ++end;
  const std::string_view label = text.substr(at + 2, end - at - 2);
  if (label == "user" || label == "proxy-user") {
    const size_t value = beside.is(end, '=') ? end + 1 : beside.gapAfter(end);
    return value == end ? std::nullopt : passwordOfUser(beside, text, at, value);
  }
  const size_t value = beside.gapAfter(end);
  if (value == end || value >= text.size()) return std::nullopt;
  if (!isSecretLabel(label)) return std::nullopt;
  if (const auto found = beside.quoted(value)) return found;
  const char first = text[value];
  if (first == '-' || first == '<' || first == '[' || first == '{') return std::nullopt;
  return beside.word(value, kShortestWord);
}

}  // namespace tap::records
