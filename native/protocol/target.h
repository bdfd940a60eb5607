// The `target` parameter of a provider with instances (docs/decisions.md D-7): added to its tools'
// schemas, taken out of a call's arguments.
#pragma once

#include <string>
#include <string_view>

#include "protocol/provider/provider_messages.h"

namespace tap::protocol {

// The tool's definition with a `target` parameter. The description does not name the instances:
// they come and go without a change of tools.
[[nodiscard]] std::string withTarget(const ToolDefinition& tool, std::string_view provider);

// Whether the tool has a parameter of that name itself.
[[nodiscard]] bool declaresTarget(const ToolDefinition& tool);

struct TargetedArgs {
  std::string target;  // empty: the caller named none
  std::string args;    // JSON text without it
};
// `args` is JSON text of an object; any other text counts as one without members.
[[nodiscard]] TargetedArgs takeTarget(std::string_view args);

// The meta-tool's name: list_<provider>_instances, cut to what a tool name may have.
[[nodiscard]] std::string metaToolName(std::string_view provider);
// Whether a tool's name begins as those of meta-tools do, in whatever case.
[[nodiscard]] bool isList(std::string_view tool);
// Whether a tool's name is list_<provider>, or begins with that and a separator: reserved.
[[nodiscard]] bool isReservedList(std::string_view provider, std::string_view tool);
// Its definition.
[[nodiscard]] std::string metaToolJson(std::string_view provider);

}  // namespace tap::protocol
