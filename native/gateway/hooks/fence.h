// Text of providers that the model reads as data.
#pragma once

#include <string>
#include <string_view>

namespace tap::gateway {

// A name in quotes that it cannot leave.
[[nodiscard]] std::string quotedName(std::string_view name);

// The text in a fence that it cannot close from within, under a line that says where it comes from
// (`source`: 'Event from tap provider "ci"') and that it is data.
[[nodiscard]] std::string fenced(std::string_view source, std::string_view text);

}  // namespace tap::gateway
