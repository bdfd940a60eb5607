// The names of tap's own features: a feature of the feature host has a provider of its own, whose
// name is made from the feature's id.
#pragma once

#include <string_view>

namespace tap::gateway {

inline constexpr std::string_view kOwnNames = "tap-";     // how the names of their providers begin
inline constexpr std::string_view kBuiltin = "builtin:";  // how their ids do

// The source of the records of a provider: a feature's id is in two parts.
struct SourceName {
  std::string_view runtime;
  std::string_view name;
};

// REQUIRES: nobody but tap's own features has a name that begins with kOwnNames (hello_checks.cc).
inline SourceName toSourceName(std::string_view provider) {
  if (!provider.starts_with(kOwnNames)) return {"", provider};
  return {kBuiltin, provider.substr(kOwnNames.size())};
}

}  // namespace tap::gateway
