// Names that others choose: of providers, their instances and streams. A name is shown in the
// timeline, in questions and to the model, so it must be seen as it is and be told from others.
#pragma once

#include <string>
#include <string_view>

namespace tap {

// Why it is no name, to follow "expected ": a hidden character, a blank in the wrong place, nothing
// that can be seen. Empty: it is one. The text is UTF-8; its length is not looked at.
[[nodiscard]] std::string nameProblem(std::string_view name);

// The name in a line that goes on behind it. It is in quotes unless it has nothing but ASCII
// letters, digits, "-", "_" and ".": no name can contain what looks like the rest of the line, or
// like two names.
[[nodiscard]] std::string inLine(std::string_view name);

// Names with the same skeleton can be taken for each other: it has small letters without marks, and
// one of those that are drawn alike for all (Latin, Greek, Cyrillic and some others). Any bytes
// give UTF-8 of at most three times their size; the skeleton of a skeleton is itself.
[[nodiscard]] std::string skeleton(std::string_view name);
// Whether that is the name's skeleton, without making it. Precondition: `look` is a skeleton.
[[nodiscard]] bool hasSkeleton(std::string_view name, std::string_view look);

}  // namespace tap
