// Reads a plan's JSON. It is not trusted; every mistake is reported with its path and a correction.
#pragma once

#include <string_view>
#include <vector>

#include "plan/problems.h"
#include "plan/spec.h"

namespace tap::plan {

// `text` is UTF-8. With problems, the result is incomplete. Graph checks the dependencies.
[[nodiscard]] PlanSpec readPlan(std::string_view text, Problems& problems);

// The nodes of `add_copilot_nodes`: the text of an array.
[[nodiscard]] std::vector<NodeSpec> readNodes(std::string_view text, Problems& problems);

// The changes of an edit: the text of an object. null removes a field.
[[nodiscard]] NodeChanges readNodeChanges(std::string_view text, Problems& problems);

// The budget of a resume: the text of an object. Problems have paths such as "budget.tokens".
[[nodiscard]] Budget readBudget(std::string_view text, Problems& problems);

// "90s", "30m", "2h", "1d", "250ms", or a number of seconds.
[[nodiscard]] std::optional<Millis> readDuration(std::string_view text);

}  // namespace tap::plan
