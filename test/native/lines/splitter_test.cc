#include "lines/splitter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "lines/lines_rig.h"

namespace tap::lines {
namespace {

using Texts = std::vector<std::string>;
using namespace std::string_view_literals;

constexpr size_t kLine = LineText::kMaxLineBytes;

void expectOne(std::string_view bytes, std::string_view text) {
  for (const size_t most : {0, 1, 2, 3}) {
    const std::string whole = std::string(bytes) + "\n";
    EXPECT_EQ(splitLineTexts(whole, most), Texts{std::string(text)}) << bytes << " by " << most;
  }
}

TEST(LineSplitter, SplitsAtLineFeeds) {
  EXPECT_EQ(splitLineTexts("a\nbc\n\nd\n"), (Texts{"a", "bc", "", "d"}));
  EXPECT_EQ(splitLineTexts(""), Texts{});
  EXPECT_EQ(splitLineTexts("\n"), Texts{""});
}

TEST(LineSplitter, EndsAPartialLineWithTheInput) {
  EXPECT_EQ(splitLineTexts("a\nbc"), (Texts{"a", "bc"}));
}

TEST(LineSplitter, TakesBothLineEndsOverPieces) {
  for (size_t most = 0; most < 5; ++most) {
    EXPECT_EQ(splitLineTexts("one\r\ntwo\r\r\n\r\nthree\n", most),
              (Texts{"one", "two", "", "three"}));
  }
}

TEST(LineSplitter, ShowsTheLastStateOfAProgressBar) {
  expectOne(" 10%\r 20%\r100%", "100%");
  expectOne(" 10%\r 20%\r100%\r", "100%");
  expectOne("\x1b[2K\x1b[1Gone\x1b[2K\x1b[1Gtwo", "two");
  expectOne("\x1b[Gone\x1b[0Gtwo", "two");
  expectOne("|\b/\b-\bdone", "done");
  expectOne("done\x1b[2K", "");
}

TEST(LineSplitter, ReplacesTheCharactersBeforeACursorThatMovesBack) {
  expectOne("<-> 0% EXECUTING\x1b[16D<=> 50%\x1b[7D<==> done", "<==> done");
  expectOne("50%\x1b[3D", "50%");
  expectOne("50%\x1b[D\x1b[D7%", "57%");
  expectOne("50%\x1b[99999D7", "7");
  expectOne("größe\x1b[2Dn", "grön");
  expectOne("old\r\x1b[K", "");
}

TEST(LineSplitter, LetsNothingWithoutWidthEraseALine) {
  for (const std::string_view hidden : {"\uFEFF", "\u200B", "\u0301", "\x01", "\a"}) {
    expectOne("error\r" + std::string(hidden), "error");
    expectOne("error\r" + std::string(hidden) + "ok", "ok");
  }
  expectOne(std::string_view("error\r\0", 7), "error");
}

std::string encodeUtf16(std::u16string_view text, bool isLittle) {
  std::string bytes;
  for (const char16_t unit : text) {
    const auto low = static_cast<char>(unit & 0xFF);
    const auto high = static_cast<char>(unit >> 8);
    bytes += isLittle ? low : high;
    bytes += isLittle ? high : low;
  }
  return bytes;
}

TEST(LineSplitter, DecodesUtf16) {
  const std::u16string text = u"error: größe\r\n\r\n\U0001F600 😀\r\nlast";
  const Texts expected{"error: größe", "", "\U0001F600 😀", "last"};
  for (const bool isLittle : {true, false}) {
    for (size_t most = 0; most < 12; ++most) {
      EXPECT_EQ(splitLineTexts(encodeUtf16(u"\uFEFF" + text, isLittle), most), expected) << most;
      EXPECT_EQ(splitLineTexts(encodeUtf16(text, isLittle), most), expected) << most;
      EXPECT_EQ(splitLineTexts(encodeUtf16(u"ok", isLittle), most), Texts{"ok"}) << most;
      EXPECT_EQ(splitLineTexts(encodeUtf16(u"a\nb", isLittle), most), (Texts{"a", "b"})) << most;
      const std::u16string lone{0xFEFF, 0xDC00, u'a', 0xD800};
      EXPECT_EQ(splitLineTexts(encodeUtf16(lone, isLittle) + "x", most), Texts{"\uFFFDa\uFFFD"})
          << most;
    }
  }
}

TEST(LineSplitter, DropsAByteOrderMarkAtTheBeginning) {
  for (size_t most = 0; most < 5; ++most) {
    EXPECT_EQ(splitLineTexts("\uFEFFerror\n\uFEFFb\n", most), (Texts{"error", "\uFEFFb"}));
    EXPECT_EQ(splitLineTexts("\xEF\xBB", most), Texts{"\uFFFD"});
  }
  LineSplitter splitter;
  Line line;
  for (int run = 0; run < 2; ++run) {  // the end of a run is the start of the next
    splitter.feed("\uFEFFa\n", Time());
    EXPECT_TRUE(splitter.next(line));
    EXPECT_EQ(line.text, "a");
    EXPECT_FALSE(splitter.next(line));
    EXPECT_FALSE(splitter.end(line));
  }
}

TEST(LineSplitter, RemovesEscapeSequences) {
  expectOne("\x1b[1;31merror\x1b[0m: no", "error: no");
  expectOne("\x1b]0;title\adone", "done");
  expectOne("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link");
  expectOne("\x1bP1;2|data\x1b\\a\x1b_x\x1b\\b\x1b^y\x1b\\c\x1bXz\x1b\\d", "abcd");
  expectOne(
      "a\x1b(Bb\x1b"
      "7c\x1b=d\x1b[?25le",
      "abcde");
  expectOne(
      "a\xC2\x9B"
      "31mb\xC2\x9D"
      "0;t\xC2\x9C"
      "c",
      "abc");
  expectOne("er\x1b[mror", "error");
}

TEST(LineSplitter, LetsNoSequenceReachBeyondItsLine) {
  EXPECT_EQ(splitLineTexts("a\x1b]never ends\nb\x1b[1\nc\x1b\nd\n"), (Texts{"a", "b", "c", "d"}));
}

TEST(LineSplitter, KeepsWhatEndsASequenceWithoutBeingPartOfIt) {
  expectOne("\x1b[3\xC3\xA9", "\xC3\xA9");
  expectOne(
      "\x1b[3\x18"
      "a\x1b]t\x1a"
      "b",
      "ab");
  expectOne("\x1b\x1b[1mx", "x");
  expectOne("\x1b[1\x1b[1mx", "x");
  expectOne("\x1b]t\x1b[1mx", "x");
}

TEST(LineSplitter, ReplacesBytesThatAreNotUtf8) {
  expectOne(
      "a\xFF"
      "b",
      "a\uFFFD"
      "b");
  expectOne("a\xC3", "a\uFFFD");
  expectOne(
      "\xE2\x82"
      "a",
      "\uFFFD"
      "a");
  expectOne("\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD");
  expectOne("\xF0\x9F\x98\x80\xF4\x90", "\xF0\x9F\x98\x80\uFFFD\uFFFD");
  expectOne("\xC0\x80", "\uFFFD\uFFFD");
}

TEST(LineSplitter, ShowsControlCharacters) {
  expectOne("a\0b"sv, "a\\x00b");
  expectOne("a\tb\ac\x7F", "a\tbc\\x7f");
  expectOne(
      "a\xC2\x85"
      "b",
      "a\\u{85}b");
}

TEST(LineSplitter, LeavesLinesThatNeedNoChangeWhereTheyAre) {
  LineSplitter splitter;
  const std::string bytes = "plain\r\n\xC3\xA9t\xC3\xA9\n\x1b[1mbold\nrest";
  splitter.feed(bytes, Time());
  Line line;
  std::vector<bool> inBlock;
  while (splitter.next(line)) {
    inBlock.push_back(line.inBlock);
    const bool within =
        line.text.data() >= bytes.data() && line.text.data() <= bytes.data() + bytes.size();
    EXPECT_EQ(within, line.inBlock) << line.text;
  }
  EXPECT_EQ(inBlock, (std::vector<bool>{true, true, false}));
}

TEST(LineSplitter, CutsALineThatIsTooLongAndSaysBy) {
  for (const size_t size : {kLine - 1, kLine}) {
    const std::string fits(size, 'a');
    EXPECT_EQ(splitLines(fits + "\nb\n"), (std::vector<TestLine>{{fits}, {"b"}}));
  }
  for (const size_t most : {size_t{0}, size_t{1}, size_t{1000}}) {
    const auto lines = splitLines(std::string(kLine + 1, 'a') + "\nb\n", most);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0].text, std::string(kLine, 'a') + "\u2026 [cut: 1 bytes more]");
    EXPECT_TRUE(lines[0].cut);
    EXPECT_EQ(lines[1], (TestLine{"b"}));
  }
}

TEST(LineSplitter, CutsBetweenCharacters) {
  const auto lines = splitLines(std::string(kLine - 1, 'a') + "\xC3\xA9z\n");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].text, std::string(kLine - 1, 'a') + "\u2026 [cut: 3 bytes more]");
}

TEST(LineSplitter, ForgetsACutStateOfAProgressBar) {
  expectOne(std::string(2 * kLine, 'a') + "\rdone", "done");
}

TEST(LineSplitter, HoldsNoMoreForALineThatComesInSmallPieces) {
  for (const size_t size : {size_t{1}, size_t{41}, size_t{100}, size_t{62}, size_t{64}}) {
    LineSplitter splitter;
    Line line;
    const std::string piece(size, 'a');
    for (size_t fed = 0; fed < 2 * kLine; fed += size) {
      splitter.feed(piece, Time());
      EXPECT_FALSE(splitter.next(line));
    }
    EXPECT_LE(splitter.bytes(), kLine + LineText::kMarkRoom);
  }
}

TEST(LineSplitter, HoldsAConstantAmountOfALineWithoutEnd) {
  const std::string piece(size_t{64} * 1024, 'a');
  LineSplitter splitter;
  Line line;
  constexpr size_t kPieces = 1024;
  for (size_t i = 0; i < kPieces; ++i) {
    splitter.feed(piece, Time());
    EXPECT_FALSE(splitter.next(line));
  }
  EXPECT_LE(splitter.bytes(), kLine + 256);
  splitter.feed("\nb\n", Time());
  ASSERT_TRUE(splitter.next(line));
  EXPECT_TRUE(line.text.ends_with("[cut: " + std::to_string(kPieces * piece.size() - kLine) +
                                  " bytes more]"));
  ASSERT_TRUE(splitter.next(line));
  EXPECT_EQ(line.text, "b");
}

// --- partial lines ---

constexpr Time at(int64_t ms) {
  return Time(Millis(ms));
}

class Partial : public testing::Test {
 protected:
  void feed(std::string_view bytes, int64_t ms) {
    splitter_.feed(bytes, at(ms));
    while (splitter_.next(line_)) texts_.emplace_back(line_.text);
  }
  void flush(int64_t ms) {
    while (splitter_.flush(at(ms), line_)) texts_.emplace_back(line_.text);
  }
  Line line_;
  LineSplitter splitter_;
  Texts texts_;
};

TEST_F(Partial, BecomesALineAfterASecondOfQuiet) {
  EXPECT_FALSE(splitter_.nextDeadline());
  feed("a\nPass", 0);
  feed("word: ", 100);
  EXPECT_EQ(splitter_.nextDeadline(), at(1100));
  flush(1099);
  EXPECT_EQ(texts_, Texts{"a"});
  flush(1100);
  EXPECT_EQ(texts_, (Texts{"a", "Password: "}));
  EXPECT_FALSE(splitter_.nextDeadline());
}

TEST_F(Partial, BecomesALineWhereItsEncodingIsNotYetClear) {
  feed("?", 0);
  EXPECT_EQ(splitter_.nextDeadline(), at(1000));
  flush(1000);
  feed("ok\n", 1500);
  EXPECT_EQ(texts_, (Texts{"?", "ok"}));
}

TEST_F(Partial, IsNotFollowedByAnEmptyLine) {
  for (const std::string_view end : {"\n", "\r\n", "\x1b[0m\n"}) {
    texts_.clear();
    feed("a", 0);
    flush(1000);
    feed(end, 1500);
    feed("b\n", 1500);
    EXPECT_EQ(texts_, (Texts{"a", "b"}));
  }
  feed("a\r", 2000);
  flush(3000);
  feed("\n", 3000);
  feed("\n", 3000);
  EXPECT_EQ(texts_, (Texts{"a", "b", "a", ""}));
}

TEST_F(Partial, IsFollowedByTheRestOfTheLine) {
  feed("a", 0);
  flush(1000);
  feed("b", 1500);
  flush(2500);
  feed("c\nd\n", 2600);
  EXPECT_EQ(texts_, (Texts{"a", "b", "c", "d"}));
}

TEST_F(Partial, SkipsTheRestWhereItWasCut) {
  feed(std::string(kLine + 10, 'a'), 0);
  flush(1000);
  ASSERT_EQ(texts_.size(), 1U);
  feed("more", 1500);
  EXPECT_FALSE(splitter_.nextDeadline());
  feed(" and more\nb\n", 9000);
  EXPECT_EQ(texts_.size(), 2U);
  EXPECT_EQ(texts_.back(), "b");
}

TEST_F(Partial, EndsOnlyOnce) {
  feed("a", 0);
  flush(1000);
  EXPECT_FALSE(splitter_.end(line_));
  feed("\nb\n", 1500);
  EXPECT_EQ(texts_, (Texts{"a", "", "b"}));
}

// --- any bytes ---

std::string someBytes(Choices& choices) {
  static const std::vector<std::string> kPieces{"a",
                                                "error: ",
                                                "\n",
                                                "\r\n",
                                                "\r",
                                                "\x1b[1m",
                                                "\x1b]0;t",
                                                "\a",
                                                "\x1b\\",
                                                "\xC3\xA9",
                                                "\xC3",
                                                "\xE2\x82",
                                                "\xFF",
                                                "\b",
                                                "\x1b",
                                                "[2K",
                                                "\x1b[1G",
                                                "\xC2\x9B",
                                                "\xC2\x85",
                                                "\t",
                                                "\x18",
                                                " ",
                                                "\n\n",
                                                "\x1b[",
                                                std::string(1, '\0'),
                                                std::string(200, 'x'),
                                                std::string(5000, 'y'),
                                                "\xF0\x9F\x98\x80"};
  std::string bytes;
  for (uint32_t left = choices.below(40); left > 0; --left) bytes += choices.of(kPieces);
  return bytes;
}

TEST(LineSplitter, GivesTheSameLinesForAnyPieces) {
  Choices choices(7);
  for (int round = 0; round < 3000; ++round) {
    const std::string bytes = someBytes(choices);
    const auto whole = splitLines(bytes);
    EXPECT_EQ(splitLines(bytes, 1 + choices.below(9)), whole);
    EXPECT_EQ(splitLines(bytes, 1 + choices.below(9000)), whole);
    for (const TestLine& line : whole) {
      ASSERT_TRUE(utf8::isValid(line.text));
      ASSERT_LE(line.text.size(), kLine + LineText::kMarkRoom);
      ASSERT_TRUE(std::ranges::none_of(line.text, [](char c) {
        return (static_cast<uint8_t>(c) < 0x20 && c != '\t') || c == 0x7F;
      }));
    }
  }
}

}  // namespace
}  // namespace tap::lines
