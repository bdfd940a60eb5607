// Reads a plan's JSON. Nothing of it is trusted; every mistake in it is found, each with the path
// and a correction.
#pragma once

#include <string_view>
#include <vector>

#include "plan/problems.h"
#include "plan/spec.h"

namespace tap::plan {

// `text` is UTF-8. Where `problems` has any, the result is not complete. Dependencies are checked
// by Graph.
[[nodiscard]] PlanSpec readPlan(std::string_view text, Problems& problems);

// The nodes of `add_copilot_nodes`: the text of an array.
[[nodiscard]] std::vector<NodeSpec> readNodes(std::string_view text, Problems& problems);

// What a node is edited with: the text of an object. null takes a field away.
[[nodiscard]] NodeChanges readNodeChanges(std::string_view text, Problems& problems);

// What a plan is resumed with: the text of an object. Problems have paths such as "budget.tokens".
[[nodiscard]] Budget readBudget(std::string_view text, Problems& problems);

// "90s", "30m", "2h", "1d", "250ms", or a number of seconds.
[[nodiscard]] std::optional<Millis> readDuration(std::string_view text);

}  // namespace tap::plan
