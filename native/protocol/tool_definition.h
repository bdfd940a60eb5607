// Checks one declared tool against what the CLI and the model APIs behind it accept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/limits.h"
#include "protocol/field_reader.h"
#include "protocol/provider/provider_messages.h"

namespace tap::protocol {

// [a-zA-Z0-9_-]{1,64}: one name outside of it would make the CLI refuse the whole join.
[[nodiscard]] bool isToolName(std::string_view name);

// Reads an array of tools at `path` (as in "hello.tools"). Problems go to `problem`; a name that
// stands twice in the list is one.
[[nodiscard]] std::vector<ToolDefinition> readTools(json::Value array, std::string_view path,
                                                    const Limits& limits, Problem& problem);

// The definition with a description that begins with whose words it is: a paired provider's.
[[nodiscard]] std::string withAuthor(const ToolDefinition& tool, std::string_view provider);

}  // namespace tap::protocol
