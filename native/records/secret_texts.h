// What a secret looks like in a text. With secret_names.h the one place that says so, for records
// and for `copilot-tap trace`. It is a net, not a proof: docs/tracing.md says what it catches.
#pragma once

#include <string>
#include <string_view>

namespace tap::records {

// Stands where a secret was.
inline constexpr std::string_view kRemoved = "<removed>";

// Appends the text without secrets. Returns: whether there was one. Takes time in proportion to the
// text, whatever it is.
bool removeSecretTexts(std::string_view text, std::string& out);

}  // namespace tap::records
