#include "base/json.h"

#include <cstring>

#include "base/json_text.h"

namespace tap::json {
namespace {

using text::between;

// The end of the array or object at `p`; null if the text ends before.
[[nodiscard]] const char* skipNested(const char* p, const char* end) {
  size_t depth = 0;
  do {
    if (p == end) return nullptr;
    if (*p == '"') {
      p = text::skipString(p, end);
      if (p == nullptr) return nullptr;
      continue;
    }
    if (*p == '{' || *p == '[') ++depth;
    if (*p == '}' || *p == ']') --depth;
    ++p;
  } while (depth > 0);
  return p;
}

[[nodiscard]] const char* skipScalar(const char* p, const char* end) {
  while (p != end && *p != ',' && *p != ']' && *p != '}' && !text::isBlank(*p)) ++p;
  return p;
}

[[nodiscard]] const char* skipValue(const char* p, const char* end, Kind kind) {
  switch (kind) {
    case Kind::Object:
    case Kind::Array:
      return skipNested(p, end);
    case Kind::String:
      return text::skipString(p, end);
    case Kind::Number:
    case Kind::Boolean:
    case Kind::Null:
      break;
  }
  return skipScalar(p, end);
}

void dropFront(std::string_view& rest, const char* to) {
  rest.remove_prefix(static_cast<size_t>(to - rest.data()));
}

void dropBlanks(std::string_view& rest) {
  dropFront(rest, text::skipBlanks(rest.data(), rest.data() + rest.size()));
}

// Steps to the next member or element. At the closing bracket it returns false and stays.
[[nodiscard]] bool toNext(std::string_view& rest) {
  dropBlanks(rest);
  if (rest.starts_with(',')) {
    rest.remove_prefix(1);
    dropBlanks(rest);
  }
  return rest.size() > 1;
}

// Returns false if no complete value follows, which happens in invalid text only.
[[nodiscard]] bool takeValue(std::string_view& rest, Value& value) {
  if (rest.empty()) return false;
  const char* const start = rest.data();
  const Kind kind = text::valueKind(*start);
  const char* const after = skipValue(start, start + rest.size(), kind);
  if (after == nullptr || after == start) return false;
  dropFront(rest, after);
  value = {kind, between(start, after)};
  return true;
}

// The same of a key and its colon.
[[nodiscard]] bool takeKey(std::string_view& rest, std::string_view& key) {
  if (!rest.starts_with('"')) return false;
  const char* const start = rest.data();
  const char* const after = text::skipString(start, start + rest.size());
  if (after == nullptr) return false;
  dropFront(rest, after);
  dropBlanks(rest);
  if (!rest.starts_with(':')) return false;
  rest.remove_prefix(1);
  dropBlanks(rest);
  key = between(start + 1, after - 1);
  return true;
}

// The text after the opening bracket; empty if the value is of a different kind.
[[nodiscard]] std::string_view inside(Value value, Kind wanted, char bracket) {
  const bool right = value.kind == wanted && value.raw.starts_with(bracket);
  return right ? value.raw.substr(1) : std::string_view();
}

void addUnless(std::string_view name, const Member& member, std::string& out) {
  if (keyEquals(member.key, name)) return;
  if (out.size() > 1) out += ',';
  out += '"';
  out += member.key;
  out += "\":";
  out += member.value.raw;
}

}  // namespace

Members::Members(Value object) : rest_(inside(object, Kind::Object, '{')) {}

bool Members::next(Member& member) {
  const bool found = toNext(rest_) && takeKey(rest_, member.key) && takeValue(rest_, member.value);
  if (!found) rest_ = {};
  return found;
}

Elements::Elements(Value array) : rest_(inside(array, Kind::Array, '[')) {}

bool Elements::next(Value& element) {
  const bool found = toNext(rest_) && takeValue(rest_, element);
  if (!found) rest_ = {};
  return found;
}

bool Strings::next(Value& string) {
  const char* const end = rest_.data() + rest_.size();
  const char* p = rest_.data();
  while ((p = static_cast<const char*>(std::memchr(p, '"', static_cast<size_t>(end - p))))) {
    const char* const start = p;
    p = text::skipString(start, end);
    if (p == nullptr) break;
    if (text::skipBlanks(p, end) != end && *text::skipBlanks(p, end) == ':') continue;
    string = {Kind::String, between(start, p)};
    rest_ = between(p, end);
    return true;
  }
  rest_ = {};
  return false;
}

Value viewValue(std::string_view text) {
  return {text.empty() ? Kind::Null : text::valueKind(text.front()), text};
}

std::optional<Value> find(Value object, std::string_view key) {
  std::optional<Value> found;
  Members members(object);
  for (Member member; members.next(member);) {
    if (keyEquals(member.key, key)) found = member.value;
  }
  return found;
}

std::string openWithout(Value object, std::string_view name) {
  std::string out = "{";
  Members members(object);
  for (Member member; members.next(member);) addUnless(name, member, out);
  return out;
}

std::string openWithout(const std::vector<Member>& members, std::string_view name) {
  std::string out = "{";
  for (const Member& member : members) addUnless(name, member, out);
  return out;
}

}  // namespace tap::json
