#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/json_text.h"

namespace tap::json {
namespace {

// The tokens that are allowed at the next place that is not blank.
enum class Next : uint8_t {
  Value,         // at the root, or after a colon
  FirstElement,  // after '[': a value or ']'
  Element,       // after a comma in an array
  FirstKey,      // after '{': a key or '}'
  Key,           // after a comma in an object
  Separator,     // after a value in an object or array: a comma or the closing bracket
  TextEnd,       // after the root value
  Done,
  Failed,
};

// A single pass over a text (RFC 8259). Open objects and arrays are kept in an array, not on the
// call stack, so that no text can overflow the stack.
class Pass {
 public:
  Pass(std::string_view text, size_t maxDepth, std::vector<Member>& members)
      : begin_(text.data()),
        end_(begin_ + text.size()),
        p_(begin_),
        maxDepth_(std::min(maxDepth, closers_.size())),
        members_(members) {}

  [[nodiscard]] bool run();
  [[nodiscard]] Value root() const { return root_; }
  [[nodiscard]] SyntaxError error() const {
    return {static_cast<size_t>(p_ - begin_), reason_, tooDeep_};
  }
  [[nodiscard]] bool hasLoneSurrogate() const { return loneSurrogate_; }
  [[nodiscard]] int deepest() const { return static_cast<int>(deepest_); }

 private:
  [[nodiscard]] Next step(Next next);
  [[nodiscard]] Next readValue();
  [[nodiscard]] Next readKey();
  [[nodiscard]] Next readSeparator();
  [[nodiscard]] Next readTextEnd();
  [[nodiscard]] Next open(char closer);
  [[nodiscard]] Next close();
  [[nodiscard]] Next valueEnded();
  [[nodiscard]] Next notAValue();

  [[nodiscard]] bool readString();
  [[nodiscard]] bool readEscapedString();
  [[nodiscard]] bool readEscape();
  [[nodiscard]] [[gnu::noinline]] bool readUnicode();  // kept out of the loop of other escapes
  [[nodiscard]] bool readNumber();
  [[nodiscard]] bool readInteger();
  [[nodiscard]] bool readDigits(const char* otherwise);
  [[nodiscard]] bool readLiteral(std::string_view literal);

  [[nodiscard]] bool at(char c) const { return p_ != end_ && *p_ == c; }
  [[nodiscard]] bool atDigit() const { return p_ != end_ && text::isDigit(*p_); }
  [[nodiscard]] bool inObject() const { return closers_[depth_ - 1] == '}'; }

  [[nodiscard]] bool refuse(const char* reason) {
    reason_ = reason;
    return false;
  }
  [[nodiscard]] Next fail(const char* reason) {
    reason_ = reason;
    return Next::Failed;
  }

  const char* const begin_;
  const char* const end_;
  const char* p_;
  const char* reason_ = "";
  std::array<char, kMaxEnvelopeDepth> closers_;  // the bracket that closes each level
  const size_t maxDepth_;
  size_t depth_ = 0;
  size_t deepest_ = 0;
  bool tooDeep_ = false;
  Value root_;
  const char* rootStart_ = nullptr;
  std::string_view memberKey_;  // of the root's current member
  bool keyEscaped_ = false;
  bool escapes_ = false;               // in the last string
  const char* memberStart_ = nullptr;  // of its value
  const char* lowExpected_ = nullptr;  // the place where the second half of a pair must follow
  bool loneSurrogate_ = false;
  std::vector<Member>& members_;
};

bool Pass::run() {
  Next next = Next::Value;
  while (next != Next::Done && next != Next::Failed) {
    p_ = text::skipBlanks(p_, end_);
    next = step(next);
  }
  return next == Next::Done;
}

Next Pass::step(Next next) {
  switch (next) {
    case Next::Value:
      return readValue();
    case Next::FirstElement:
      return at(']') ? close() : readValue();
    case Next::Element:
      return at(']') ? fail("a comma must not stand before ']'") : readValue();
    case Next::FirstKey:
      return at('}') ? close() : readKey();
    case Next::Key:
      return at('}') ? fail("a comma must not stand before '}'") : readKey();
    case Next::Separator:
      return readSeparator();
    case Next::TextEnd:
      return readTextEnd();
    case Next::Done:
    case Next::Failed:
      break;
  }
  return next;
}

Next Pass::readValue() {
  if (p_ == end_) return fail("the text ends where a value is expected");
  if (depth_ == 0) rootStart_ = p_;
  if (depth_ == 1) memberStart_ = p_;
  switch (*p_) {
    case '{':
      return open('}');
    case '[':
      return open(']');
    case '"':
      return readString() ? valueEnded() : Next::Failed;
    case 't':
      return readLiteral("true") ? valueEnded() : Next::Failed;
    case 'f':
      return readLiteral("false") ? valueEnded() : Next::Failed;
    case 'n':
      return readLiteral("null") ? valueEnded() : Next::Failed;
    default:
      if (*p_ != '-' && !text::isDigit(*p_)) return notAValue();
      return readNumber() ? valueEnded() : Next::Failed;
  }
}

Next Pass::notAValue() {
  if (p_ == begin_ && *p_ == '\xEF') return fail("a byte order mark is not allowed");
  if (*p_ == '\'') return fail("strings take double quotes");
  return fail("a value is expected here");
}

Next Pass::readKey() {
  if (p_ == end_) return fail("the text ends inside an object");
  if (*p_ != '"') return fail("a key in double quotes is expected here");
  const char* const start = p_;
  if (!readString()) return Next::Failed;
  if (depth_ == 1) {
    memberKey_ = text::between(start + 1, p_ - 1);
    keyEscaped_ = escapes_;
  }
  p_ = text::skipBlanks(p_, end_);
  if (!at(':')) return fail("a colon is expected after the key");
  ++p_;
  return Next::Value;
}

Next Pass::readSeparator() {
  if (p_ == end_) {
    return fail(inObject() ? "the text ends inside an object" : "the text ends inside an array");
  }
  if (*p_ == closers_[depth_ - 1]) return close();
  if (*p_ != ',') return fail(inObject() ? "',' or '}' is expected" : "',' or ']' is expected");
  ++p_;
  return inObject() ? Next::Key : Next::Element;
}

Next Pass::readTextEnd() {
  return p_ == end_ ? Next::Done : fail("something follows the value");
}

Next Pass::open(char closer) {
  if (depth_ == maxDepth_) {
    tooDeep_ = true;
    return fail(maxDepth_ == kMaxDepth ? "nested more than 128 levels deep" : "nested too deep");
  }
  closers_[depth_++] = closer;
  deepest_ = std::max(deepest_, depth_);
  ++p_;
  return closer == '}' ? Next::FirstKey : Next::FirstElement;
}

Next Pass::close() {
  ++p_;
  --depth_;
  return valueEnded();
}

Next Pass::valueEnded() {
  if (depth_ == 0) {
    root_ = {text::valueKind(*rootStart_), text::between(rootStart_, p_)};
    return Next::TextEnd;
  }
  if (depth_ == 1 && inObject()) {
    members_.push_back({memberKey_,
                        {text::valueKind(*memberStart_), text::between(memberStart_, p_)},
                        keyEscaped_});
  }
  return Next::Separator;
}

bool Pass::readString() {
  ++p_;
  escapes_ = false;
  p_ = text::skipPlain(p_, end_);
  if (p_ == end_ || *p_ != '"') return readEscapedString();
  ++p_;
  return true;
}

// The rest of a string after its first byte that is not plain.
bool Pass::readEscapedString() {
#if defined(__SSE2__)
  while (end_ - p_ >= text::kWideBlock) {
    const char* const block = p_;
    uint64_t special =
        text::bitsOfWideBlock(block, [](__m128i bytes) { return text::special(bytes); });
    const char* const behind = block + text::kWideBlock;
    while (special != 0) {
      const int at = std::countr_zero(special);
      p_ = block + at;
      if (*p_ == '"') {
        ++p_;
        return true;
      }
      if (*p_ != '\\') return refuse("a control character in a string must be escaped");
      if (!readEscape()) return false;
      special = text::withoutEscape(special, at);
    }
    p_ = std::max(p_, behind);
  }
#endif
  for (;;) {
    p_ = text::skipPlain(p_, end_);
    if (p_ == end_) return refuse("the text ends inside a string");
    if (*p_ == '"') break;
    if (*p_ != '\\') return refuse("a control character in a string must be escaped");
    if (!readEscape()) return false;
  }
  ++p_;
  return true;
}

[[nodiscard]] bool isHexDigit(char c) {
  return text::isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// The characters that are allowed after a backslash.
constexpr std::array<bool, 256> kEscapes = [] {
  std::array<bool, 256> escapes{};
  for (const char letter : {'"', '\\', '/', 'b', 'f', 'n', 'r', 't', 'u'}) {
    escapes[static_cast<uint8_t>(letter)] = true;
  }
  return escapes;
}();

bool Pass::readEscape() {
  ++p_;
  escapes_ = true;
  if (p_ == end_) return refuse("the text ends inside a string");
  const char letter = *p_;
  if (!kEscapes[static_cast<uint8_t>(letter)]) return refuse("no such escape in JSON");
  ++p_;
  return letter != 'u' || readUnicode();
}

bool Pass::readUnicode() {
  for (int digits = 0; digits < 4; ++digits, ++p_) {
    if (p_ == end_ || !isHexDigit(*p_)) return refuse("\\u takes four hexadecimal digits");
  }
  const char* const digits = p_ - 4;
  // A high surrogate begins a pair; a low surrogate, from DC00, ends it.
  if ((digits[0] | 0x20) != 'd' || digits[1] < '8') return true;
  if ((digits[1] | 0x20) >= 'c') {
    loneSurrogate_ = loneSurrogate_ || lowExpected_ != digits - 2;
    return true;
  }
  const bool isPaired = end_ - p_ >= 6 && p_[0] == '\\' && p_[1] == 'u' && (p_[2] | 0x20) == 'd' &&
                        (p_[3] | 0x20) >= 'c' && isHexDigit(p_[3]);
  lowExpected_ = isPaired ? p_ : nullptr;
  loneSurrogate_ = loneSurrogate_ || !isPaired;
  return true;
}

bool Pass::readNumber() {
  if (*p_ == '-') ++p_;
  if (!readInteger()) return false;
  if (at('.')) {
    ++p_;
    if (!readDigits("a digit is expected after the decimal point")) return false;
  }
  if (!at('e') && !at('E')) return true;
  ++p_;
  if (at('+') || at('-')) ++p_;
  return readDigits("a digit is expected in the exponent");
}

bool Pass::readInteger() {
  if (!at('0')) return readDigits("a digit is expected after the minus sign");
  ++p_;
  return atDigit() ? refuse("a number must not begin with a needless zero") : true;
}

bool Pass::readDigits(const char* otherwise) {
  if (!atDigit()) return refuse(otherwise);
  while (atDigit()) ++p_;
  return true;
}

bool Pass::readLiteral(std::string_view literal) {
  if (!text::between(p_, end_).starts_with(literal)) {
    return refuse("only true, false and null are words of JSON");
  }
  p_ += literal.size();
  return true;
}

// A text can have a member every five bytes. Memory for that many is freed.
constexpr size_t kKeptMembers = 4096;

}  // namespace

Result<Value, SyntaxError> Scanner::scan(std::string_view text, int maxDepth) {
  members_.clear();
  depth_ = 0;
  hasLoneSurrogate_ = false;
  if (members_.capacity() > kKeptMembers) members_ = std::vector<Member>();
  Pass pass(text, static_cast<size_t>(maxDepth), members_);
  if (pass.run()) {
    depth_ = pass.deepest();
    hasLoneSurrogate_ = pass.hasLoneSurrogate();
    return pass.root();
  }
  members_.clear();
  return pass.error();
}

std::optional<Value> Scanner::find(std::string_view key) const {
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    const bool same = member->escaped ? keyEquals(member->key, key) : member->key == key;
    if (same) return member->value;
  }
  return std::nullopt;
}

}  // namespace tap::json
