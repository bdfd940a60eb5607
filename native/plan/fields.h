// Reads the fields of an object of a plan, and reports every mistake in them.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "plan/problems.h"

namespace tap::plan {

inline constexpr size_t kMaxNodeIdBytes = 64;
inline constexpr size_t kMaxNameBytes = 200;
inline constexpr size_t kMaxListItems = 100;

// The path of a value, linked from the inside out: its text is made only for a problem.
struct Path {
  const Path* parent = nullptr;
  std::string_view key;
  size_t index = 0;

  [[nodiscard]] std::string text() const {
    std::string out = parent != nullptr ? parent->text() : std::string();
    if (!key.empty()) {
      if (!out.empty()) out += '.';
      return out + std::string(key);
    }
    return parent != nullptr ? out + "[" + std::to_string(index) + "]" : out;
  }
};

// Arguments and variables of programs end at the first NUL.
[[nodiscard]] inline bool isWithoutNul(std::string_view text, const Path& path,
                                       Problems& problems) {
  if (text.find('\0') == std::string_view::npos) return true;
  problems.add(path.text(), "has a NUL character, which no program can be given");
  return false;
}

[[nodiscard]] inline std::string_view describe(json::Kind kind) {
  switch (kind) {
    case json::Kind::Object:
      return "an object";
    case json::Kind::Array:
      return "a list";
    case json::Kind::String:
      return "a text";
    case json::Kind::Number:
      return "a number";
    case json::Kind::Boolean:
      return "true or false";
    case json::Kind::Null:
      return "null";
  }
  return "";
}

// The fields of an object. A field that is not in `names` is a problem; of duplicates the last
// counts.
class Fields {
 public:
  static constexpr size_t kMaxFields = 24;

  Fields(json::Value object, const Path& path, std::span<const std::string_view> names,
         Problems& problems)
      : path_(path), names_(names), problems_(problems) {
    json::Members members(object);
    json::Member member;
    while (members.next(member)) addMember(member);
  }
  // For an object with known members: avoids a second scan of a text that may be long.
  Fields(const std::vector<json::Member>& members, const Path& path,
         std::span<const std::string_view> names, Problems& problems)
      : path_(path), names_(names), problems_(problems) {
    for (const json::Member& member : members) addMember(member);
  }

  [[nodiscard]] bool has(size_t field) const { return there_[field]; }
  // Also where it is null.
  [[nodiscard]] bool isGiven(size_t field) const { return !values_[field].raw.empty(); }
  [[nodiscard]] json::Value any(size_t field) const { return values_[field]; }
  [[nodiscard]] Path at(size_t field) const { return {&path_, names_[field]}; }
  void report(size_t field, std::string message) const {
    problems_.add(at(field).text(), std::move(message));
  }

  [[nodiscard]] std::optional<json::Value> get(size_t field, json::Kind kind) const {
    if (!there_[field]) return std::nullopt;
    if (values_[field].kind == kind) return values_[field];
    report(field, "expected " + std::string(describe(kind)) + ", got " +
                      std::string(describe(values_[field].kind)));
    return std::nullopt;
  }
  [[nodiscard]] bool require(size_t field, std::string_view meaning) const {
    if (!there_[field]) report(field, "is missing: " + std::string(meaning));
    return there_[field];
  }
  // Text of 1 to `most` bytes; empty if the field is absent or wrong.
  [[nodiscard]] std::optional<std::string> text(size_t field, size_t most) const {
    const auto value = get(field, json::Kind::String);
    if (!value) return std::nullopt;
    std::string decoded = json::decodeString(*value);
    if (!isWithoutNul(decoded, at(field))) return std::nullopt;
    if (!decoded.empty() && decoded.size() <= most) return decoded;
    report(field, decoded.empty()
                      ? "must not be empty"
                      : "is " + std::to_string(decoded.size()) + " bytes long; at most " +
                            std::to_string(most) + " are possible");
    return std::nullopt;
  }
  [[nodiscard]] bool flag(size_t field) const {
    const auto value = get(field, json::Kind::Boolean);
    return value && json::decodeBoolean(*value);
  }
  [[nodiscard]] std::optional<int64_t> whole(size_t field, int64_t least, int64_t most) const {
    const auto value = get(field, json::Kind::Number);
    if (!value) return std::nullopt;
    const auto number = json::decodeInteger(*value);
    if (number && *number >= least && *number <= most) return number;
    report(field,
           "expected a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return std::nullopt;
  }
  // Calls `take(text, path)` for each text of a list.
  template <class Take>
  void texts(size_t field, size_t most, Take&& take) const {
    const auto value = get(field, json::Kind::Array);
    if (!value) return;
    const Path list = at(field);
    json::Elements elements(*value);
    json::Value element;
    for (size_t i = 0; elements.next(element); ++i) {
      const Path here{&list, {}, i};
      if (i == most) {
        problems_.add(list.text(), "has more than " + std::to_string(most) + " entries");
        return;
      }
      if (element.kind != json::Kind::String) {
        problems_.add(here.text(), "expected a text, got " + std::string(describe(element.kind)));
        continue;
      }
      std::string decoded = json::decodeString(element);
      if (isWithoutNul(decoded, here)) take(std::move(decoded), here);
    }
  }

 private:
  [[nodiscard]] bool isWithoutNul(std::string_view decoded, const Path& path) const {
    return tap::plan::isWithoutNul(decoded, path, problems_);
  }
  void addMember(const json::Member& member) {
    const auto name = std::ranges::find_if(names_, [&member](std::string_view known) {
      return member.escaped ? json::keyEquals(member.key, known) : member.key == known;
    });
    if (name == names_.end()) return refuseUnknown(member.key);
    const auto at = static_cast<size_t>(name - names_.begin());
    there_[at] = member.value.kind != json::Kind::Null;
    values_[at] = member.value;
  }
  // Our name for a field of a different tool, or empty.
  [[nodiscard]] std::string_view translated(std::string_view key) const {
    constexpr std::array<std::array<std::string_view, 2>, 14> kForeign{{
        {"needs", "dependencies"},
        {"depends_on", "dependencies"},
        {"depends-on", "dependencies"},
        {"dependsOn", "dependencies"},
        {"after", "dependencies"},
        {"run", "work"},
        {"script", "work"},
        {"command", "work"},
        {"cmd", "work"},
        {"steps", "work"},
        {"run", "command"},
        {"script", "command"},
        {"cmd", "command"},
        {"jobs", "nodes"},
    }};
    for (const auto& [foreign, own] : kForeign) {
      if (foreign == key && std::ranges::find(names_, own) != names_.end()) return own;
    }
    return {};
  }
  void refuseUnknown(std::string_view key) const {
    std::string list;
    for (const std::string_view name : names_) {
      if (!list.empty()) list += ", ";
      list += name;
    }
    const std::string shown(key.substr(0, kMaxNodeIdBytes));
    const std::string_view own = translated(key);
    const std::string_view suggestion = own.empty() ? nearest(key, names_) : own;
    problems_.add(Path{&path_, shown}.text(),
                  "is not a field here." + didYouMean(suggestion) + " There are: " + list);
  }

  const Path& path_;
  std::span<const std::string_view> names_;
  Problems& problems_;
  std::array<json::Value, kMaxFields> values_{};
  std::array<bool, kMaxFields> there_{};
};

[[nodiscard]] constexpr bool isIdCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}
[[nodiscard]] inline bool isId(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNodeIdBytes &&
         std::ranges::all_of(text, isIdCharacter);
}
[[nodiscard]] inline bool hasControls(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

// git checks branch names itself; this only prevents that git reads a name as an option.
inline void checkRef(const Fields& fields, size_t field, const std::optional<std::string>& ref) {
  if (!ref) return;
  if (ref->front() == '-' || hasControls(*ref) ||
      ref->find_first_of(" ~^:?*[\\") != std::string::npos) {
    fields.report(field, "is not the name of a branch");
  }
}

// A name for people: a single line that is not blank.
inline void checkName(const Fields& fields, size_t field, const std::optional<std::string>& text) {
  if (text && text->find_first_not_of(' ') == std::string::npos) {
    fields.report(field, "must not be blank");
  }
  if (text && hasControls(*text))
    fields.report(field, "must be a single line without control characters");
}

inline void checkPlainText(const Fields& fields, size_t field,
                           const std::optional<std::string>& text) {
  if (text && hasControls(*text))
    fields.report(field, "must be a single line without control characters");
}

// A map of texts, such as an environment.
inline void checkEnvironment(const Fields& fields, size_t field, Problems& problems) {
  const auto value = fields.get(field, json::Kind::Object);
  if (!value) return;
  const Path path = fields.at(field);
  json::Members members(*value);
  json::Member member;
  for (size_t i = 0; members.next(member); ++i) {
    const Path here{&path, member.key.substr(0, kMaxNodeIdBytes)};
    if (i == kMaxListItems) {
      problems.add(path.text(), "has more than " + std::to_string(kMaxListItems) + " entries");
      return;
    }
    const bool isName =
        !member.key.empty() && !(member.key[0] >= '0' && member.key[0] <= '9') &&
        std::ranges::all_of(member.key, [](char c) { return isIdCharacter(c) && c != '-'; });
    if (!isName) problems.add(here.text(), "is not the name of a variable");
    if (member.value.kind != json::Kind::String) {
      problems.add(here.text(), "expected a text, got " + std::string(describe(member.value.kind)) +
                                    "; put it in quotes");
    } else {
      (void)isWithoutNul(json::decodeString(member.value), here, problems);
    }
  }
}

inline void ignore(const std::string& /*text*/, const Path& /*path*/) {}

}  // namespace tap::plan
