// The names under which secrets stand: apiKey, DB_PASSWORD, and the like. With secret_texts.h the
// one place that says so.
#pragma once

#include <string_view>

namespace tap::records {

struct NameClass {
  bool secret = false;        // one of its words tells of a secret
  bool ends = false;          // the last one does, or the last two together
  bool lastIsSecret = false;  // the last one alone does
  bool lastIsTokens = false;  // which may be a number of them
};

[[nodiscard]] NameClass classifyName(std::string_view name);

// Whether something of that name is a secret.
[[nodiscard]] bool namesSecret(std::string_view name);

}  // namespace tap::records
