#include "base/paths.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace tap {

namespace {

enum class Style : uint8_t { Posix, Windows };

std::string_view pathSeparators(Style style) {
  return style == Style::Windows ? "/\\" : "/";
}

bool isSeparator(char c, Style style) {
  return pathSeparators(style).find(c) != std::string_view::npos;
}

bool hasDrive(std::string_view path) {
  const auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return path.size() >= 2 && isLetter(path[0]) && path[1] == ':';
}

bool namesServer(std::string_view path, Style style) {
  return style == Style::Windows && path.size() >= 2 && isSeparator(path[0], style) &&
         isSeparator(path[1], style);
}

// A path that is built by segments, and never contains "." or "..".
class Plain {
 public:
  Plain(std::string_view path, Style style) : style_(style) {
    path.remove_prefix(root(path));
    append(path);
  }

  [[nodiscard]] bool absolute() const { return absolute_; }
  [[nodiscard]] const std::string& text() const { return text_; }

  // Continues with a relative path.
  void append(std::string_view path) {
    while (!path.empty()) {
      const size_t end = std::min(path.find_first_of(pathSeparators(style_)), path.size());
      segment(path.substr(0, end));
      path.remove_prefix(std::min(end + 1, path.size()));
    }
  }

  // Windows: \a is on the drive of the present folder.
  void addDrive(const Plain& folder) {
    const bool onDrive = text_.starts_with('/') && !text_.starts_with("//");
    if (onDrive && hasDrive(folder.text_)) text_.insert(0, folder.text_, 0, 2);
  }

 private:
  // Reads the root of the path. Returns: its length.
  size_t root(std::string_view path) {
    if (namesServer(path, style_)) return start("//", 2, 2);
    if (style_ == Style::Windows && hasDrive(path)) {
      // C:a is relative to the drive's own folder; the session's folder is the best known
      // approximation.
      if (path.size() == 2 || !isSeparator(path[2], style_)) return 2;
      return start({path[0], ':', '/'}, 3, 0);
    }
    if (!path.empty() && isSeparator(path.front(), style_)) return start("/", 1, 0);
    return 0;
  }

  size_t start(std::string text, size_t taken, int fixed) {
    text_ = std::move(text);
    absolute_ = true;
    floor_ = text_.size();
    fixed_ = fixed;
    return taken;
  }

  void segment(std::string_view name) {
    if (name.empty() || name == ".") return;
    if (name == ".." && (absolute_ || text_.size() > floor_)) {
      if (text_.size() == floor_) return;
      const size_t last = text_.rfind('/');
      text_.resize(std::max(last == std::string::npos ? 0 : last, floor_));
      return;
    }
    if (!text_.empty() && !text_.ends_with('/')) text_ += '/';
    text_ += name;
    // The part that no ".." removes: a server, its share, a ".." at the start.
    if (fixed_ > 0 || name == "..") floor_ = text_.size();
    fixed_ = std::max(fixed_ - 1, 0);
  }

  Style style_;
  std::string text_;
  bool absolute_ = false;
  size_t floor_ = 0;  // the size of the part that ".." does not remove
  int fixed_ = 0;     // the number of following segments that belong to the root
};

std::optional<std::string_view> inside(std::string_view folder, std::string_view path) {
  if (folder.ends_with('/')) folder.remove_suffix(1);
  if (!path.starts_with(folder) || path.size() <= folder.size() + 1) return std::nullopt;
  if (path[folder.size()] != '/') return std::nullopt;
  return path.substr(folder.size() + 1);
}

void addOnce(std::vector<std::string>& list, std::string_view text) {
  if (std::ranges::find(list, text) == list.end()) list.emplace_back(text);
}

void addPlain(std::vector<std::string>& list, std::string_view path, std::string_view folder,
              Style style) {
  Plain from(folder, style);
  Plain plain(path, style);
  if (from.absolute() && plain.absolute()) plain.addDrive(from);
  if (from.absolute() && !plain.absolute()) {
    plain = from;
    plain.append(style == Style::Windows && hasDrive(path) ? path.substr(2) : path);
  }
  addOnce(list, plain.text());
  if (!from.absolute()) return;
  if (const auto rest = inside(from.text(), plain.text())) addOnce(list, *rest);
}

bool isWindows(std::string_view path) {
  return path.find('\\') != std::string_view::npos || hasDrive(path) ||
         namesServer(path, Style::Windows);
}

}  // namespace

std::vector<std::string> listSpellings(std::string_view path, std::string_view folder) {
  std::vector<std::string> list{std::string(path)};
  addPlain(list, path, folder, Style::Posix);
  if (isWindows(path) || isWindows(folder)) addPlain(list, path, folder, Style::Windows);
  return list;
}

}  // namespace tap
