#include "base/glob.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/utf8.h"

namespace tap {

namespace {

constexpr char32_t kNotUtf8 = 0x110000;  // not equal to any character

bool isSeparator(char32_t point) {
  return point == '/' || point == '\\';
}

char32_t takePoint(std::string_view& text) {
  const utf8::Decoded decoded = utf8::decode(text);
  text.remove_prefix(decoded.size == 0 ? 1 : decoded.size);
  return decoded.size == 0 ? kNotUtf8 : decoded.point;
}

// After the last separator; trailing separators do not count.
std::string_view baseName(std::string_view path) {
  const size_t last = path.find_last_not_of("/\\");
  if (last == std::string_view::npos) return {};
  path = path.substr(0, last + 1);
  const size_t separator = path.find_last_of("/\\");
  return separator == std::string_view::npos ? path : path.substr(separator + 1);
}

// The last `bytes` bytes, without a partial character at the front.
std::string_view lastBytes(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  text.remove_prefix(text.size() - bytes);
  while (!text.empty() && (static_cast<uint8_t>(text.front()) & 0xC0) == 0x80) {
    text.remove_prefix(1);
  }
  return text;
}

}  // namespace

// Compiles a glob in a single pass. Precondition: it is valid UTF-8.
class GlobCompiler {
 public:
  explicit GlobCompiler(std::string_view glob) : text_(glob) {}

  Result<Glob, PatternError> run() {
    skipHere();
    while (!rest().empty() && !error_) item();
    if (!error_ && !braces_.empty()) fail(braces_.back().offset, "this { is never closed");
    if (error_) return *std::move(error_);
    add(Glob::Kind::End);
    glob_.baseName_ = text_.find_first_of("/\\") == std::string_view::npos;
    return std::move(glob_);
  }

 private:
  struct Brace {
    size_t offset;  // of the {
    uint16_t fork;  // the Fork before the current alternative
    // The Jumps from the ends of earlier alternatives to the end of the brace.
    std::vector<uint16_t> ends;
  };

  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
  [[nodiscard]] uint16_t here() const { return static_cast<uint16_t>(glob_.steps_.size()); }

  uint16_t add(Glob::Kind kind, char32_t point = 0, uint16_t target = 0) {
    glob_.steps_.push_back({kind, point, target});
    return static_cast<uint16_t>(here() - 1);
  }

  void pointHere(uint16_t step) { glob_.steps_[step].target = here(); }

  void fail(size_t offset, const char* message) { error_ = PatternError{offset, message}; }

  char32_t take() {
    const utf8::Decoded decoded = utf8::decodeValid(rest());
    at_ += decoded.size;
    return decoded.point;
  }

  // Skips "./" and, as in a path, repeated separators.
  void skipHere() {
    while (rest().starts_with("./") || rest().starts_with(".\\")) {
      at_ = std::min(text_.find_first_not_of("/\\", at_ + 1), text_.size());
    }
  }

  void item() {
    const size_t start = at_;
    const char32_t point = take();
    if (isSeparator(point)) {
      add(Glob::Kind::Separator);
    } else if (point == '*') {
      stars();
    } else if (point == '?') {
      add(Glob::Kind::One);
    } else if (point == '[') {
      characterClass(start);
    } else if (point == '{') {
      braces_.push_back({start, add(Glob::Kind::Fork), {}});
    } else if (point == ',' && !braces_.empty()) {
      nextAlternative();
    } else if (point == '}' && !braces_.empty()) {
      closeBrace();
    } else {
      add(Glob::Kind::Character, point);
    }
  }

  void stars() {
    if (!rest().starts_with('*')) {
      add(Glob::Kind::Star);
      return;
    }
    while (rest().starts_with('*')) ++at_;
    if (rest().empty() || !isSeparator(static_cast<uint8_t>(rest().front()))) {
      add(Glob::Kind::Anything);
      return;
    }
    ++at_;
    const uint16_t skip = add(Glob::Kind::SkipFolders);
    add(Glob::Kind::Anything);
    add(Glob::Kind::Separator);
    pointHere(skip);
  }

  void characterClass(size_t start) {
    Glob::Class found;
    found.negated = rest().starts_with('!') || rest().starts_with('^');
    if (found.negated) ++at_;
    do {
      if (rest().empty()) return fail(start, "this [ is never closed");
      const size_t rangeStart = at_;
      Glob::Range range{take(), 0};
      range.last = range.first;
      if (rest().size() > 1 && rest()[0] == '-' && rest()[1] != ']') {
        ++at_;
        range.last = take();
      }
      if (range.last < range.first) return fail(rangeStart, "this range is the wrong way round");
      found.ranges.push_back(range);
    } while (!rest().starts_with(']'));
    ++at_;
    add(Glob::Kind::InClass, 0, static_cast<uint16_t>(glob_.classes_.size()));
    glob_.classes_.push_back(std::move(found));
  }

  // The Fork before an alternative leads to the next alternative; before the last alternative it
  // has no effect.
  void nextAlternative() {
    Brace& brace = braces_.back();
    brace.ends.push_back(add(Glob::Kind::Jump));
    pointHere(brace.fork);
    brace.fork = add(Glob::Kind::Fork);
  }

  void closeBrace() {
    const Brace& brace = braces_.back();
    glob_.steps_[brace.fork].target = static_cast<uint16_t>(brace.fork + 1);
    for (const uint16_t end : brace.ends) pointHere(end);
    braces_.pop_back();
  }

  std::string_view text_;
  size_t at_ = 0;
  Glob glob_;
  std::vector<Brace> braces_;
  std::optional<PatternError> error_;
};

// The set of places in the glob that the path so far leads to. Because it is a set, the time is
// linear: matching never backtracks.
class Glob::Places {
 public:
  explicit Places(size_t steps) : rounds_(steps, 0) { list_.reserve(steps); }

  // Adds the place, and the places after it that consume no character.
  void add(const std::vector<Step>& steps, uint16_t place, bool segmentStart) {
    pending_.push_back(place);
    while (!pending_.empty()) {
      const uint16_t at = pending_.back();
      pending_.pop_back();
      if (std::exchange(rounds_[at], round_) != round_) follow(steps[at], at, segmentStart);
    }
  }

  void clear() {
    list_.clear();
    ++round_;
  }

  [[nodiscard]] const std::vector<uint16_t>& list() const { return list_; }

 private:
  void follow(const Step& step, uint16_t at, bool segmentStart) {
    const auto next = static_cast<uint16_t>(at + 1);
    switch (step.kind) {
      case Kind::Fork:
        pending_.push_back(next);
        pending_.push_back(step.target);
        return;
      case Kind::Jump:
        pending_.push_back(step.target);
        return;
      case Kind::SkipFolders:
        pending_.push_back(next);
        if (segmentStart) pending_.push_back(step.target);
        return;
      case Kind::Star:
      case Kind::Anything:
        pending_.push_back(next);
        list_.push_back(at);
        return;
      case Kind::Character:
      case Kind::Separator:
      case Kind::One:
      case Kind::InClass:
      case Kind::End:
        list_.push_back(at);
        return;
    }
  }

  std::vector<uint16_t> list_;
  std::vector<uint16_t> pending_;
  std::vector<uint32_t> rounds_;  // for each step the round in which it was added last
  uint32_t round_ = 1;
};

Result<Glob, PatternError> Glob::compile(std::string_view glob) {
  if (glob.size() > kMaxGlobBytes) return PatternError{kMaxGlobBytes, "longer than 1024 bytes"};
  utf8::Validator validator;
  for (size_t at = 0; at < glob.size(); ++at) {
    if (!validator.feed(glob.substr(at, 1))) return PatternError{at, "not UTF-8"};
  }
  if (!validator.complete()) return PatternError{glob.size(), "not UTF-8"};
  return GlobCompiler(glob).run();
}

bool Glob::consumes(const Step& step, char32_t point) const {
  switch (step.kind) {
    case Kind::Character:
      return step.point == point;
    case Kind::Separator:
      return isSeparator(point);
    case Kind::One:
    case Kind::Star:
      return !isSeparator(point);
    case Kind::Anything:
      return true;
    case Kind::InClass: {
      const Class& one = classes_[step.target];
      const bool listed = std::ranges::any_of(one.ranges, [point](const Range& range) {
        return range.first <= point && point <= range.last;
      });
      return listed != one.negated && !isSeparator(point);
    }
    case Kind::Fork:
    case Kind::Jump:
    case Kind::SkipFolders:
    case Kind::End:
      return false;
  }
  return false;
}

void Glob::advance(Places& from, Places& to, char32_t point, bool segmentStart) const {
  to.clear();
  for (const uint16_t at : from.list()) {
    const Step& step = steps_[at];
    if (!consumes(step, point)) continue;
    const bool stays = step.kind == Kind::Star || step.kind == Kind::Anything;
    to.add(steps_, static_cast<uint16_t>(stays ? at : at + 1), segmentStart);
  }
}

bool Glob::matches(std::string_view path) const {
  std::string_view rest = lastBytes(baseName_ ? baseName(path) : path, kMaxPathBytes);
  Places now(steps_.size());
  Places then(steps_.size());
  now.add(steps_, 0, true);
  while (!rest.empty() && !now.list().empty()) {
    const char32_t point = takePoint(rest);
    advance(now, then, point, isSeparator(point));
    std::swap(now, then);
  }
  const auto end = static_cast<uint16_t>(steps_.size() - 1);
  return rest.empty() && std::ranges::find(now.list(), end) != now.list().end();
}

}  // namespace tap
