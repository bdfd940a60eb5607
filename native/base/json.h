// JSON as JSON.parse reads it, with a limit on depth (docs/decisions.md D-9), without a tree: a
// single pass validates the text, and values are views into it.
//
// The text must already be valid UTF-8 (base/utf8.h); the scanner checks bytes only. A byte order
// mark is refused, as in JSON.parse.
//
// All other functions here require text that a Scanner has validated. For other bytes they
// terminate and do not read outside the text, but their results are meaningless.
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

// A value inside validated text. `raw` is its exact text, with quotes or brackets. Valid as long as
// the scanned text.
struct Value {
  Kind kind = Kind::Null;
  std::string_view raw;
};

// A member of an object. `key` is the text between the quotes, with its escapes.
struct Member {
  std::string_view key;
  Value value;
  bool escaped = false;  // the key has escapes
};

struct SyntaxError {
  size_t offset = 0;        // in bytes from the start of the text
  const char* reason = "";  // the mistake, in words for people; static storage
  bool tooDeep = false;
};

// The maximum depth of a message.
inline constexpr int kMaxDepth = 128;
// The maximum depth of a message that contains parts of others (a tool's definition, a result), so
// that the parts of each valid message can be passed on.
inline constexpr int kMaxEnvelopeDepth = kMaxDepth + 16;

// Reads texts, and keeps its memory between them.
class Scanner {
 public:
  // Validates the whole text. Returns the root value; if it is an object, members() and find() read
  // its members until the next scan. `maxDepth` is at most kMaxEnvelopeDepth.
  [[nodiscard]] Result<Value, SyntaxError> scan(std::string_view text, int maxDepth = kMaxDepth);

  // The root object's members in the order of the text; empty if the root is not an object.
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }

  // The root member of that name; keys are compared after unescaping, and the last of equal keys
  // wins (as in JSON.parse).
  [[nodiscard]] std::optional<Value> find(std::string_view key) const;

  // Whether a string has half of a surrogate pair, which UTF-8 cannot represent.
  [[nodiscard]] bool hasLoneSurrogate() const { return hasLoneSurrogate_; }
  // The depth of the text: 0 if it is neither an object nor an array.
  [[nodiscard]] int depth() const { return depth_; }

 private:
  std::vector<Member> members_;
  int depth_ = 0;
  bool hasLoneSurrogate_ = false;
};

// Iterates over the members of an object; empty if the value is not an object.
class Members {
 public:
  explicit Members(Value object);
  [[nodiscard]] bool next(Member& member);

 private:
  std::string_view rest_;
};

// Iterates over the elements of an array; empty if the value is not an array.
class Elements {
 public:
  explicit Elements(Value array);
  [[nodiscard]] bool next(Value& element);

 private:
  std::string_view rest_;
};

// Iterates over the strings of a text, at any depth and in its order, except keys.
class Strings {
 public:
  explicit Strings(std::string_view text) : rest_(text) {}
  [[nodiscard]] bool next(Value& string);

 private:
  std::string_view rest_;
};

// The value at the start of a text.
[[nodiscard]] Value viewValue(std::string_view text);

// The member of that name in an object; same rules as Scanner::find.
[[nodiscard]] std::optional<Value> find(Value object, std::string_view key);

// The text of an object without the members of that name, and without its closing brace: members
// can be appended.
[[nodiscard]] std::string openWithout(Value object, std::string_view name);
// The same, from known members.
[[nodiscard]] std::string openWithout(const std::vector<Member>& members, std::string_view name);

// True if the raw key (text between quotes) means `name` once its escapes are resolved.
[[nodiscard]] bool keyEquals(std::string_view rawKey, std::string_view name);

// The text of a String value without escapes; empty if it has escapes.
[[nodiscard]] std::optional<std::string_view> plainText(Value string);
// The text of a String value, as UTF-8. A lone surrogate escape becomes U+FFFD.
[[nodiscard]] std::string decodeString(Value string);
// The same as UTF-16 code units; lone surrogates are kept, as in JavaScript.
[[nodiscard]] std::u16string decodeString16(Value string);

// Validated text with U+FFFD for each lone surrogate escape; its length is unchanged.
[[nodiscard]] std::string replaceLoneSurrogates(std::string_view text);

// A String value, decoded up to its first non-ASCII character (ASCII is its Latin-1 form, too).
struct AsciiText {
  std::string_view front;
  std::string_view rest;  // of the raw text, from its first non-ASCII character; may be empty
};
// Decodes to `out`, which has room for string.raw.size() bytes, or points to that text itself.
[[nodiscard]] AsciiText decodeAscii(Value string, char* out);
// The whole text of which decodeAscii() has decoded the start.
[[nodiscard]] std::u16string decodeString16(const AsciiText& begun);

// The number's double value (overflow gives infinity, as in JavaScript).
[[nodiscard]] double decodeNumber(Value number);
// The number if it is an integer within ±(2^53 − 1).
[[nodiscard]] std::optional<int64_t> decodeInteger(Value number);
[[nodiscard]] inline bool decodeBoolean(Value boolean) {
  return boolean.raw == "true";
}

}  // namespace tap::json
