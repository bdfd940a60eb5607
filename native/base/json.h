// JSON as JSON.parse reads it, with a limit on depth (docs/decisions.md D-9), without
// building a tree: one pass validates the text, values are then views into it.
//
// The text must already be valid UTF-8 (base/utf8.h); the scanner looks at bytes only. A byte order
// mark is refused, as JSON.parse does.
//
// Everything else here is made for text that a Scanner has validated. Given any other bytes it does
// not read outside them and terminates, but its result is meaningless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tap::json {

enum class Kind : uint8_t { Object, Array, String, Number, Boolean, Null };

// A value inside validated text. `raw` is exactly its text: quotes, brackets and all. It lives as
// long as the text that was scanned.
struct Value {
  Kind kind = Kind::Null;
  std::string_view raw;
};

// One member of an object. `key` is the text between the quotes, escapes not resolved.
struct Member {
  std::string_view key;
  Value value;
  bool escaped = false;  // the key has escapes
};

struct SyntaxError {
  size_t offset = 0;        // in bytes from the start of the text
  const char* reason = "";  // what was wrong, in words for people; static storage
  bool tooDeep = false;
};

// How deep a message may be nested.
inline constexpr int kMaxDepth = 128;
// A message that holds parts of others (a tool's definition, a result) may be this deep, so that
// whatever came in with one message can be passed on within another.
inline constexpr int kMaxEnvelopeDepth = kMaxDepth + 16;

// Reads one text after another, and keeps its memory between them.
class Scanner {
 public:
  // Validates the whole text. On success the root value is returned, and if it is an object its
  // members can be asked for until the next scan.
  // `maxDepth` is at most kMaxEnvelopeDepth.
  [[nodiscard]] Result<Value, SyntaxError> scan(std::string_view text, int maxDepth = kMaxDepth);

  // The root object's members in the order of the text. Empty where the root is no object.
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }

  // The root member of that name; keys are compared after unescaping, the last of two equal keys
  // wins (as JSON.parse does).
  [[nodiscard]] std::optional<Value> find(std::string_view key) const;

  // Whether a string has half of a surrogate pair, which no UTF-8 can carry.
  [[nodiscard]] bool hasLoneSurrogate() const { return hasLoneSurrogate_; }
  // How deep the text is nested: 0 where it is neither an object nor an array.
  [[nodiscard]] int depth() const { return depth_; }

 private:
  std::vector<Member> members_;
  int depth_ = 0;
  bool hasLoneSurrogate_ = false;
};

// Walks the members of an object. None where the value is no object.
class Members {
 public:
  explicit Members(Value object);
  [[nodiscard]] bool next(Member& member);

 private:
  std::string_view rest_;
};

// Walks the elements of an array. None where the value is no array.
class Elements {
 public:
  explicit Elements(Value array);
  [[nodiscard]] bool next(Value& element);

 private:
  std::string_view rest_;
};

// Walks the strings of a text, at any depth and in its order, but for keys.
class Strings {
 public:
  explicit Strings(std::string_view text) : rest_(text) {}
  [[nodiscard]] bool next(Value& string);

 private:
  std::string_view rest_;
};

// The value that a text begins with.
[[nodiscard]] Value viewValue(std::string_view text);

// The member of that name in an object; same rules as Scanner::find.
[[nodiscard]] std::optional<Value> find(Value object, std::string_view key);

// The text of an object without its members of that name, and without its closing brace:
// others can be added.
[[nodiscard]] std::string openWithout(Value object, std::string_view name);
// The same of members that are known.
[[nodiscard]] std::string openWithout(const std::vector<Member>& members, std::string_view name);

// True if the raw key (text between quotes) means `name` once its escapes are resolved.
[[nodiscard]] bool keyEquals(std::string_view rawKey, std::string_view name);

// The text a String value stands for, where it stands there as it is, without an escape.
[[nodiscard]] std::optional<std::string_view> plainText(Value string);
// The text a String value stands for, as UTF-8. A lone surrogate escape becomes U+FFFD.
[[nodiscard]] std::string decodeString(Value string);
// The same as UTF-16 code units; lone surrogates stay what they are, as in JavaScript.
[[nodiscard]] std::u16string decodeString16(Value string);

// Validated text with U+FFFD for each lone surrogate escape; it stays as long as it was.
[[nodiscard]] std::string replaceLoneSurrogates(std::string_view text);

// A String value, decoded as far as it is ASCII only (which then is its Latin-1 form, too).
struct AsciiText {
  std::string_view front;
  std::string_view rest;  // of the raw text, from its first non-ASCII character; may be empty
};
// Decodes to `out`, which has room for string.raw.size() bytes, or is where these stand.
[[nodiscard]] AsciiText decodeAscii(Value string, char* out);
// All of what decodeAscii has begun.
[[nodiscard]] std::u16string decodeString16(const AsciiText& begun);

// The number's double value (overflow gives infinity, as in JavaScript).
[[nodiscard]] double decodeNumber(Value number);
// The number as an integer if it is one and lies within ±(2^53 − 1).
[[nodiscard]] std::optional<int64_t> decodeInteger(Value number);
[[nodiscard]] inline bool decodeBoolean(Value boolean) {
  return boolean.raw == "true";
}

}  // namespace tap::json
