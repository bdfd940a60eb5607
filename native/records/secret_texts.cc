#include "records/secret_texts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "records/secret_values.h"

namespace tap::records {

namespace {

// ASCII only, as \w and \b of a regular expression.
[[nodiscard]] constexpr bool isWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
[[nodiscard]] constexpr bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
[[nodiscard]] constexpr bool isCapital(char c) {
  return c >= 'A' && c <= 'Z';
}
[[nodiscard]] constexpr bool isBlank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
[[nodiscard]] constexpr char lower(char c) {
  return isCapital(c) ? static_cast<char>(c + 32) : c;
}

enum class Letters : uint8_t {
  Hex,
  Word,
  WordDash,
  WordSlash,
  WordDashDot,
  Alphanumeric,
  Capitals,
  Credentials
};

[[nodiscard]] constexpr bool matchesLetters(Letters letters, char c) {
  switch (letters) {
    case Letters::Hex:
      return isDigit(c) || (c >= 'a' && c <= 'f');
    case Letters::Word:
      return isWord(c);
    case Letters::WordDash:
      return isWord(c) || c == '-';
    case Letters::WordSlash:
      return isWord(c) || c == '/';
    case Letters::WordDashDot:
      return isWord(c) || c == '-' || c == '.';
    case Letters::Alphanumeric:
      return isWord(c) && c != '_';
    case Letters::Capitals:
      return isCapital(c) || isDigit(c);
    case Letters::Credentials:
      return isWord(c) || c == '.' || c == '~' || c == '+' || c == '/' || c == '=' || c == '-';
  }
  return false;
}

// A secret that begins a word with `prefix`, followed by at least so many letters.
struct Form {
  std::string_view prefix;
  Letters letters;
  size_t least;
  bool keepsPrefix = false;
  bool exactly = false;  // as many letters, and the word ends
};

// In the order of their first letters.
constexpr std::array kForms{
    Form{"AGE-SECRET-KEY-1", Letters::Capitals, 20},
    Form{"AIza", Letters::WordDash, 30},
    Form{"AKIA", Letters::Capitals, 16, false, true},
    Form{"ASIA", Letters::Capitals, 16, false, true},
    Form{"GOCSPX-", Letters::WordDash, 20},
    Form{"SG.", Letters::WordDashDot, 40},
    Form{"dckr_pat_", Letters::WordDash, 20},
    Form{"dop_v1_", Letters::Hex, 40},
    Form{"gho_", Letters::Word, 20},
    Form{"ghp_", Letters::Word, 20},
    Form{"ghr_", Letters::Word, 20},
    Form{"ghs_", Letters::Word, 20},
    Form{"ghu_", Letters::Word, 20},
    Form{"github_pat_", Letters::Word, 20},
    Form{"glpat-", Letters::WordDash, 16},
    Form{"glrt-", Letters::WordDash, 16},
    Form{"hf_", Letters::Alphanumeric, 20},
    Form{"hooks.slack.com/services/", Letters::WordSlash, 10, true},
    Form{"hvs.", Letters::WordDash, 20},
    Form{"npm_", Letters::Alphanumeric, 20},
    Form{"ptk-", Letters::Hex, 16},
    Form{"pypi-", Letters::WordDash, 40},
    Form{"rk-", Letters::WordDash, 20},
    Form{"rk_", Letters::WordDash, 20},
    Form{"sk-", Letters::WordDash, 20},
    Form{"shpat_", Letters::Hex, 20},
    Form{"sk_", Letters::WordDash, 20},
    Form{"stk-", Letters::Hex, 16},
    Form{"tok-", Letters::Hex, 16},
    Form{"whsec_", Letters::Word, 20},
    Form{"xapp-", Letters::WordDash, 10},
    Form{"xoxa-", Letters::WordDash, 10},
    Form{"xoxb-", Letters::WordDash, 10},
    Form{"xoxc-", Letters::WordDash, 10},
    Form{"xoxd-", Letters::WordDash, 10},
    Form{"xoxe-", Letters::WordDash, 10},
    Form{"xoxp-", Letters::WordDash, 10},
    Form{"xoxr-", Letters::WordDash, 10},
    Form{"xoxs-", Letters::WordDash, 10},
    Form{"ya29.", Letters::WordDash, 20},
};
static_assert(std::ranges::is_sorted(kForms, {}, [](const Form& form) { return form.prefix[0]; }));

class Search {
 public:
  explicit Search(std::string_view text) : text_(text) {}

  // The secret that is recognised by the character at `at`. It may begin before that.
  [[nodiscard]] std::optional<SecretSpan> at(size_t at) const {
    const char c = text_[at];
    switch (c) {
      case '=':
        return assignedSecret(text_, at);
      case ':':
        return has(at, "://") ? userInfo(at) : fieldSecret(text_, at);
      case '"':
        return pairingCode(at);
      case '-':
        if (has(at, "-----")) return privateKey(at);
        return has(at, "--") ? optionSecret(text_, at) : userOptionSecret(text_, at);
      default:
        break;
    }
    if (at > 0 && isWord(text_[at - 1]) && (text_[at - 1] != 'm' || colourBefore(text_, at) == at))
      return std::nullopt;
    if (c == 'B' || c == 'b') return credentials(at);
    if (c == 'e') return webToken(at);
    if (has(at, "password")) return netrcSecret(text_, at);
    return prefixed(at);
  }

 private:
  [[nodiscard]] bool has(size_t at, std::string_view literal) const {
    return text_.substr(std::min(at, text_.size())).starts_with(literal);
  }
  [[nodiscard]] size_t skipLetters(Letters letters, size_t at) const {
    while (at < text_.size() && matchesLetters(letters, text_[at])) ++at;
    return at;
  }

  [[nodiscard]] std::optional<SecretSpan> prefixed(size_t at) const {
    const char first = text_[at];
    for (const Form& form : kForms) {
      if (form.prefix[0] < first) continue;
      if (form.prefix[0] > first) break;
      if (!has(at, form.prefix)) continue;
      const size_t begin = at + form.prefix.size();
      const size_t end = skipLetters(form.letters, begin);
      const bool fits =
          form.exactly ? end - begin == form.least && (end == text_.size() || !isWord(text_[end]))
                       : end - begin >= form.least;
      if (fits) return SecretSpan{form.keepsPrefix ? begin : at, end, {}};
    }
    return std::nullopt;
  }

  // A JSON web token.
  [[nodiscard]] std::optional<SecretSpan> webToken(size_t at) const {
    if (!has(at, "eyJ") || (at > 0 && text_[at - 1] == '-')) return std::nullopt;
    const size_t head = skipLetters(Letters::WordDash, at + 3);
    if (head < at + 13 || !has(head, ".")) return std::nullopt;
    const size_t claims = skipLetters(Letters::WordDash, head + 1);
    if (claims < head + 11 || !has(claims, ".")) return std::nullopt;
    const size_t end = skipLetters(Letters::WordDash, claims + 1);
    if (end == claims + 1) return std::nullopt;
    return SecretSpan{at, end, {}};
  }

  // Of an Authorization header.
  [[nodiscard]] std::optional<SecretSpan> credentials(size_t at) const {
    constexpr std::array<std::string_view, 2> kSchemes{"bearer", "basic"};
    for (const std::string_view scheme : kSchemes) {
      const std::string_view word = text_.substr(at, scheme.size());
      if (!std::ranges::equal(word, scheme, {}, lower)) continue;
      size_t begin = at + scheme.size();
      const size_t blanks = begin;
      while (begin < text_.size() && text_[begin] == ' ') ++begin;
      if (begin == blanks || begin > blanks + 4) return std::nullopt;
      const size_t end = skipLetters(Letters::Credentials, begin);
      const std::string_view value = text_.substr(begin, end - begin);
      // In a header it is what it is; elsewhere it may be a word: "basic knowledge".
      const bool is =
          isHeaderBefore(at) ? value.size() >= 4 : value.size() >= 8 && !isOrdinaryWord(value);
      if (!is) return std::nullopt;
      return SecretSpan{blanks, end, " "};
    }
    return std::nullopt;
  }
  // Whether `Authorization: ` stands before it.
  [[nodiscard]] bool isHeaderBefore(size_t at) const {
    constexpr std::string_view kHeader = "authorization";
    const size_t least = at - std::min(at, kHeader.size() + 8);
    const auto isBetween = [](char c) { return !isWord(c) && c != '\n'; };
    while (at > least && isBetween(text_[at - 1])) --at;
    if (at < kHeader.size()) return false;
    return std::ranges::equal(text_.substr(at - kHeader.size(), kHeader.size()), kHeader, {},
                              lower);
  }
  [[nodiscard]] static bool isOrdinaryWord(std::string_view value) {
    constexpr size_t kLongest = 20;
    if (value.size() >= kLongest) return false;
    const auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || c == '-' || c == '.'; };
    return std::ranges::all_of(value.substr(1), isLetter) ||
           std::ranges::all_of(value, [](char c) { return isCapital(c) || c == '-' || c == '.'; });
  }

  // The password of a URL; `at` is the ":" before its slashes.
  [[nodiscard]] std::optional<SecretSpan> userInfo(size_t at) const {
    size_t colon = at + 3;
    const auto endsUser = [](char c) { return isBlank(c) || c == '/' || c == ':' || c == '@'; };
    while (colon < text_.size() && !endsUser(text_[colon])) ++colon;
    if (has(colon, "@")) return tokenAsUser(at + 3, colon);
    if (!has(colon, ":")) return std::nullopt;
    size_t last = std::string_view::npos;
    for (size_t end = colon + 1; end < text_.size() && !isBlank(text_[end]) && text_[end] != '/';
         ++end) {
      if (text_[end] == '@') last = end;
    }
    if (last == std::string_view::npos || last == colon + 1) return std::nullopt;
    return SecretSpan{colon + 1, last, {}};
  }
  // `https://0123456789abcdef…@host`: a name is shorter, or without digits.
  [[nodiscard]] std::optional<SecretSpan> tokenAsUser(size_t begin, size_t end) const {
    const std::string_view user = text_.substr(begin, end - begin);
    if (user.size() < 20 || !std::ranges::all_of(user, isWord)) return std::nullopt;
    if (!std::ranges::any_of(user, isDigit)) return std::nullopt;
    return SecretSpan{begin, end, {}};
  }

  // The code that a person types while pairing, in JSON; `at` is the first quotation mark.
  [[nodiscard]] std::optional<SecretSpan> pairingCode(size_t at) const {
    constexpr std::string_view kCode = "\"code\"";
    if (!has(at, kCode)) return std::nullopt;
    const auto skip = [this](size_t from) {
      const size_t most = std::min(from + 4, text_.size());
      while (from < most && text_[from] == ' ') ++from;
      return from;
    };
    const size_t colon = skip(at + kCode.size());
    if (!has(colon, ":")) return std::nullopt;
    const size_t quote = skip(colon + 1);
    if (!has(quote, "\"") || !has(quote + 7, "\"")) return std::nullopt;
    if (!std::ranges::all_of(text_.substr(quote + 1, 6), isDigit)) return std::nullopt;
    return SecretSpan{quote + 1, quote + 7, {}};
  }

  [[nodiscard]] std::optional<SecretSpan> privateKey(size_t at) const {
    constexpr std::string_view kBegin = "-----BEGIN ";
    if (!has(at, kBegin)) return std::nullopt;
    const std::optional<size_t> begun = pemLabel(at + kBegin.size());
    if (!begun) return std::nullopt;
    // An encrypted one has headers with "-".
    size_t end = std::min(text_.find("-----", *begun), text_.size());
    constexpr std::string_view kEnd = "-----END ";
    if (has(end, kEnd)) end = pemLabel(end + kEnd.size()).value_or(end);
    return SecretSpan{at, end, {}};
  }
  // Where "RSA PRIVATE KEY-----" ends.
  [[nodiscard]] std::optional<size_t> pemLabel(size_t at) const {
    constexpr std::string_view kKey = "PRIVATE KEY";
    constexpr std::string_view kBlock = " BLOCK";
    size_t end = at;
    while (end < text_.size() && ((text_[end] >= 'A' && text_[end] <= 'Z') || text_[end] == ' '))
      ++end;
    std::string_view label = text_.substr(at, end - at);
    if (label.ends_with(kBlock)) label.remove_suffix(kBlock.size());
    if (!label.ends_with(kKey) || !has(end, "-----")) return std::nullopt;
    return end + 5;
  }

  std::string_view text_;
};

// The characters that Search::at knows.
constexpr std::array<bool, 256> kTriggers = [] {
  std::array<bool, 256> telling{};
  for (const char c : std::string_view("=:\"-Bbe")) telling[static_cast<uint8_t>(c)] = true;
  for (const Form& form : kForms) telling[static_cast<uint8_t>(form.prefix[0])] = true;
  return telling;
}();

}  // namespace

bool removeSecretTexts(std::string_view text, std::string& out) {
  const Search search(text);
  size_t written = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (!kTriggers[static_cast<uint8_t>(c)]) {
      ++i;
      continue;
    }
    const std::optional<SecretSpan> found = search.at(i);
    if (!found) {
      ++i;
      continue;
    }
    out.append(text, written, found->begin - written);
    out.append(found->before).append(kRemoved);
    written = found->end;
    i = found->end;
  }
  out.append(text, written);
  return written > 0;
}

}  // namespace tap::records
