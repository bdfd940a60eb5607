// One file can be written in many ways: /etc/hosts is /tmp/../etc/hosts, /etc//hosts, ./hosts.
// Code that judges a path by its text (a hook rule's `match.file`) checks these spellings of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tap {

// The spellings of `path`, each once:
//
//   - as it is;
//   - from the root: a relative path is continued from `folder`; without "." and empty segments,
//   and
//     ".." has taken its folder away. Above the root there is only the root;
//   - the same from `folder`, if the file lies in it: "src/a.c".
//
// All of that by the text alone: no link is followed and no "~" expanded. Where the text has what
// Windows writes (a \, a drive, a server), the last two are there for its rules as well, with / as
// the separator: "C:/src/a.c". Where `folder` is not absolute, a relative path stays relative.
//
// Takes time and memory in proportion to path and folder, whatever they are.
[[nodiscard]] std::vector<std::string> listSpellings(std::string_view path,
                                                     std::string_view folder);

}  // namespace tap
