#include "plan/sandbox_reader.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

namespace tap::plan {
namespace {

constexpr size_t kMaxPathBytes = 4096;
constexpr size_t kMaxHostBytes = 253;
constexpr size_t kMaxLabelBytes = 63;
// The names in CACHES of js/process/sandbox.mjs.
constexpr std::array<std::string_view, 10> kCaches{"npm",   "pnpm", "yarn",  "pip",    "uv",
                                                   "cargo", "go",   "maven", "gradle", "ccache"};
constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

[[nodiscard]] std::string toLower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

[[nodiscard]] bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

[[nodiscard]] bool isLabel(std::string_view label) {
  return !label.empty() && label.size() <= kMaxLabelBytes && label.front() != '-' &&
         label.back() != '-' && std::ranges::all_of(label, isIdCharacter);
}

// Programs read a host as an address if its last part is a number: 127.1, 2130706433, 0x7f000001.
[[nodiscard]] bool isAddress(std::string_view last) {
  return std::ranges::all_of(last, isDigit) || last.starts_with("0x");
}

// The problem of a host in lower case, or empty.
[[nodiscard]] std::string_view findHostProblem(std::string_view host) {
  constexpr std::string_view kAddress = "is an address: name a host, such as example.com";
  if (host == "*") return "";
  if (host.find("://") != std::string_view::npos) {
    return "is a URL: name its host only, such as example.com";
  }
  if (host.starts_with('[') || std::ranges::count(host, ':') > 1) return kAddress;
  if (host.find('/') != std::string_view::npos) return "has a path: name the host only";
  if (host.find(':') != std::string_view::npos) return "has a port: name the host only";
  if (std::ranges::any_of(host, [](char c) { return static_cast<unsigned char>(c) > 0x7F; })) {
    return "has letters that are not ASCII: write it in punycode, such as xn--bcher-kva.example";
  }
  std::string_view name = host;
  if (name.starts_with("*.")) name.remove_prefix(2);
  if (name.find('*') != std::string_view::npos) {
    return "may have * only as its first part, such as *.example.com, or be * alone";
  }
  if (host.size() > kMaxHostBytes) return "is longer than 253 bytes";
  if (name == "localhost" || name.ends_with(".localhost")) {
    return "is always the node itself: leave it out";
  }
  std::string_view rest = name;
  for (;;) {
    const size_t dot = rest.find('.');
    const std::string_view label = rest.substr(0, dot);
    if (!isLabel(label)) return "is not a host, such as example.com";
    if (dot == std::string_view::npos) return isAddress(label) ? kAddress : std::string_view();
    rest.remove_prefix(dot + 1);
  }
}

[[nodiscard]] bool isAbsolute(std::string_view path) {
  const bool hasDrive = path.size() > 1 && path[1] == ':';
  return path.starts_with('/') || path.starts_with('\\') || hasDrive;
}

// The path without "." and empty parts; nullopt if it is relative and leaves its folder.
[[nodiscard]] std::optional<std::string> simplify(std::string_view path) {
  const bool isRelative = !isAbsolute(path);
  std::vector<std::string_view> parts;
  for (std::string_view rest = path; !rest.empty();) {
    const size_t end = rest.find_first_of("/\\");
    const std::string_view part = rest.substr(0, end);
    if (part == ".." && isRelative) {
      if (parts.empty()) return std::nullopt;
      parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  std::string out = isRelative ? "" : "/";
  for (const std::string_view part : parts) out.append(part).append("/");
  return out;
}

[[nodiscard]] std::string_view findFolderProblem(std::string_view folder) {
  if (folder.empty()) return "must not be empty";
  if (folder.size() > kMaxPathBytes) return "is longer than 4096 bytes";
  if (hasControls(folder)) return "must be a single line without control characters";
  if (folder.find(kReplacementCharacter) != std::string_view::npos) {
    return "has a character that is not UTF-8";
  }
  if (folder.front() == '~') return "begins with ~, which stands for no folder here: write it out";
  if (!simplify(folder)) return "leads out of the checkout: name an absolute folder";
  return "";
}

[[nodiscard]] std::string_view findInnerFolderProblem(std::string_view folder) {
  if (isAbsolute(folder)) return "is absolute: name a folder from the root of the worktree";
  for (std::string_view rest = folder;;) {
    const size_t end = rest.find_first_of("/\\");
    const std::string part = toLower(rest.substr(0, end));
    if (part == "..") return "must not have .. in it: name a folder below the root of the worktree";
    if (part == ".git") return "leads into git's own folder";
    if (end == std::string_view::npos) return findFolderProblem(folder);
    rest.remove_prefix(end + 1);
  }
}

[[nodiscard]] std::string findCacheProblem(std::string_view name) {
  if (std::ranges::find(kCaches, name) != kCaches.end()) return "";
  std::string list;
  for (const std::string_view known : kCaches) {
    if (!list.empty()) list += ", ";
    list += known;
  }
  return "is no cache that tap knows." + didYouMean(nearest(name, kCaches)) + " There are: " + list;
}

// A list whose texts have no problems and no duplicates.
template <class FindProblem, class MakeKey>
void checkList(const Fields& fields, size_t field, size_t most, Problems& problems,
               FindProblem&& findProblem, MakeKey&& makeKey) {
  std::set<std::string> seen;
  fields.texts(field, most, [&](const std::string& text, const Path& path) {
    if (const std::string problem(findProblem(text)); !problem.empty()) {
      problems.add(path.text(), problem);
    } else if (!seen.insert(makeKey(text)).second) {
      problems.add(path.text(), "is a duplicate");
    }
  });
}

}  // namespace

void checkHosts(const Fields& fields, size_t field, size_t most, Problems& problems) {
  checkList(
      fields, field, most, problems,
      [](std::string_view host) { return findHostProblem(toLower(host)); }, toLower);
}

std::string readInnerFolder(const Fields& fields, size_t field) {
  const auto folder = fields.text(field, kMaxPathBytes);
  if (!folder) return "";
  if (const std::string problem(findInnerFolderProblem(*folder)); !problem.empty()) {
    fields.report(field, problem);
    return "";
  }
  std::string simple = *simplify(*folder);
  if (simple.ends_with('/')) simple.pop_back();
  return simple;
}

SandboxSpec readSandbox(const Fields& fields, size_t first, Problems& problems) {
  const size_t allowedFolders = first + 1;
  const size_t readFolders = first + 2;
  const size_t allowedUrls = first + 3;
  const size_t caches = first + 4;
  SandboxSpec spec;
  bool isAnyGiven = false;
  for (size_t i = 0; i < spec.size(); ++i) isAnyGiven = isAnyGiven || fields.isGiven(first + i);
  if (!isAnyGiven) return spec;
  const auto word = fields.text(first, kMaxNodeIdBytes);
  if (word && *word != "on" && *word != "off") fields.report(first, "expected on or off");
  for (const size_t folders : {allowedFolders, readFolders}) {
    checkList(fields, folders, kMaxListItems, problems, findFolderProblem,
              [](std::string_view folder) { return *simplify(folder); });
  }
  checkHosts(fields, allowedUrls, kMaxHosts, problems);
  checkList(fields, caches, kMaxListItems, problems, findCacheProblem,
            [](std::string_view name) { return std::string(name); });
  for (size_t i = 0; i < spec.size(); ++i) {
    if (fields.has(first + i)) spec[i] = fields.any(first + i).raw;
  }
  return spec;
}

}  // namespace tap::plan
