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

// Why it is no name for a party that is not the user's, to follow "expected ": it has other
// characters than those of ASCII that are seen. Empty: it is one.
[[nodiscard]] std::string asciiNameProblem(std::string_view name);

// Whether the two can be taken for each other: they differ at most in the case of their letters, or
// in what is drawn alike: i, l, 1 and |; o and 0.
[[nodiscard]] bool looksLike(std::string_view one, std::string_view other);

}  // namespace tap
