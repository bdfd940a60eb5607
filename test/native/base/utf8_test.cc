#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tap::utf8 {
namespace {

// Whether the text is accepted byte by byte.
bool validInPieces(std::string_view text) {
  Validator validator;
  for (const char& byte : text) {
    if (!validator.feed({&byte, 1})) return false;
  }
  return validator.complete();
}

// The table of RFC 3629, section 4, once more and as plainly as it can be put.
bool isByTheBook(const std::vector<int>& b) {
  const auto tail = [&](size_t at) { return b[at] >= 0x80 && b[at] <= 0xBF; };
  if (b.size() == 2) return b[0] >= 0xC2 && b[0] <= 0xDF && tail(1);
  if (b.size() == 3) {
    if (b[0] < 0xE0 || b[0] > 0xEF || !tail(1) || !tail(2)) return false;
    return (b[0] != 0xE0 || b[1] >= 0xA0) && (b[0] != 0xED || b[1] <= 0x9F);
  }
  if (b[0] < 0xF0 || b[0] > 0xF4 || !tail(1) || !tail(2) || !tail(3)) return false;
  return (b[0] != 0xF0 || b[1] >= 0x90) && (b[0] != 0xF4 || b[1] <= 0x8F);
}

std::string toBytes(const std::vector<int>& values) {
  std::string bytes;
  for (const int value : values) bytes += static_cast<char>(value);
  return bytes;
}

void expectValid(const std::string& text, bool valid) {
  EXPECT_EQ(isValid(text), valid) << testing::PrintToString(text);
  EXPECT_EQ(validInPieces(text), valid) << testing::PrintToString(text);
}

TEST(Utf8, AcceptsTheFirstAndLastCharacterOfEachLength) {
  for (const char* text :
       {"", "\x01", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    expectValid(text, true);
  }
  expectValid(std::string(1, '\0'), true);
}

TEST(Utf8, RefusesOverlongForms) {
  for (const char* text : {"\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF",
                           "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF"}) {
    expectValid(text, false);
  }
}

TEST(Utf8, RefusesSurrogates) {
  for (const char* text : {"\xED\xA0\x80", "\xED\xAF\xBF", "\xED\xB0\x80", "\xED\xBF\xBF",
                           "\xED\xA0\xBD\xED\xB8\x80"}) {
    expectValid(text, false);
  }
}

TEST(Utf8, RefusesWhatLiesAboveTheLastCharacter) {
  for (const char* text :
       {"\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF8\x88\x80\x80\x80", "\xFE", "\xFF"}) {
    expectValid(text, false);
  }
}

TEST(Utf8, RefusesSequencesThatEndEarlyOrHaveNoBeginning) {
  for (const char* text : {"\x80", "\xBF", "\xC2", "\xE2\x82", "\xF0\x9F\x98",
                           "\xC2"
                           "a",
                           "\xE2\x82"
                           "a",
                           "\xF0\x9F\x98"
                           "a",
                           "é\x80", "\xC2\xC2\x80"}) {
    expectValid(text, false);
  }
}

TEST(Utf8, AgreesWithTheTableOnEveryPairOfBytes) {
  for (int a = 0x80; a < 0x100; ++a) {
    for (int b = 0; b < 0x100; ++b) {
      const std::string text = toBytes({a, b});
      ASSERT_EQ(isValid(text), isByTheBook({a, b})) << a << ' ' << b;
      ASSERT_EQ(validInPieces(text), isByTheBook({a, b})) << a << ' ' << b;
    }
  }
}

TEST(Utf8, AgreesWithTheTableAtEveryBoundaryOfLongerSequences) {
  const std::vector<int> edges{0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF};
  for (int lead = 0xE0; lead < 0x100; ++lead) {
    for (const int b : edges) {
      for (const int c : edges) {
        ASSERT_EQ(isValid(toBytes({lead, b, c})), isByTheBook({lead, b, c})) << lead << ' ' << b;
        for (const int d : edges) {
          const std::string text = toBytes({lead, b, c, d});
          if (lead < 0xF0 && d < 0x80) continue;  // a whole sequence and an ASCII character
          ASSERT_EQ(isValid(text), isByTheBook({lead, b, c, d})) << lead << ' ' << b << ' ' << c;
          ASSERT_EQ(validInPieces(text), isValid(text));
        }
      }
    }
  }
}

TEST(Utf8, FindsABadByteAtEveryPlace) {
  for (size_t at = 0; at < 70; ++at) {
    std::string text(70, 'x');
    EXPECT_TRUE(isValid(text));
    text[at] = '\xFF';
    EXPECT_FALSE(isValid(text)) << at;
  }
}

TEST(Utf8Validator, FailsAtTheFirstByteThatCannotContinue) {
  Validator validator;
  EXPECT_TRUE(validator.feed("\xED"));
  EXPECT_FALSE(validator.feed("\xA0"));  // a surrogate, known before its last byte
}

TEST(Utf8Validator, StaysFailed) {
  Validator validator;
  EXPECT_FALSE(validator.feed("\xFF"));
  EXPECT_FALSE(validator.feed("a"));
  EXPECT_FALSE(validator.feed(""));
  EXPECT_FALSE(validator.complete());
}

TEST(Utf8Validator, IsIncompleteInTheMiddleOfACharacter) {
  Validator validator;
  EXPECT_TRUE(validator.complete());
  EXPECT_TRUE(validator.feed("a\xE2\x82"));
  EXPECT_FALSE(validator.complete());
  EXPECT_TRUE(validator.feed("\xAC"));
  EXPECT_TRUE(validator.complete());
}

TEST(Utf8Validator, BeginsAnewAfterReset) {
  Validator validator;
  EXPECT_FALSE(validator.feed("\xF0\x9F\xFF"));
  validator.reset();
  EXPECT_TRUE(validator.feed("a"));
  EXPECT_TRUE(validator.complete());
}

TEST(Utf8Validator, DoesNotCareHowTextIsCut) {
  const std::string text = "plain ascii text é€\U0001F600 more ascii text 漢字 end";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Validator validator;
    EXPECT_TRUE(validator.feed(std::string_view(text).substr(0, cut)));
    EXPECT_TRUE(validator.feed(std::string_view(text).substr(cut)));
    EXPECT_TRUE(validator.complete()) << cut;
  }
}

TEST(Utf8AsciiPrefix, EndsBeforeTheFirstOtherByte) {
  for (size_t at = 0; at < 40; ++at) {
    EXPECT_EQ(asciiPrefix(std::string(at, 'x')), at);
    EXPECT_EQ(asciiPrefix(std::string(at, 'x') + "é" + std::string(20, 'x')), at);
  }
}

TEST(Utf8Decode, UndoesEncodeForEveryCharacter) {
  for (char32_t point = 0; point <= 0x10FFFF; ++point) {
    if (point == 0xD800) point = 0xE000;
    const Encoded encoded = encode(point);
    const Decoded decoded = decode(encoded.view());
    ASSERT_EQ(decoded.size, encoded.view().size());
    ASSERT_EQ(decoded.point, point);
  }
}

TEST(Utf8Decode, HasSizeZeroWhereNoCharacterBegins) {
  for (const char* text : {"", "\x80", "\xC2", "\xE2\x82", "\xE2\x82x", "\xED\xA0\x80", "\xFF"}) {
    EXPECT_EQ(decode(text).size, 0) << testing::PrintToString(text);
  }
}

TEST(Utf8Truncate, CutsBetweenCharacters) {
  const std::string text = "aé€\U0001F600";  // 1 + 2 + 3 + 4 bytes
  const std::vector<size_t> expected{0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
  for (size_t bytes = 0; bytes < expected.size(); ++bytes) {
    EXPECT_EQ(truncate(text, bytes), text.substr(0, expected[bytes])) << bytes;
  }
}

TEST(Utf8Truncate, CutsWhatIsNoUtf8Anywhere) {
  EXPECT_EQ(truncate(std::string(10, '\x80'), 5).size(), 5u);
  EXPECT_EQ(truncate(std::string(10, '\x80'), 2).size(), 2u);
}

}  // namespace
}  // namespace tap::utf8
