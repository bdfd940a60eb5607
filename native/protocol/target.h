// The `target` parameter of a provider with instances (docs/decisions.md D-7): it is added to the
// schemas of its tools, and removed from the arguments of a call.
#pragma once

#include <string>
#include <string_view>

#include "protocol/provider/provider_messages.h"

namespace tap::protocol {

// The tool's definition with a `target` parameter. The description does not name the instances:
// they come and go without a change of tools.
[[nodiscard]] std::string withTarget(const ToolDefinition& tool, std::string_view provider);

// Whether the tool itself has a parameter of that name.
[[nodiscard]] bool declaresTarget(const ToolDefinition& tool);

struct TargetedArgs {
  std::string target;  // may be empty
  std::string args;    // JSON text without it
};
// `args` is JSON text of an object; any other text counts as an object without members.
[[nodiscard]] TargetedArgs takeTarget(std::string_view args);

// The meta-tool's name: list_<provider>_instances, cut to the length of a tool name.
[[nodiscard]] std::string metaToolName(std::string_view provider);
// Whether a tool's name begins like a meta-tool's, in any case.
[[nodiscard]] bool isList(std::string_view tool);
// Whether a tool's name is list_<provider>, or begins with that and a separator: reserved.
[[nodiscard]] bool isReservedList(std::string_view provider, std::string_view tool);
// Its definition.
[[nodiscard]] std::string metaToolJson(std::string_view provider);

}  // namespace tap::protocol
