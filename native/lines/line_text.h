// One line of a program's output as a terminal would show it at the end, from bytes in any pieces.
//
//   invalid UTF-8        U+FFFD, one for each part that no character begins with, as TextDecoder
//   ESC sequences, C1    removed: CSI, OSC, DCS and the like; a line end ends each of them
//   \r                   the text after it replaces the text before it; at the end it is removed
//   ESC[2K, ESC[G        erase the line, return to its begin: as \r
//   ESC[nD               the text after it replaces the last n characters before it
//   \b                   removes the character before it
//   BEL                  removed
//   without width        erases nothing: removed where it would begin a text after \r
//   other controls       \xNN and \u{N}, as visible() shows them (base/encoding.h); NUL is \x00
//
// A text longer than kMaxLineBytes bytes is cut between two characters, and a mark says how much is
// missing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tap::lines {

class LineText {
 public:
  static constexpr size_t kMaxLineBytes = 8192;
  static constexpr size_t kMarkRoom = 64;

  // More of the line. REQUIRES: no \n in it.
  void feed(std::string_view bytes);
  // Whether no byte of a line was fed.
  [[nodiscard]] bool empty() const { return !begun_; }

  // Ends the line. Returns: its text, valid until the next call of a function that is not const.
  [[nodiscard]] std::string_view finish();
  // How many bytes of the line are missing in it.
  [[nodiscard]] uint64_t leftOut() const { return leftOut_; }
  // Whether it has cleared the screen: ESC[2J, ESC[3J or ESC c.
  [[nodiscard]] bool cleared() const { return cleared_; }

  // Memory that it holds.
  [[nodiscard]] size_t bytes() const { return text_.capacity(); }

 private:
  enum class State : uint8_t { Ground, Escape, Intermediate, Csi, String, StringEscape };

  void begin();
  void byte(uint8_t byte);
  void expect(char32_t bits, uint8_t more, uint8_t low = 0x80, uint8_t high = 0xBF);
  void point(char32_t point);
  void invalid();
  void ground(char32_t point);
  void escape(char32_t point);
  void csi(char32_t point);
  void inString(char32_t point);
  void put(std::string_view text);
  void overwrite();
  void append(std::string_view text);
  void eraseLast();
  void eraseAll();

  std::string text_;
  uint64_t leftOut_ = 0;
  State state_ = State::Ground;
  bool begun_ = false;
  bool cleared_ = false;
  bool returned_ = false;  // the next character replaces the text
  uint16_t back_ = 0;      // characters that the next one replaces
  // Of a CSI sequence: its parameter, where it has one number and nothing else.
  uint16_t parameter_ = 0;
  bool otherParameters_ = false;
  // Of a character whose bytes are not complete.
  char32_t point_ = 0;
  uint8_t pending_ = 0;
  uint8_t low_ = 0x80;
  uint8_t high_ = 0xBF;
};

}  // namespace tap::lines
