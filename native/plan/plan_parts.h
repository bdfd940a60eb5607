// Shared by the source files of a plan's state only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "plan/problems.h"

namespace tap::plan {

[[nodiscard]] inline json::Value asObject(std::string_view text) {
  return {json::Kind::Object, text};
}

[[nodiscard]] inline std::optional<json::Value> member(std::string_view object,
                                                       std::string_view key, json::Kind kind) {
  if (object.empty()) return std::nullopt;
  const auto value = json::find(asObject(object), key);
  return value && value->kind == kind ? value : std::nullopt;
}

[[nodiscard]] inline std::string textMember(std::string_view object, std::string_view key) {
  const auto value = member(object, key, json::Kind::String);
  return value ? json::decodeString(*value) : std::string();
}

// Whether `other` has a value for each key of `object`.
[[nodiscard]] inline bool isCoveredBy(std::string_view object, std::string_view other) {
  json::Members members(asObject(object));
  for (json::Member found; members.next(found);) {
    if (found.escaped || !json::find(asObject(other), found.key)) return false;
  }
  return true;
}

[[nodiscard]] inline std::string firstProblem(const Problems& problems) {
  const Problem& first = problems.list().front();
  return first.path + ": " + first.message;
}

}  // namespace tap::plan
