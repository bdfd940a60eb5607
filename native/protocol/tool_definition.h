// Checks a declared tool against the rules of the CLI and of the model APIs behind it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/limits.h"
#include "protocol/field_reader.h"
#include "protocol/provider/provider_messages.h"

namespace tap::protocol {

// [a-zA-Z0-9_-]{1,64}: with any other name the CLI would refuse the whole join.
[[nodiscard]] bool isToolName(std::string_view name);

// Reads an array of tools at `path` (as in "hello.tools"). Problems are reported to `problem`; a
// duplicate name is a problem.
[[nodiscard]] std::vector<ToolDefinition> readTools(json::Value array, std::string_view path,
                                                    const Limits& limits, Problem& problem);

// The definition with a description that begins with its author: for a paired provider.
[[nodiscard]] std::string withAuthor(const ToolDefinition& tool, std::string_view provider);

}  // namespace tap::protocol
