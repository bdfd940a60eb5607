// Names of providers, their instances and streams, which other parties choose. A name is shown in
// the timeline, in questions and to the model, so all of it must be visible and distinguishable.
#pragma once

#include <string>
#include <string_view>

namespace tap {

// The problem of a name, to follow "expected ": a hidden character, a blank in the wrong place, no
// visible character. Empty if there is no problem. The text is UTF-8; its length is not checked.
[[nodiscard]] std::string nameProblem(std::string_view name);

// The name in the middle of a line. It is in quotes unless it consists of ASCII letters, digits,
// "-", "_" and ".": a name cannot look like the rest of the line, or like two names.
[[nodiscard]] std::string inLine(std::string_view name);

// The problem of a name of a party that is not the user's, to follow "expected ": characters that
// are not visible ASCII. Empty if there is no problem.
[[nodiscard]] std::string asciiNameProblem(std::string_view name);

// Whether the names can be confused: they differ at most in the case of letters, or in similar
// characters: i, l, 1 and |; o and 0.
[[nodiscard]] bool looksLike(std::string_view one, std::string_view other);

}  // namespace tap
