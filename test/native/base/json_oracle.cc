// Results of the scanner, for test/js/lib/json.differential.test.mjs to compare with
// JSON.parse.
//
// stdin:  texts, each as its size (4 bytes, little endian) and its bytes.
// stdout: a line each: "0" and the reason if a text is refused; "1" and its canonical form if
//         it is accepted. All of it is ASCII or valid UTF-8 without line feeds.
//
// The canonical form shows every value in all the ways in which the core can read it:
//   null, true, false   z t f
//   number              n, the double's 16 hex digits; for a safe integer also i and its digits
//   string              s, its UTF-16 units as 4 hex digits each, a if it is ASCII only, and
//                       decodeString's text as the writer writes it
//   array               [ elements ]
//   object              { members } in the order of their keys' UTF-16 units, each key as a string
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/utf8.h"

namespace {

using namespace tap;  // NOLINT(google-build-using-namespace)
using json::Kind;
using json::Value;

void check(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "json_oracle: " << what << '\n';
  std::abort();
}

void appendHex(std::string& out, uint64_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out += "0123456789abcdef"[value >> shift & 0xF];
  }
}

void appendNumber(std::string& out, Value number) {
  out += 'n';
  appendHex(out, std::bit_cast<uint64_t>(json::decodeNumber(number)), 16);
  if (const auto integer = json::decodeInteger(number)) out += 'i' + std::to_string(*integer);
}

void appendString(std::string& out, Value string) {
  out += 's';
  std::string room(string.raw);
  const json::AsciiText begun = json::decodeAscii({Kind::String, room}, room.data());
  for (const char16_t unit : json::decodeString16(begun)) appendHex(out, unit, 4);
  if (begun.rest.empty()) out += 'a';
  json::appendQuoted(out, json::decodeString(string));
}

void appendValue(std::string& out, Value value);

void appendArray(std::string& out, Value array) {
  out += '[';
  json::Elements elements(array);
  for (Value element; elements.next(element);) appendValue(out, element);
  out += ']';
}

[[nodiscard]] bool hasLoneSurrogate(std::u16string_view units) {
  for (size_t at = 0; at < units.size(); ++at) {
    const bool pair = (units[at] & 0xFC00) == 0xD800 && at + 1 < units.size() &&
                      (units[at + 1] & 0xFC00) == 0xDC00;
    if (pair) ++at;
    if (!pair && (units[at] & 0xF800) == 0xD800) return true;
  }
  return false;
}

struct Entry {
  Value key;
  Value value;
};
using Entries = std::map<std::u16string, Entry>;

// A key's text with its quotes, for decodeString.
[[nodiscard]] Value decodeKey(const json::Member& member) {
  return {Kind::String, {member.key.data() - 1, member.key.size() + 2}};
}

[[nodiscard]] Entries listEntries(Value object) {
  Entries entries;
  json::Members members(object);
  for (json::Member member; members.next(member);) {
    const Value key = decodeKey(member);
    entries[json::decodeString16(key)] = {key, member.value};
  }
  return entries;
}

[[nodiscard]] bool isThis(const std::optional<Value>& found, Value expected) {
  return found && found->raw.data() == expected.raw.data() && found->raw == expected.raw &&
         found->kind == expected.kind;
}

void appendObject(std::string& out, Value object) {
  out += '{';
  for (const auto& [units, entry] : listEntries(object)) {
    const std::string name = json::decodeString(entry.key);
    if (!hasLoneSurrogate(units)) {
      check(isThis(json::find(object, name), entry.value), "find() misses a member");
    }
    appendString(out, entry.key);
    appendValue(out, entry.value);
  }
  out += '}';
}

void appendValue(std::string& out, Value value) {
  switch (value.kind) {
    case Kind::Object:
      return appendObject(out, value);
    case Kind::Array:
      return appendArray(out, value);
    case Kind::String:
      return appendString(out, value);
    case Kind::Number:
      return appendNumber(out, value);
    case Kind::Boolean:
      out += json::decodeBoolean(value) ? 't' : 'f';
      return;
    case Kind::Null:
      out += 'z';
      return;
  }
}

// The members that the scanner noted in its pass and those that are walked later must be the same.
void checkMembers(const json::Scanner& scanner, Value root) {
  auto noted = scanner.members().begin();
  json::Members members(root);
  for (json::Member member; members.next(member); ++noted) {
    check(noted != scanner.members().end(), "the scanner noted too few members");
    check(noted->key.data() == member.key.data() && noted->key == member.key, "keys differ");
    check(isThis(noted->value, member.value), "members differ");
  }
  check(noted == scanner.members().end(), "the scanner noted too many members");
  for (const auto& [units, entry] : listEntries(root)) {
    if (hasLoneSurrogate(units)) continue;
    check(isThis(scanner.find(json::decodeString(entry.key)), entry.value), "Scanner::find misses");
  }
}

[[nodiscard]] std::string answer(json::Scanner& scanner, std::string_view text) {
  if (!utf8::isValid(text)) return "0not UTF-8";
  const auto result = scanner.scan(text);
  if (!result.ok()) {
    check(result.error().offset <= text.size(), "an error lies outside the text");
    return std::string("0") + result.error().reason;
  }
  checkMembers(scanner, result.value());
  std::string out = "1";
  appendValue(out, result.value());
  return out;
}

[[nodiscard]] size_t sizeAt(std::string_view input, size_t at) {
  size_t size = 0;
  for (size_t i = 4; i-- > 0;) size = size << 8 | static_cast<uint8_t>(input[at + i]);
  return size;
}

}  // namespace

int main() {
  const std::string input{std::istreambuf_iterator<char>(std::cin), {}};
  tap::json::Scanner scanner;
  for (size_t at = 0; at + 4 <= input.size();) {
    const size_t size = sizeAt(input, at);
    // Memory of exactly its size: a sanitizer then catches a look behind the end.
    const auto text = std::make_unique<char[]>(size);
    const size_t taken = std::string_view(input).substr(at + 4).copy(text.get(), size);
    std::cout << answer(scanner, {text.get(), taken}) << '\n';
    at += 4 + size;
  }
  return 0;
}
