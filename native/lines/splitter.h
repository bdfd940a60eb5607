// Bytes in any pieces become lines of valid UTF-8 (line_text.h says how, utf16.h for UTF-16). A
// line that needs no change is a view into the piece that it came in: nothing is copied for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "lines/line_text.h"
#include "lines/utf16.h"

namespace tap::lines {

// A partial line becomes a line after so long without a further byte.
inline constexpr Millis kPartialTime{1000};

struct Line {
  std::string_view text;  // without its end
  bool inBlock = false;   // it lies in LineSplitter::block()
  bool cut = false;       // it was longer than LineText::kMaxLineBytes
  bool cleared = false;   // the screen was cleared before its end
};

// How the same bytes are divided into pieces makes no difference, as long as no partial line is
// flushed between two of them. It holds at most LineText::kMaxLineBytes bytes and a constant amount
// more.
class LineSplitter {
 public:
  // The next piece. REQUIRES: next() has returned false for the piece before. The bytes are
  // borrowed until it returns false again: a reader may use one buffer for all.
  void feed(std::string_view bytes, Time now);
  // The next complete line of the piece; false if there are no more. The line is valid until the
  // next call.
  [[nodiscard]] bool next(Line& line);
  // The bytes that lines may be views into.
  [[nodiscard]] std::string_view block() const { return block_; }

  // When flush() is due: where a partial line waits.
  [[nodiscard]] std::optional<Time> nextDeadline() const;
  // Ends the partial line if it is due. Bytes that follow up to the line end are a line of their
  // own, but not if there are none, or if the partial line was cut. REQUIRES: called until it
  // returns false: there is no further line.
  [[nodiscard]] bool flush(Time now, Line& line);
  // The end of the input ends a partial line, too. REQUIRES: called until it returns false. Then
  // the splitter can be used again.
  [[nodiscard]] bool end(Line& line);

  // Memory that it holds, besides itself.
  [[nodiscard]] size_t bytes() const { return text_.bytes() + decoder_.bytes(); }

 private:
  // What has become of the begin of the current line.
  enum class Flushed : uint8_t { No, Whole, Cut };

  [[nodiscard]] bool nextOfRest(Line& line);
  [[nodiscard]] bool finishCarried(std::string_view raw, Line& line);
  [[nodiscard]] bool finish(Line& line);
  void keepPartial();

  Utf16Decoder decoder_;
  std::string_view block_;
  std::string_view rest_;  // of block_
  bool plain_ = false;     // all complete lines of the block that begin in it are plain
  LineText text_;          // of a line that is not plain, or not complete
  Flushed flushed_ = Flushed::No;
  Time lastByte_;
};

}  // namespace tap::lines
