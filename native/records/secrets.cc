#include "records/secrets.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <sstream>
#include <vector>

#include "base/prefilter.h"
#include "base/text_pattern.h"

namespace tap::records {

namespace {

// The last group of a pattern is the secret. (?&w): start of a word; (?&n): start of a name,
// possibly after a terminal's colour. (?&c): colours. (?&o): text before a command's option.
constexpr std::string_view kSubpatterns =
    R"((?(DEFINE)(?<c>(?:\x1b\[[\d;:]{0,24}m)*+))"
    R"((?<o>[^\n]{0,200}?(?:(?<=[\\\r])\n[^\n]{0,200}?){0,6}?(?<=\s)))";

// In quotes, which may be escaped with backslashes; the closing quote may be missing.
constexpr std::string_view kQuoted =
    R"((\\{0,7}+)(["'`])((?:[^\\\r\n"'`]++|(?!\g{-2})["'`]|\g{-3}\\++\g{-2}|\\++(?!\g{-2}))++))";
// `pass=3` is a count.
constexpr std::string_view kWord = R"((?!\d{1,3}(?![^\s&"'`<>]))([^\s&"'`<>]++))";
constexpr std::string_view kLongWord = R"(([^\s&"'`<>]{4,}+))";
// At the end of a line, and not code: `None`, `self.token`, `read()`, `$TOKEN`.
constexpr std::string_view kLastWord =
    R"((?!(?i:none|null|nil|true|false|undefined|nullptr)(?![^ \t\r\n#]))(?!\d{1,3}(?!\S)))"
    R"((?![a-z_]*\.[a-z_.]*(?![^ \t\r\n#]))([^\s&"'`<>()\[\]{};$,]{3,}+)(?=[ \t]{0,8}(?:[\r\n#]|\z)))";

// A token of Discord begins with a number in base64.
constexpr std::string_view kDiscord =
    "MTA MTE MTI MTM MTQ MTU MTY MTc MTg MTk MjA MjE MjI MjM MjQ MjU MjY Mjc Mjg Mjk MzA "
    "MzE MzI MzM MzQ MzU MzY Mzc Mzg Mzk NDA NDE NDI NDM NDQ NDU NDY NDc NDg NDk NTA NTE "
    "NTI NTM NTQ NTU NTY NTc NTg NTk NjA NjE NjI NjM NjQ NjU NjY Njc Njg Njk NzA NzE NzI "
    "NzM NzQ NzU NzY Nzc Nzg Nzk ODA ODE ODI ODM ODQ ODU ODY ODc ODg ODk OTA OTE OTI OTM "
    "OTQ OTU OTY OTc OTg OTk";

// A secret with a known form: the pattern begins with any of the literals, which no other form has.
// Blanks separate them; literals in lower case match any case.
struct Form {
  std::string_view name;
  std::string_view literals;
  std::string_view pattern;
  bool repeats = false;  // also matches after its secret: a command has several options
};

constexpr std::array kForms{
    Form{
        "rest of a private key", "",
        R"((?!\z)((?:[\w+/=:,.\s]++|-(?!----))*+(?:-----END [A-Z ]{0,40}?PRIVATE KEY(?: BLOCK)?-----|\z)))"},
    // A whole text. The lines of a key have such lengths, and digests no capitals.
    Form{"line of a private key", "",
         R"([^\n]{0,90}?(?<![\w+/=-])((?=[^a-z]*+[a-z])(?=[^A-Z]*+[A-Z])(?=\D*+\d))"
         R"((?:[A-Za-z0-9+/]{64}|[A-Za-z0-9+/]{70}|[A-Za-z0-9+/]{76}))\s?\z)"},
    Form{"private key", "-----BEGIN",
         R"((-----BEGIN [A-Z ]{0,40}?PRIVATE KEY(?: BLOCK)?-----[^-]*+(?:-(?!----)[^-]*+)*+)"
         R"((?:-----END [A-Z ]{0,40}?PRIVATE KEY(?: BLOCK)?-----)?))"},
    // A user's name is shorter than a token, or has no digits.
    Form{"URL", "://", R"(://(?:[^\s/:@]{0,256}+:([^\s/]{1,4096})@|(?=[A-Za-z_]*+\d)(\w{20,}+)@))"},
    Form{"pairing code", "\"code\"", R"("code" {0,4}: {0,4}"(\d{6})\x22)"},
    // Without the header's name it may be a word: "basic knowledge".
    Form{"Authorization", "auth",
         R"((?i)authorization[^\w\n]{1,8}(?:bearer|basic) ( {0,3}[\w.~+/=-]{4,}+))"},
    Form{
        "scheme", "bearer basic",
        R"((?&w)(?i:bearer|basic) (?! {0,3}(?:[\w.~+/=-][a-z.-]{7,18}|[A-Z.-]{8,19})(?![\w.~+/=-])))"
        R"(( {0,3}[\w.~+/=-]{8,}+))"},
    Form{
        "user of curl", "curl",
        R"((?:(?<![\w-])curl(?![\w-])|(?=[\s"']))(?&o)(?:-[uU]|--(?:proxy-)?user(?:=|(?=[ \t])))[ \t]{0,8})"
        R"((?:(["'`])[^:\r\n"'`]{0,256}:((?:(?!\g{-2})[^\r\n])++)|[^\s:"'`]{0,256}:([^\s&"'`<>]++)))",
        true},
    Form{
        "password of mysql", "mysql mariadb 7za",
        R"((?<![\w-])(?:(?:mysql|mariadb)[\w-]*+|7za)(?![\w-])(?&o)-p(?|(["'])((?:(?!\g{-2})[^\r\n])++))"
        R"(|()([^\s&"'`<>]++)))"},
    Form{
        "password of a login", "sshpass docker podman nerdctl",
        R"((?<![\w-])(?:sshpass|(?:docker|podman|nerdctl) login)(?![\w-])(?&o)-p[ \t]{0,8}["']?([^\s&"'`<>]++))"},
    Form{
        "netrc", "machine default",
        R"((?|(?<!\S)machine\s{1,8}\S{1,256}+(?:(?:\s{1,8}(?:login|account)\s{1,8}\S{1,256}+){1,3}\s{1,8}password\s{1,8}([^\s&"'`<>]++))"
        R"(|\s{1,8}password\s{1,8}([^\s&"'`<>]++)(?=\s{1,8}login)))"
        R"(|(?<![^\r\n"'`+-])default(?:\s{1,8}(?:login|account)\s{1,8}\S{1,256}+){0,3}\s{1,8}password\s{1,8}([^\s&"'`<>]++)))"},
    Form{"Discord hook", "/api/webhooks/", R"(/api/webhooks/\d{5,}+/([\w-]{20,}+))"},
    Form{"Telegram", ":AA", R"((?<=\d{6}):(AA[\w-]{30,}+))"},
    Form{"JSON web token", "eyJ", R"((?&w)(?<!-)(eyJ[\w-]{10,}+\.[\w-]{10,}+\.[\w-]++))"},
    Form{"Discord", kDiscord,
         R"((?<![\w.-])([MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,45}+)(?![\w-]))"},
    Form{"age", "AGE-SECRET-KEY-1", "(?&w)(AGE-SECRET-KEY-1[A-Z0-9]{20,}+)"},
    Form{"AWS", "AKIA ASIA", R"((?&w)(A[KS]IA[A-Z0-9]{16})(?!\w))"},
    Form{"DigitalOcean", "dop_v1_", "(?&w)(dop_v1_[0-9a-f]{40,}+)"},
    Form{"Docker", "dckr_pat_", R"((?&w)(dckr_pat_[\w-]{20,}+))"},
    Form{"GitHub", "gho_ ghp_ ghr_ ghs_ ghu_ github_pat_",
         R"((?&w)((?:gh[oprsu]|github_pat)_\w{20,}+))"},
    Form{"GitLab", "glpat- glrt-", R"((?&w)(gl(?:pa|r)t-[\w-]{16,}+))"},
    Form{"Google", "AIza GOCSPX- ya29.", R"((?&w)((?:AIza[\w-]{10}|GOCSPX-|ya29\.)[\w-]{20,}+))"},
    Form{"Hugging Face", "hf_", "(?&w)(hf_[A-Za-z0-9]{20,}+)"},
    Form{"npm", "npm_", "(?&w)(npm_[A-Za-z0-9]{20,}+)"},
    Form{"keys of services", "rk- rk_ sk- sk_", R"((?&w)([rs]k[-_][\w-]{20,}+))"},
    Form{"PyPI", "pypi-", R"((?&w)(pypi-[\w-]{40,}+))"},
    Form{"SendGrid", "SG.", R"((?&w)(SG\.[\w.-]{40,}+))"},
    Form{"Shopify", "shpat_", "(?&w)(shpat_[0-9a-f]{20,}+)"},
    Form{"Slack", "xapp- xoxa- xoxb- xoxc- xoxd- xoxe- xoxp- xoxr- xoxs-",
         R"((?&w)(x(?:app|ox[a-eprs])-[\w-]{10,}+))"},
    Form{"Slack hook", "hooks.slack.com/services/",
         R"((?&w)hooks\.slack\.com/services/([\w/]{10,}+))"},
    Form{"tap", "ptk- stk- tok-", "(?&w)((?:pt|st|to)k-[0-9a-f]{16,}+)"},
    Form{"Vault", "hvs.", R"((?&w)(hvs\.[\w-]{20,}+))"},
    Form{"hook", "whsec_", R"((?&w)(whsec_\w{20,}+))"},
};

// A secret after its name. (?C1): the name is that of a secret; (?C2): or of a parameter.
constexpr std::string_view kNameLiterals =
    "token secret pass pwd jwt cookie credential otp key sig connection";
constexpr std::string_view kName = R"((?&n)([\w-]{3,64}+))";
// At the start of a line, or of a text in quotes.
constexpr std::string_view kLineName =
    R"((?:^|[\r\n"'`])(?:[ \t+<>-]++|\x1b\[[\d;:]{0,24}m)*+([\w-]{3,64}+))";
constexpr std::string_view kOption = R"((?<![^ \t\r\n"'`])--([\w-]{3,64}+))";

struct Assignment {
  std::string_view name;
  std::string_view begin;
  std::string_view sign;
  std::string_view value;
};

constexpr std::array kAssignments{
    Assignment{"= in quotes", kName, R"([ \t]{0,8}(?&c)=(?C2)(?&c)[ \t]{0,8}(?&c))", kQuoted},
    Assignment{"=", kName, "(?&c)=(?C2)(?&c)", kWord},
    Assignment{"member", kName, R"(\\{0,7}["'`][ \t]{0,8}(?&c):(?C1)(?&c)[ \t]{0,8}(?&c))",
               kQuoted},
    // Not messages of parsers: `Unexpected token: "}"`.
    Assignment{": in quotes",
               R"((?<!(?i)expected |invalid |illegal |unknown |missing )(?&n)([\w-]{3,64}+))",
               R"((?&c):(?C1)(?&c)[ \t]{0,8}(?&c))", kQuoted},
    Assignment{"= in a line", kLineName, R"([ \t]{1,8}(?&c)=(?C1)(?&c)[ \t]{1,8}(?&c))", kLastWord},
    Assignment{": in quotes, in a line", kLineName, R"([ \t]{0,8}(?&c):(?C1)(?&c)[ \t]{0,8}(?&c))",
               kQuoted},
    Assignment{
        "header", kLineName,
        R"((?<=(?i)authorization|cookie)(?&c):(?C1)(?&c)[ \t]{1,8}(?&c)(?!(?i:bearer|basic) ))",
        R"(([^\r\n"'`]{4,}+))"},
    Assignment{": in a line", kLineName,
               R"((?<!(?i)authorization|cookie)(?&c):(?C1)(?&c)[ \t]{1,8}(?&c))", kLongWord},
    Assignment{": in an object", R"([{,(][ \t]{0,8}([\w-]{3,64}+))",
               R"([ \t]{0,8}(?&c):(?C1)(?&c)[ \t]{0,8}(?&c))", kQuoted},
    Assignment{"YAML block", R"((?:^|\n)([ \t]*+)(?:-[ \t]++)*+([\w-]{3,64}+))",
               R"(:(?C1)[ \t]{1,8}[|>][-+\d]{0,2}[ \t]*+\r?\n\g{-2}[ \t]++)",
               R"(([^\n]++(?:\n(?:\g{-3}[ \t]++[^\n]*+|[ \t\r]*+(?=\n)))*+))"},
    Assignment{"option in quotes", kOption, R"([ \t]{1,8}(?C1))", kQuoted},
    Assignment{"option", kOption, R"([ \t]{1,8}(?C1)(?![-<\[{]))", kLongWord},
};

constexpr int kLongestColour = 24;
constexpr size_t kLongestName = 200;
constexpr size_t kLongestLabel = 64;
constexpr size_t kShortestText = 5;  // of a text with a secret: "pwd=x"
// The maximum of bytes of an assignment before its name.
constexpr size_t kMaxBefore = 48;
constexpr std::string_view kBulletsAndColours = " \t+<>-\x1b[;:0123456789m";

// Words in the name of a secret.
constexpr std::array<std::string_view, 18> kSecretWords{
    "token",      "secret", "password", "passwd",    "passphrase", "passcode",
    "pwd",        "pass",   "auth",     "bearer",    "jwt",        "cookie",
    "credential", "otp",    "apikey",   "accesskey", "privatekey", "authorization"};
// Words that make a key a secret: api key, private key, and so on.
constexpr std::array<std::string_view, 9> kKeyKinds{
    "api", "access", "private", "secret", "encryption", "session", "signing", "ssh", "account"};
constexpr std::array<std::string_view, 5> kSecretEnds{"password", "passwd", "secret", "token",
                                                      "apikey"};

// Words that make a key or a signature a parameter: `api_key=…`.
constexpr std::array<std::string_view, 5> kParameterKinds{"access", "auth", "api", "id", "refresh"};

[[nodiscard]] constexpr bool isCapital(char c) {
  return c >= 'A' && c <= 'Z';
}
[[nodiscard]] constexpr bool isNameLetter(char c) {
  return isCapital(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

[[nodiscard]] bool hasWord(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

[[nodiscard]] bool isSecretWord(std::string_view word) {
  const auto isEnd = [&](std::string_view end) { return word.ends_with(end); };
  if (hasWord(kSecretWords, word) || std::ranges::any_of(kSecretEnds, isEnd)) return true;
  return word.ends_with('s') && isSecretWord(word.substr(0, word.size() - 1));
}

// Iterates over the words of a name, in lower case: apiKey, api_key and API-KEY have the same
// words.
class Words {
 public:
  explicit Words(std::string_view name) : name_(name.substr(0, kLongestName)) {}

  // Empty at the end. A word is valid until the second call after it.
  [[nodiscard]] std::string_view next() {
    while (at_ < name_.size() && !isAlphanumeric(name_[at_])) ++at_;
    std::array<char, kLongestName>& letters = letters_[turn_ ^= 1];
    size_t size = 0;
    while (at_ < name_.size() && isAlphanumeric(name_[at_])) {
      const char c = name_[at_];
      if (size > 0 && isCapital(c) && !isCapital(name_[at_ - 1])) break;
      letters[size++] = isCapital(c) ? static_cast<char>(c + 32) : c;
      ++at_;
    }
    return {letters.data(), size};
  }

 private:
  [[nodiscard]] static bool isAlphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || isCapital(c);
  }

  std::string_view name_;
  size_t at_ = 0;
  std::array<std::array<char, kLongestName>, 2> letters_;
  size_t turn_ = 0;
};

[[nodiscard]] NameClass classifyWords(std::string_view name) {
  NameClass looks;
  Words words(name);
  std::string_view before;
  size_t count = 0;
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    looks.lastIsTokens = word == "tokens";
    looks.lastIsSecret = isSecretWord(word);
    const bool isKey = word == "key" || word == "keys";
    looks.ends = looks.lastIsSecret || (isKey && hasWord(kKeyKinds, before)) ||
                 (word == "string" && before == "connection");
    looks.secret |= looks.ends;
    looks.parameter = (word == "key" || word == "signature" || word == "sig") &&
                      (count == 0 || (count == 1 && hasWord(kParameterKinds, before)));
    ++count;
    before = word;
  }
  return looks;
}

// The same names occur often: a cache of the last ones.
class NameClassCache {
 public:
  [[nodiscard]] NameClass classifyName(std::string_view name) {
    if (name.size() > kLongest || name.empty()) return classifyWords(name);
    const auto first = static_cast<uint8_t>(name.front());
    const auto last = static_cast<uint8_t>(name.back());
    Entry& entry = entries_[(first * 31u + last * 7u + name.size()) % entries_.size()];
    if (std::string_view(entry.name.data(), entry.size) != name) {
      entry.looks = classifyWords(name);
      entry.size = static_cast<uint8_t>(name.size());
      std::copy(name.begin(), name.end(), entry.name.begin());
    }
    return entry.looks;
  }

 private:
  static constexpr size_t kLongest = 28;
  struct Entry {
    std::array<char, kLongest> name{};
    uint8_t size = 0;
    NameClass looks;
  };
  std::array<Entry, 64> entries_;
};

[[nodiscard]] bool isSecretLabel(std::string_view label) {
  const NameClass looks = classifyName(label);
  return looks.ends && !looks.lastIsTokens && label.back() != '_' && label.back() != '-';
}

bool answerCallout(unsigned number, std::string_view name) {
  return isSecretLabel(name) || (number == 2 && classifyName(name).parameter);
}

// A lookbehind has alternatives of fixed lengths: colours of each length.
[[nodiscard]] TextPattern compile(std::string_view pattern) {
  std::string all(kSubpatterns);
  all += R"((?<f>(?<=m)(?<=\x1b\[m)";
  for (int i = 1; i <= kLongestColour; ++i) all += R"(|\x1b\[[\d;:]{)" + std::to_string(i) + "}m";
  all += R"())(?<w>(?<!\w)|(?&f))(?<n>(?<![\w-])|(?&f))))";
  return TextPattern(all.append("(?|").append(pattern) + ')', answerCallout);
}

// Compiled when a text first contains any of its literals.
[[nodiscard]] const TextPattern& formPattern(size_t form) {
  static std::array<std::once_flag, kForms.size()> once;
  static std::array<std::optional<TextPattern>, kForms.size()> compiled;
  std::call_once(once[form], [form] { compiled[form] = compile(kForms[form].pattern); });
  return *compiled[form];
}
[[nodiscard]] const TextPattern& assignmentPattern() {
  static const TextPattern kPattern = [] {
    std::string all;
    for (const auto& [name, begin, sign, value] : kAssignments) {
      all.append(all.empty() ? "" : "|").append(begin).append(sign).append(value);
    }
    return compile(all);
  }();
  return kPattern;
}

constexpr size_t kNoForm = kForms.size();
constexpr size_t kRestOfKey = 0;
constexpr size_t kLineOfKey = 1;
constexpr size_t kPrivateKey = 2;

// Finds places where a form or a name of a secret may be.
struct Literals {
  std::vector<size_t> forms;  // of each literal; kNoForm: a part of a name
  Prefilter prefilter;

  Literals() : prefilter(collect(), Prefilter::Folding::Ascii) {}

 private:
  [[nodiscard]] std::vector<Prefilter::Literal> collect() {
    std::vector<Prefilter::Literal> all;
    for (size_t form = 0; form <= kNoForm; ++form) {
      std::istringstream texts(
          std::string(form == kNoForm ? kNameLiterals : kForms[form].literals));
      for (std::string text; texts >> text; forms.push_back(form)) {
        all.push_back({text, std::ranges::none_of(text, isCapital)});
      }
    }
    return all;
  }
};

// The name around a place, without the digits and the m of a colour before it.
[[nodiscard]] std::string_view nameAround(std::string_view text, size_t at) {
  const size_t least = at - std::min(at, kLongestLabel);
  const size_t most = std::min(at + kLongestLabel, text.size());
  size_t begin = at;
  while (begin > least && isNameLetter(text[begin - 1])) --begin;
  while (at < most && isNameLetter(text[at])) ++at;
  const std::string_view name = text.substr(begin, at - begin);
  const bool maybe = begin > 0 && (text[begin - 1] == '[' || text[begin - 1] == ';');
  const size_t digits = maybe ? name.find_first_not_of("0123456789") : name.size();
  return digits < name.size() && name[digits] == 'm' ? name.substr(digits + 1) : name;
}

// Finds the secrets of a text in order.
class Search {
 public:
  // `insideKey`: an earlier text has begun a private key.
  Search(std::string_view text, bool insideKey)
      : text_(text),
        form_(insideKey              ? kRestOfKey
              : mayBeLineOfKey(text) ? kLineOfKey
                                     : kNoForm) {}

  // As TextPattern::match.
  [[nodiscard]] std::optional<std::string_view> next() {
    static const Literals kLiterals;
    const auto find = [this](size_t from) { return kLiterals.prefilter.findHit(text_, from); };
    const bool again = form_ != kNoForm && (from_ == 0 || kForms[form_].repeats);
    if (again && match(formPattern(form_), from_)) return found_;
    for (auto hit = find(from_); hit.at != Prefilter::npos; hit = find(hit.at + 1)) {
      form_ = hit.literal == Prefilter::npos ? kNoForm : kLiterals.forms[hit.literal];
      if (form_ != kNoForm && match(formPattern(form_), hit.at)) return found_;
      form_ = kNoForm;
      if (hit.at >= nameEnd_ && matchAssignment(nameAround(text_, hit.at))) return found_;
    }
    return std::nullopt;
  }

  // At the end: whether the last secret is a private key without its end.
  [[nodiscard]] bool endsInKey() const {
    return (form_ == kRestOfKey || form_ == kPrivateKey) && found_ && from_ == text_.size() &&
           found_->find("-----END ") == std::string_view::npos;
  }

 private:
  [[nodiscard]] static bool mayBeLineOfKey(std::string_view text) {
    return text.size() >= 64 && text.size() < 160;
  }
  [[nodiscard]] bool match(const TextPattern& pattern, size_t at) {
    found_ = pattern.match(text_, at);
    if (found_) from_ = static_cast<size_t>(found_->data() - text_.data()) + found_->size();
    return found_.has_value();
  }

  [[nodiscard]] bool matchAssignment(std::string_view name) {
    const auto begin = static_cast<size_t>(name.data() - text_.data());
    nameEnd_ = begin + name.size();
    const NameClass looks = classifyName(name);
    const bool mayBeParameter =
        looks.parameter && nameEnd_ < text_.size() && text_[nameEnd_] != '"';
    if (begin < from_ || !(looks.ends || mayBeParameter)) return false;
    if (match(assignmentPattern(), begin)) return true;
    // Includes the start of the line or assignment before the name.
    const size_t from = std::max(from_, begin - std::min(begin, kMaxBefore));
    const size_t before = text_.substr(from, begin - from).find_last_not_of(kBulletsAndColours);
    if (before == std::string_view::npos && from > 0) return false;
    return match(assignmentPattern(), before == std::string_view::npos ? 0 : from + before);
  }

  std::string_view text_;
  size_t from_ = 0;     // the end of the last secret
  size_t nameEnd_ = 0;  // of the last examined name
  size_t form_;         // of the last secret
  std::optional<std::string_view> found_;
};

}  // namespace

bool removeSecretTexts(std::string_view text, std::string& out, bool* insideKey) {
  const bool isInKey = insideKey != nullptr && *insideKey;
  if (text.empty() || (text.size() < kShortestText && !isInKey)) {
    out.append(text);
    return false;
  }
  const size_t before = out.size();
  size_t written = 0;
  Search search(text, isInKey);
  while (const auto secret = search.next()) {
    const auto begin = static_cast<size_t>(secret->data() - text.data());
    if (begin < written) {  // the whole text
      out.resize(before);
    } else {
      out.append(text, written, begin - written);
    }
    out.append(kRemoved);
    written = begin + secret->size();
  }
  out.append(text, written);
  if (insideKey != nullptr) *insideKey = search.endsInKey();
  return written > 0;
}

NameClass classifyName(std::string_view name) {
  thread_local NameClassCache judged;
  return judged.classifyName(name);
}

bool namesSecret(std::string_view name) {
  return classifyName(name).secret;
}

}  // namespace tap::records
