#include "lines/splitter.h"

#include "lines/scan.h"

namespace tap::lines {
namespace {

[[nodiscard]] std::string_view withoutReturns(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

void LineSplitter::feed(std::string_view bytes, Time now) {
  lastByte_ = bytes.empty() ? lastByte_ : now;
  bytes = decoder_.decode(bytes);
  block_ = bytes;
  rest_ = bytes;
  plain_ = false;
  const size_t first = bytes.find('\n');
  const size_t last = bytes.rfind('\n');
  if (first == std::string_view::npos) return;
  // The first line may continue another, the last is not complete: neither counts.
  const size_t from = text_.empty() ? 0 : first;
  plain_ = scan(bytes.substr(from, last - from)) == Bytes::Plain;
}

bool LineSplitter::next(Line& line) {
  while (true) {
    const size_t size = rest_.find('\n');
    if (size == std::string_view::npos) {
      keepPartial();
      return false;
    }
    const std::string_view raw = rest_.substr(0, size);
    rest_.remove_prefix(size + 1);
    if (!text_.empty() || flushed_ != Flushed::No) {
      if (finishCarried(raw, line)) return true;
      continue;
    }
    const std::string_view text = plain_ ? raw : withoutReturns(raw);
    if (text.size() <= LineText::kMaxLineBytes && (plain_ || scan(text) == Bytes::Plain)) {
      line = {text, true};
      return true;
    }
    text_.feed(raw);
    return finish(line);
  }
}

void LineSplitter::keepPartial() {
  if (!rest_.empty()) text_.feed(rest_);
  rest_ = {};
  block_ = {};
  decoder_.trim();
}

bool LineSplitter::finish(Line& line) {
  line = {text_.finish(), false, text_.leftOut() > 0, text_.cleared()};
  return true;
}

bool LineSplitter::finishCarried(std::string_view raw, Line& line) {
  text_.feed(raw);
  (void)finish(line);
  const Flushed flushed = flushed_;
  flushed_ = Flushed::No;
  return flushed == Flushed::No || (flushed == Flushed::Whole && !line.text.empty());
}

std::optional<Time> LineSplitter::nextDeadline() const {
  if (decoder_.waits()) return lastByte_ + kPartialTime;
  if (text_.empty() || flushed_ == Flushed::Cut) return std::nullopt;
  return lastByte_ + kPartialTime;
}

// Lines of bytes that have waited for others to decide about their encoding.
bool LineSplitter::nextOfRest(Line& line) {
  block_ = rest_;
  plain_ = false;
  if (!next(line)) return false;
  line.inBlock = false;  // but in none that anyone has seen
  return true;
}

bool LineSplitter::flush(Time now, Line& line) {
  if (rest_.empty()) {
    const std::optional<Time> due = nextDeadline();
    if (!due || now < *due) return false;
    if (decoder_.waits()) rest_ = decoder_.release();
  }
  if (nextOfRest(line)) return true;
  if (text_.empty() || flushed_ == Flushed::Cut) return false;
  (void)finish(line);
  const bool again = flushed_ == Flushed::Whole && line.text.empty();
  flushed_ = line.cut ? Flushed::Cut : Flushed::Whole;
  return !again;
}

bool LineSplitter::end(Line& line) {
  if (rest_.empty()) rest_ = decoder_.end();
  if (nextOfRest(line)) return true;
  if (text_.empty()) {
    flushed_ = Flushed::No;
    return false;
  }
  return finishCarried({}, line);
}

}  // namespace tap::lines
