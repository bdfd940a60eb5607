#include "base/json.h"

#include "base/json_text.h"

namespace tap::json {
namespace {

using text::between;

[[nodiscard]] const char* skipNested(const char* p, const char* end) {
  int depth = 0;
  do {
    if (*p == '"') {
      p = text::skipString(p, end);
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

// Steps to the next member or element. False at the closing bracket, and it stays there.
[[nodiscard]] bool toNext(std::string_view& rest) {
  dropBlanks(rest);
  if (rest.starts_with(',')) {
    rest.remove_prefix(1);
    dropBlanks(rest);
  }
  return rest.size() > 1;
}

[[nodiscard]] Value takeValue(std::string_view& rest) {
  const char* const start = rest.data();
  const Kind kind = text::kindOf(*start);
  dropFront(rest, skipValue(start, start + rest.size(), kind));
  return {kind, between(start, rest.data())};
}

[[nodiscard]] std::string_view takeKey(std::string_view& rest) {
  const char* const start = rest.data();
  const char* const after = text::skipString(start, start + rest.size());
  dropFront(rest, after);
  dropBlanks(rest);
  rest.remove_prefix(1);  // the colon
  dropBlanks(rest);
  return between(start + 1, after - 1);
}

[[nodiscard]] std::string_view inside(Value value, Kind wanted) {
  return value.kind == wanted ? value.raw.substr(1) : std::string_view();
}

}  // namespace

Members::Members(Value object) : rest_(inside(object, Kind::Object)) {}

bool Members::next(Member& member) {
  if (!toNext(rest_)) return false;
  member.key = takeKey(rest_);
  member.value = takeValue(rest_);
  return true;
}

Elements::Elements(Value array) : rest_(inside(array, Kind::Array)) {}

bool Elements::next(Value& element) {
  if (!toNext(rest_)) return false;
  element = takeValue(rest_);
  return true;
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
  for (Member member; members.next(member);) {
    if (keyEquals(member.key, name)) continue;
    if (out.size() > 1) out += ',';
    out += '"';
    out += member.key;
    out += "\":";
    out += member.value.raw;
  }
  return out;
}

}  // namespace tap::json
