// A file has many spellings: /etc/hosts is /tmp/../etc/hosts, /etc//hosts, ./hosts. Code that
// matches a path by its text (a hook rule's `match.file`) checks these spellings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tap {

// The spellings of `path`, without duplicates:
// - as it is;
// - absolute: a relative path is appended to `folder`; "." and empty segments are removed, and ".."
//   removes a folder. Above the root is only the root;
// - relative to `folder`, if the file lies in it: "src/a.c".
//
// All by the text alone: links are not followed and "~" is not expanded. For texts in the form of
// Windows (a \, a drive, a server), the last two are added by its rules as well, with / as the
// separator: "C:/src/a.c". If `folder` is not absolute, a relative path stays relative.
//
// Takes time and memory in proportion to path and folder.
[[nodiscard]] std::vector<std::string> listSpellings(std::string_view path,
                                                     std::string_view folder);

}  // namespace tap
